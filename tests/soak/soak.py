#!/usr/bin/env python3
"""soak.py PID MOUNT MINUTES: a mixed use of a mount, and what its process takes meanwhile.

Several threads read, save, make, remove, run commands and jobs, and look at the control files. Each minute a line
says what process PID takes. After that all is removed. The exit status is 1 if a figure grew in the last half, or
did not come back.
"""
import os, random, shutil, sys, threading, time

PID, MOUNT, MINUTES = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
CONTROL = os.path.join(MOUNT, ".sandbox")
# How long what is removed may take to be forgotten: jobs that have ended are looked at for a minute.
PATIENCE = float(os.environ.get("PATIENCE", 180))
# From one step of a thread to the next, so that none takes a processor for itself.
PAUSE = 0.02

# ---- Figures ---------------------------------------------------------------------------------------

# By how much a figure may differ from an earlier one: buffers and threads come and go with the use.
ROOM = {"resident_mb": 16, "threads": 24, "descriptors": 48, "inodes_known": 0, "names_known": 0, "connections": 8}


def proc_status(name):
    with open(f"/proc/{PID}/status") as file:
        return int(next(line for line in file if line.startswith(name)).split()[1])


def links():
    found = []
    # Of a process that holds a key root alone is told.
    for fd in os.listdir(f"/proc/{PID}/fd") if os.geteuid() == 0 else []:
        try:
            found.append(os.readlink(f"/proc/{PID}/fd/{fd}"))
        except OSError:
            pass
    return found


def said(name):
    with open(os.path.join(CONTROL, "status")) as file:
        text = file.read()
    return int(text.split(f'"{name}": ')[1].split(",")[0].split("}")[0])


def figures():
    open_files = links()
    return {
        "resident_mb": proc_status("VmRSS:") // 1024,
        "threads": proc_status("Threads:"),
        "descriptors": len(open_files),
        "inodes_known": said("inodes_known"),
        "names_known": said("names_known"),
        "connections": sum(link.startswith("socket:") for link in open_files),
    }


def show(when, now, steps):
    print(f"{when:>8}", *(f"{value:>12}" for value in now.values()), f"{steps:>8}", flush=True)


# What is known while it is used depends on which trees are there in that moment.
ROOM_IN_USE = ROOM | {"inodes_known": 500, "names_known": 500}

# ---- What is done ----------------------------------------------------------------------------------


class Role(threading.Thread):
    """Repeats a step until the end; what another one removed meanwhile is no failure."""

    def __init__(self, step, name):
        super().__init__(name=name, daemon=True)
        self.step, self.steps, self.failure = step, 0, None
        self.place = os.path.join(MOUNT, name)
        self.random = random.Random(name)

    def run(self):
        while not ended.is_set() and not self.failure:
            try:
                self.step(self)
                self.steps += 1
            except FileNotFoundError:
                pass
            except Exception as failure:
                self.failure = f"{self.name}: {failure!r}"
            ended.wait(PAUSE)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def command(text, file="exec"):
    with open(os.path.join(CONTROL, file), "r+b", buffering=0) as control:
        control.write(text.encode())
        return control.read(1 << 20).decode()


def save(role):
    """As an editor does."""
    name = os.path.join(MOUNT, "shared", f"f{role.random.randrange(200)}")
    with open(name + "~", "w") as file:
        file.write(f"{role.steps}\n" * role.random.randrange(1, 500))
        file.flush()
        os.fsync(file.fileno())
    os.rename(name + "~", name)


def walk(role):
    for folder, _, names in os.walk(os.path.join(MOUNT, "shared")):
        for name in names:
            try:
                read(os.path.join(folder, name))
            except OSError:
                pass


def build(role):
    """Makes a tree and removes it: here, by a command, or while it is open."""
    os.makedirs(os.path.join(role.place, "sub"), exist_ok=True)
    for n in range(60):
        write(os.path.join(role.place, "sub" if n % 2 else ".", f"f{n}"), "x" * n * 100)
    how = role.steps % 3
    if how == 0:
        shutil.rmtree(role.place)
    elif how == 1:
        command(f"rm -rf {role.name}")
    else:
        with open(os.path.join(role.place, "f0")) as file:
            shutil.rmtree(role.place)
            file.read()


