#!/usr/bin/python3
"""A mount whose helper lies at random, and programs that use it.

helper.py SCRATCH SECONDS SEED: rounds of a few seconds, each with a mount of its own (the program
sandboxfs-hostile of PROGRAMS, tests/hostile/provider.c) and a seed of its own, which is printed
with what is wrong: SEED gives that round again first. Exit status 1: something is wrong.

Watched in each round: no path below the mount leads to another file system, no text of the secret
comes out of it, and the secret is as it was; no request takes longer than REQUEST_S, not counted
what the processes waited for a processor, nor longer than PATIENCE in all; the process does not
run for REQUEST_S without an end of any request; its memory stays below MEMORY_MB; unmounting takes
less than PATIENCE, with requests just ended; the process ends, by itself; no sanitizer has
anything to report.
"""
import contextlib
import itertools
import mmap
import os
import random
import signal
import stat
import struct
import subprocess
import sys
import time

SCRATCH, SECONDS, SEED = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
PROGRAMS, HELPER = os.environ["PROGRAMS"], os.environ["HONEST_HELPER"]
PATIENCE = float(os.environ.get("PATIENCE", 60))
MEMORY_MB = float(os.environ.get("MEMORY_MB", 256))
# Of a request, without the time for which the machine was busy with other things.
REQUEST_S = float(os.environ.get("REQUEST_S", 5))
ROUND_S = min(SECONDS, float(os.environ.get("ROUND_S", 15)))
WORKERS = 6
SECRET_TEXT = b"SECRET-%d-of-the-host" % os.getpid()
# The mount lies so deep, with a secret beside each directory on the way, for whatever climbs out.
ABOVE = 7
COUNTED = ["frames", "records", "lies", "events", "endless", "commands", "broken", "starts",
           "rings"]
BEGAN = time.monotonic()
# With timeout=1 what is pending is given up long before.
SETTLE_S = 30


def say(*words):
    print("#", *words, flush=True)


# ---- What is in the sandbox ----


def put(path, data):
    with open(path, "wb") as file:
        file.write(data)


def climb(depth):
    return "../" * depth + "secret"


def fill(tree, chance):
    """Honest: links that are safe where they stand, hard links of files and of links."""
    os.makedirs(tree)
    deep = tree
    for depth in range(1, 13):
        deep += f"/d{depth}"
        os.mkdir(deep)
        os.symlink(climb(depth), f"{deep}/link")
        os.symlink("../f0", f"{deep}/near")
        for n in range(3):
            put(f"{deep}/f{n}", b"contents %d\n" % n * chance.randrange(2000))
        os.link(f"{deep}/f0", f"{deep}/hard")
        os.link(f"{deep}/link", f"{deep}/other", follow_symlinks=False)
    for n in range(40):
        os.makedirs(f"{tree}/w{n % 5}/s{n}")
        put(f"{tree}/w{n % 5}/s{n}/x", b"y" * n)
        os.symlink(climb(2), f"{tree}/w{n % 5}/s{n}/l")
    os.mkdir(f"{tree}/many")
    for n in range(60):
        put(f"{tree}/many/{n}", b"")


# ---- Programs that use the mount ----