def run(role):
    """A command makes files, which are read; another one removes them."""
    command(f"mkdir -p {role.name}/d && for n in 1 2 3 4 5 6 7 8 9; do echo $n >{role.name}/d/f$n; done")
    for n in range(1, 10):
        read(os.path.join(role.place, "d", f"f{n}"))
    command(f"mv {role.name}/d {role.name}/e; rm -rf {role.name}")


def spawn(role):
    job = command("echo out; echo more >&2", "spawn").strip()
    folder = os.path.join(CONTROL, "jobs", job)
    while b'"running"' in read(os.path.join(folder, "status")) and not ended.is_set():
        time.sleep(PAUSE)
    read(os.path.join(folder, "output"))
    ended.wait(2)


def look(role):
    read(os.path.join(CONTROL, "stats"))
    os.listdir(os.path.join(CONTROL, "jobs"))
    assert not os.path.exists(os.path.join(MOUNT, f"none{role.random.randrange(1000)}"))


ROLES = [(save, "save"), (save, "save2"), (walk, "walk"), (build, "build"), (build, "build2"), (run, "run"),
         (run, "run2"), (spawn, "spawn"), (look, "look")]
ended = threading.Event()
# More than a figure ever is.
START_MAX = 1 << 30


def use(seconds, each_minute):
    """Returns how many steps were done, and what failed."""
    ended.clear()
    os.makedirs(os.path.join(MOUNT, "shared"), exist_ok=True)
    roles = [Role(*role) for role in ROLES]
    for role in roles:
        role.start()
    end = time.monotonic() + seconds
    minute = time.monotonic() + 60
    while time.monotonic() < end and not any(role.failure for role in roles):
        time.sleep(0.5)
        if time.monotonic() >= minute:
            minute += 60
            each_minute(sum(role.steps for role in roles))
    ended.set()
    for role in roles:
        role.join(PATIENCE)
    stuck = [f"{role.name}: does not end" for role in roles if role.is_alive()]
    idle = [f"{role.name}: did nothing" for role in roles if not role.steps]
    return stuck + idle + [role.failure for role in roles if role.failure]


# ---- What it takes ---------------------------------------------------------------------------------


def rest():
    """What the process takes when all is removed and sent."""
    for name in os.listdir(MOUNT):
        shutil.rmtree(os.path.join(MOUNT, name), ignore_errors=True)
    write(os.path.join(CONTROL, "sync"), "1")
    os.listdir(MOUNT)
    return figures()


def beyond(now, then, room=ROOM):
    return [name for name in now if now[name] > then[name] + room[name]]


def rest_like(first):
    """The same again, as soon as nothing is more than at first."""
    end = time.monotonic() + PATIENCE
    now = rest()
    while beyond(now, first) and time.monotonic() < end:
        time.sleep(1)
        now = rest()
    return now


def grown(minutes):
    """Of the last half each figure's least is compared with the most of the minutes before: a use that
    swings is no growth."""
    settled = minutes[: max(1, min(10, len(minutes) // 2))]
    later = minutes[len(settled):]
    most = {name: max(minute[name] for minute in settled) for name in ROOM}
    least = {name: min((minute[name] for minute in later), default=0) for name in ROOM}
    return beyond(least, most, ROOM_IN_USE)


def main():
    print(f"{'minute':>8}", *(f"{name:>12}" for name in ROOM), f"{'steps':>8}", flush=True)
    # What is known at first is known at rest. Threads, buffers and connections that a use needs stay after it.
    start = {name: START_MAX for name in ROOM} | {name: said(name) for name in ("inodes_known", "names_known")}
    wrong = use(20, lambda steps: None)
    first = rest_like(start)
    show("at rest", first, 0)
    minutes = []

    def minute(steps):
        minutes.append(figures())
        show(len(minutes), minutes[-1], steps)

    wrong += use(MINUTES * 60 + 1, minute)
    last = rest_like(first)
    show("at rest", last, 0)
    wrong += [f"{name} grew" for name in grown(minutes)]
    wrong += [f"{name} did not come back" for name in beyond(last, first)]
    for what in wrong:
        print(what)
    print("nothing grew" if not wrong else "that is wrong")
    sys.exit(bool(wrong))


main()