class Worker:
    def __init__(self, number, mount, seed, board):
        self.number, self.mount, self.board = number, mount, board
        self.chance = random.Random(seed)
        self.known, self.links = [mount], []
        self.remember()
        self.device = os.stat(mount).st_dev

    def began(self, what):
        self.board.begin(self.number, what)

    def path(self):
        return self.chance.choice(self.known)

    def learn(self, path):
        # What is in .sandbox is used by run() and state() alone.
        if len(path) > 3000 or "/.sandbox" in path:
            return
        if len(self.known) < 400:
            self.known.append(path)
        else:
            self.known[self.chance.randrange(1, 400)] = path

    FRESH = ["d1", "d2", "near", "link", "other", "n1", "n2", "n3", "f0", "w0"]

    def fresh(self):
        return f"{self.directory()}/{self.chance.choice(self.FRESH)}"

    def directory(self):
        path = self.path()
        above = path if path == self.mount else os.path.dirname(path)
        return self.chance.choice([self.mount, path, above])

    # Anything that can be opened by a path is of this mount, or something is wrong.
    def check_inside(self, path, fd):
        if os.fstat(fd).st_dev != self.device:
            where = os.readlink(f"/proc/self/fd/{fd}")
            self.board.wrong(f"ESCAPE: {path!r} leads to {where!r}")

    def check_text(self, path, data):
        if SECRET_TEXT in data:
            self.board.wrong(f"ESCAPE: {path!r} has the text of the secret")

    def any(self):
        wants_link = self.links and self.chance.random() < 0.6
        return self.chance.choice(self.links) if wants_link else self.path()

    def reach(self):
        path = self.any()
        fd = os.open(path, os.O_PATH)
        try:
            self.check_inside(path, fd)
        finally:
            os.close(fd)

    def read(self):
        path = self.path()
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            self.check_inside(path, fd)
            self.began("pread")
            self.check_text(path, os.pread(fd, 65536, self.chance.choice([0, 0, 4096, 1 << 20])))
        finally:
            os.close(fd)

    def list(self):
        path = self.directory()
        with os.scandir(path) as entries:
            for entry in itertools.islice(entries, 200):
                self.learn(entry.path)
                if entry.is_symlink():
                    self.links = self.links[-60:] + [entry.path]

    def look(self):
        path = self.chance.choice([self.path(), self.fresh()])
        if stat.S_ISLNK(os.lstat(path).st_mode):
            self.links = self.links[-60:] + [path]

    def follow(self):
        """No path with ".." is kept: by it a program leaves when a directory is moved."""
        path = self.any()
        text = os.readlink(path)
        if ".." not in text:
            self.learn(f"{os.path.dirname(path)}/{text}")
        self.began("reach")
        self.reach()

    def write(self):
        path = self.chance.choice([self.path(), self.fresh()])
        how = self.chance.choice([0, os.O_TRUNC, os.O_APPEND, os.O_EXCL])
        flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | how
        fd = os.open(path, flags, 0o644)
        try:
            self.check_inside(path, fd)
            self.began("pwrite")
            os.pwrite(fd, b"ours" * self.chance.randrange(5000), self.chance.randrange(20000))
            if self.chance.random() < 0.2:
                self.began("fsync")
                os.fsync(fd)
        finally:
            os.close(fd)

    def write_through(self):
        """Also by links: a file that is there."""
        path = self.path()
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        try:
            self.check_inside(path, fd)
            if os.fstat(fd).st_dev == self.device:
                self.began("pwrite")
                os.pwrite(fd, b"ours", 0)
        finally:
            os.close(fd)

    def make(self):
        os.mkdir(self.fresh())

    def move(self):
        os.rename(self.path(), self.fresh())

    def remove(self):
        path = self.path()
        is_dir = stat.S_ISDIR(os.lstat(path).st_mode)
        self.began("rmdir" if is_dir else "unlink")
        if is_dir:
            os.rmdir(path)
        elif self.chance.random() < 0.5:
            os.unlink(path)

    def link(self):
        os.link(self.path(), self.fresh(), follow_symlinks=False)

    def point(self):
        """A link of ours is shown as it is: such a one leads nowhere outside."""
        os.symlink(self.chance.choice(["near", "d1/d2/d3", "w0/s0/l", "."]), self.fresh())

    def change(self):
        path = self.path()
        self.chance.choice([
            lambda: os.chmod(path, 0o755),
            lambda: os.utime(path, (1, 2), follow_symlinks=False),
            lambda: os.truncate(path, self.chance.randrange(100000)),
            lambda: os.setxattr(path, "user.a", b"b"),
            lambda: os.listxattr(path),
            lambda: os.statvfs(path),
        ])()

    def run(self):
        """One command at a time: each takes memory up to a bound of its own."""
        if self.number:
            return
        fd = os.open(f"{self.mount}/.sandbox/exec", os.O_RDWR)
        try:
            os.write(fd, b"echo hello")
            while data := os.read(fd, 1 << 20):
                self.check_text("exec", data)
        finally:
            os.close(fd)

    def state(self):
        name = self.chance.choice(["status", "stats", "status", "id"])
        with open(f"{self.mount}/.sandbox/{name}", "rb") as file:
            self.check_text(name, file.read())

    def sync(self):
        fd = os.open(self.path(), os.O_RDONLY | os.O_NONBLOCK)
        try:
            self.check_inside("sync", fd)
            os.fsync(fd)
        finally:
            os.close(fd)

    def forget(self):
        self.known, self.links = [self.mount], []
        self.remember()

    def remember(self):
        """What the sandbox had at first."""
        deep = self.mount
        for depth in range(1, 13):
            deep += f"/d{depth}"
            self.known += [deep, f"{deep}/f0"]
            self.links += [f"{deep}/link", f"{deep}/other"]
        self.known += [f"{self.mount}/w{n % 5}/s{n}" for n in range(10)]

    WORK = {"reach": 8, "read": 8, "list": 10, "look": 10, "follow": 6, "write": 5,
            "write_through": 2, "make": 2, "move": 3, "remove": 3, "link": 2, "point": 2,
            "change": 4, "run": 3,
            "state": 1, "sync": 1, "forget": 0.2}

    def go_on(self):
        names, weights = list(self.WORK), list(self.WORK.values())
        while True:
            what = self.chance.choices(names, weights)[0]
            self.began(what)
            try:
                getattr(self, what)()
            except (OSError, ValueError):
                pass
            self.began("")


class Board:
    """What each worker does since when, and the first thing that is wrong; shared by processes."""
    SLOT = 64

    def __init__(self):
        self.memory = mmap.mmap(-1, 4096 + WORKERS * self.SLOT)

    def begin(self, number, what):
        at = 4096 + number * self.SLOT
        done = struct.unpack_from("<Q", self.memory, at + 40)[0]
        since = time.monotonic() if what else 0.0
        struct.pack_into("<d32sQ", self.memory, at, since, what.encode(), done + (not what))

    def wrong(self, what):
        if not self.memory[0]:
            raw = what.encode(errors="replace")[:4000]
            self.memory[0 : len(raw)] = raw

    def what_is_wrong(self):
        return self.memory[:4096].rstrip(b"\0").decode(errors="replace")

    def running(self):
        """Of each worker that has a request under way: its number, since when, and which."""
        for number in range(WORKERS):
            since, what, _ = struct.unpack_from("<d32sQ", self.memory, 4096 + number * self.SLOT)
            if since:
                yield number, since, what.rstrip(b"\0").decode()

    def done(self):
        counts = range(4096 + 40, 4096 + WORKERS * self.SLOT, self.SLOT)
        return sum(struct.unpack_from("<Q", self.memory, at)[0] for at in counts)


# ---- A round ----


def is_mounted(mount):
    with open("/proc/self/mounts") as file:
        return any(line.split()[1] == mount for line in file)


def peak_mb(pid):
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0


def cpu_seconds(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            ticks = file.read().rsplit(")", 1)[1].split()[11:13]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def with_children(pid):
    """The process and all that it started."""
    own = set()
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                own.update(file.read().split())
    except OSError:
        pass
    return [pid, *(below for child in own for below in with_children(int(child)))]


class Delay:
    """How long threads of some processes waited for a processor, in all (/proc/PID/schedstat).

    The kernel counts a wait when it is over. A thread that could run at the last look and has not
    since is still in one: that is counted meanwhile.
    """

    def __init__(self):
        self.of_thread, self.counted = {}, 0.0
        self.waiting = {}  # of each thread: for how long in the wait that is not over
        self.last_look = time.monotonic()

    @property
    def total(self):
        return self.counted + sum(self.waiting.values())

    def look(self, pids):
        now = time.monotonic()
        since, self.last_look = now - self.last_look, now
        for pid in pids:
            try:
                for thread in os.listdir(f"/proc/{pid}/task"):
                    self.look_at(f"/proc/{pid}/task/{thread}", thread, since)
            except (OSError, IndexError):
                pass

    def look_at(self, path, thread, since):
        with open(f"{path}/schedstat") as file:
            ran, waited, _ = (int(word) for word in file.read().split())
        with open(f"{path}/stat") as file:
            can_run = file.read().rsplit(")", 1)[1].split()[0] == "R"
        before = self.of_thread.get(thread, (0, 0, False))
        self.of_thread[thread] = ran, waited, can_run
        if can_run and before == (ran, waited, True):
            self.waiting[thread] = self.waiting.get(thread, 0.0) + since
        else:
            self.waiting.pop(thread, None)
            self.counted += max(0.0, (waited - before[1]) / 1e9)


class Round:
    def __init__(self, seed):
        self.seed = seed
        self.chance = random.Random(seed)
        self.dir = f"{SCRATCH}/round"
        self.outside = f"{self.dir}/outside"
        self.mount = self.outside + "".join(f"/m{n}" for n in range(ABOVE))
        above = [self.mount[: len(self.mount) - 3 * n] for n in range(ABOVE)]
        self.secrets = [os.path.dirname(path) + "/secret" for path in above]
        self.reports = f"{self.dir}/report"
        self.board = Board()
        self.faults = []
        # In seconds and megabytes: watch_requests(), watch_work() and unmount() say of what.
        self.worst = dict.fromkeys(["request", "own", "cpu", "unmount", "end", "memory"], 0.0)
        self.workers = []
        self.delay = Delay()
        self.last_done = 0, 0.0  # requests that ended, and the processor time used by then
        self.seen = {}  # the request of each worker, and the delay when it was first seen

    def prepare(self):
        subprocess.run(["rm", "-rf", "--one-file-system", self.dir], check=True)
        os.makedirs(self.mount)
        fill(f"{self.dir}/tree", self.chance)
        os.mkdir(f"{self.dir}/staging", 0o700)
        put(f"{self.dir}/counts", bytes(8 * len(COUNTED)))
        for secret in self.secrets:
            put(secret, SECRET_TEXT)
            os.utime(secret, (1, 1))

    def start(self):
        environment = {**os.environ, "LIAR": f"{PROGRAMS}/liar", "LIAR_HELPER": HELPER,
                       "LIAR_DIR": self.dir, "LIAR_SECRET": self.secrets[0],
                       "LIAR_SEED": str(self.seed), "HOME": self.dir}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            mine = f"log_path={self.reports}:quarantine_size_mb=8:print_stacktrace=1"
            environment[name] = ":".join(x for x in (os.environ.get(name), mine) if x)
        for name in ("CACHE", "STATE", "DATA", "CONFIG"):
            environment[f"XDG_{name}_HOME"] = f"{self.dir}/xdg"
        options = f"timeout=1,cache={self.dir}/cache"
        self.log = open(f"{self.dir}/log", "wb")
        self.daemon = subprocess.Popen(
            [f"{PROGRAMS}/sandboxfs-hostile", "-f", "-o", options, "local:hostile", self.mount],
            env=environment, stdout=self.log, stderr=self.log, cwd="/")
        end = time.monotonic() + PATIENCE
        while not is_mounted(self.mount):
            if self.daemon.poll() is not None:
                return False
            if time.monotonic() > end:
                self.wrong("HANG: the mount does not come about")
                return False
            time.sleep(0.02)
        return True

    def wrong(self, what):
        say(f"WRONG, SEED={self.seed}, after {time.monotonic() - BEGAN:.0f} s:", what)
        self.faults.append(what)

    def start_workers(self):
        for number in range(WORKERS):
            pid = os.fork()
            if not pid:
                try:
                    signal.signal(signal.SIGTERM, signal.SIG_DFL)
                    self.board.begin(number, "stat of the root")
                    Worker(number, self.mount, self.seed * WORKERS + number, self.board).go_on()
                except OSError:
                    pass
                finally:
                    os._exit(0)
            self.workers.append(pid)

    def watch_requests(self):
        """Whether one takes long. What waits for a processor is counted only meanwhile."""
        now = time.monotonic()
        longest = 0.0
        for number, since, what in self.board.running():
            lasts = now - since
            longest = max(longest, lasts)
            if lasts < 0.5:
                continue
            self.delay.look([*with_children(self.daemon.pid), self.workers[number]])
            if self.seen.get(number, (0, 0))[0] != since:
                self.seen[number] = since, self.delay.total
            delay = self.delay.total - self.seen[number][1]
            own = lasts - delay
            self.worst["request"] = max(self.worst["request"], lasts)
            self.worst["own"] = max(self.worst["own"], own)
            # Not every wait for a processor is of a thread that is looked at.
            if own > REQUEST_S + delay / 2 or lasts > PATIENCE:
                self.wrong(f"HANG: {what} takes {lasts:.1f} s, {own:.1f} s not for a processor")
        return longest > REQUEST_S / 2

    def watch_work(self):
        """A process that runs on and ends no request goes round in circles."""
        done, cpu = self.board.done(), cpu_seconds(self.daemon.pid)
        if done != self.last_done[0]:
            self.last_done = done, cpu
        self.worst["cpu"] = max(self.worst["cpu"], cpu - self.last_done[1])
        if cpu - self.last_done[1] > REQUEST_S:
            self.wrong(f"HANG: no request ends, and the process ran for {REQUEST_S:.0f} s")

    def watch(self):
        end = time.monotonic() + ROUND_S
        is_slow = False
        while (time.monotonic() < end or is_slow) and not self.faults:
            time.sleep(0.1)
            is_slow = self.watch_requests()
            self.watch_work()
            self.worst["memory"] = max(self.worst["memory"], peak_mb(self.daemon.pid))
            if self.worst["memory"] > MEMORY_MB:
                self.wrong(f"MEMORY: {self.worst['memory']:.0f} MB")
            if self.daemon.poll() is not None:
                self.wrong(f"the process ended: {self.daemon.returncode}")
            if self.board.what_is_wrong():
                self.wrong(self.board.what_is_wrong())

    def stop_workers(self):
        end = time.monotonic() + PATIENCE
        for pid in self.workers:
            os.kill(pid, signal.SIGKILL)
        for pid in self.workers:
            while os.waitpid(pid, os.WNOHANG) == (0, 0):
                if time.monotonic() > end:
                    self.wrong("HANG: a program that uses the mount cannot be killed")
                    self.daemon.kill()
                    end += PATIENCE
                time.sleep(0.01)
        self.workers = []

    def ends(self, process, seconds):
        """Whether it does; where not, the mount's process goes, so that nobody waits for it."""
        end = time.monotonic() + seconds
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        if process.poll() is None:
            self.daemon.kill()
            self.daemon.wait()
            process.wait()
            return False
        return True

    def unmount(self):
        began = time.monotonic()
        command = ["fusermount3", "-u"] if os.geteuid() else ["umount", "-i"]
        umount = subprocess.Popen([*command, self.mount], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE)
        if not self.ends(umount, PATIENCE):
            self.wrong("HANG: it cannot be unmounted")
        elif umount.returncode and not self.faults:
            self.wrong(f"unmount: {umount.stderr.read().decode().strip()}")
        umount.stderr.close()
        self.worst["unmount"] = time.monotonic() - began
        if not self.ends(self.daemon, PATIENCE + SETTLE_S):
            self.wrong("HANG: the process does not end")
        self.worst["end"] = time.monotonic() - began - self.worst["unmount"]

    def clean(self):
        for pid in self.workers:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if self.daemon.poll() is None:
            self.daemon.kill()
            self.daemon.wait()
        if is_mounted(self.mount):
            command = ["fusermount3", "-uz"] if os.geteuid() else ["umount", "-l"]
            subprocess.run([*command, self.mount], check=False)
        self.log.close()

    def check_outside(self):
        for secret in self.secrets:
            with open(secret, "rb") as file:
                is_same = file.read() == SECRET_TEXT and os.stat(secret).st_mtime == 1
            beside = os.listdir(os.path.dirname(secret))
            if not is_same:
                self.wrong(f"ESCAPE: {secret} was written")
            if len(beside) != 2:
                self.wrong(f"ESCAPE: beside {secret} there are {beside}")

    def check_reports(self):
        for name in os.listdir(self.dir):
            if name.startswith("report"):
                with open(f"{self.dir}/{name}", errors="replace") as file:
                    self.wrong("SANITIZER: " + file.read()[:3000])
        with open(f"{self.dir}/log", "rb") as file:
            log = file.read()
        if b"Assertion" in log or b"Sanitizer" in log or b"runtime error" in log:
            self.wrong("LOG: " + log[-3000:].decode(errors="replace"))
        if SECRET_TEXT in log:
            self.wrong("ESCAPE: the log has the text of the secret")
        if self.daemon.returncode is not None and self.daemon.returncode < 0 and not self.faults:
            self.wrong(f"ended by signal {-self.daemon.returncode}")

    def run(self):
        self.prepare()
        try:
            if self.start():
                self.start_workers()
                self.watch()
                if self.faults:
                    self.daemon.kill()
                self.stop_workers()
                self.unmount()
        finally:
            self.clean()
        self.check_outside()
        self.check_reports()
        with open(f"{self.dir}/counts", "rb") as file:
            return dict(zip(COUNTED, struct.unpack(f"<{len(COUNTED)}Q", file.read())))


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    end = time.monotonic() + SECONDS
    total = dict.fromkeys(COUNTED, 0)
    worst = {}
    rounds = works = wrong = 0
    seed = SEED
    while time.monotonic() < end:
        one = Round(seed)
        counts = one.run()
        rounds += 1
        works += one.board.done()
        total = {name: total[name] + counts[name] for name in COUNTED}
        for name, value in one.worst.items():
            if value > worst.get(name, (-1, 0))[0]:
                worst[name] = (round(value, 1), seed)
        wrong += len(one.faults)
        if one.faults:
            subprocess.run(["cp", f"{one.dir}/log", f"{SCRATCH}/log.{seed}"], check=False)
            if os.environ.get("KEEP_GOING") != "1":
                break
        seed += 1
    say(f"{rounds} rounds from SEED={SEED}, {works} works of programs")
    say(", ".join(f"{name} {count}" for name, count in total.items()))
    told = ("records", "events", "endless", "commands")
    say("structured answers:", sum(total[name] for name in told))
    say("worst (value, seed):", worst)
    if not (works and total["frames"] and total["lies"]):
        say("nothing was tried")
        return 1
    return 1 if wrong else 0


sys.exit(main())
