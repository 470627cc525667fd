"""What the compared file systems have in common: a server behind a relay, and a mount that comes and goes.

A system is a context: it starts its server and a relay for each of the server's ports, and ends them. The mount is
always our own child in the foreground, so that nothing can be left over.
"""
import contextlib
import os
import shutil
import subprocess
from pathlib import Path

from link import relay
from processes import Failure, run, stop, wait_until

MOUNTS_WITHIN = 60
UNMOUNTS_WITHIN = 60
LANDS_WITHIN = 60
UNMOUNT, LAZILY = (["umount"], "-l") if os.geteuid() == 0 else (["fusermount3", "-u"], "-z")


def is_mounted(path):
    with open("/proc/self/mounts") as mounts:
        return any(line.split()[1] == str(path) for line in mounts)


def cpu_of_session(leader):
    """For each of its processes."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(") ")[2].split()
            if int(fields[3]) == leader:
                yield (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class System:
    """What they have in common. `backend` is the mounted directory as the server sees it, on this machine."""

    name = None
    workloads = None  # those that it is for; None: all

    def __init__(self, setting, link):
        self.setting, self.link = setting, link
        self.scratch = Path(setting.scratch) / f"{self.name}.{link.round_trip_ms:g}"
        self.server_disk = Path(setting.servers) / self.scratch.name
        self.mountpoint, self.backend = self.scratch / "mnt", self.server_disk / "backend"
        self.relays, self.daemon, self.cpu_before = [], None, 0
        self.env = dict(os.environ)

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.callback(self.remove_files)
            for path in (self.mountpoint, self.backend):
                path.mkdir(parents=True)
            self.start(stack)
            stack.callback(self.unmount)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *unused):
        self.stack.close()

    def remove_files(self):
        if not is_mounted(self.mountpoint):
            shutil.rmtree(self.scratch, ignore_errors=True)
            shutil.rmtree(self.server_disk, ignore_errors=True)

    # ---- What each does in its own way ----

    def start(self, stack):
        """Starts the server; `stack` ends it."""

    def command(self):
        """What mounts, in the foreground."""
        raise NotImplementedError

    def forget(self):
        """Removes what outlives an unmount on the client's side."""

    def requests(self):
        """How many there were since reset_counters: messages, where the protocol does not let requests be counted."""
        return sum(relay.tell("counters")["reads_to_server"] for relay in self.relays)

    # ---- Mounting ----

    def through_relay(self, stack, port):
        through = stack.enter_context(relay(self.setting.relay, self.link, port, self.scratch))
        self.relays.append(through)
        return through.port

    def log(self):
        return self.scratch / "mount.log"

    def mount(self):
        """Returns when the first listing has been answered."""
        with open(self.log(), "ab") as log:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            self.daemon = subprocess.Popen(self.command(), env=self.env, start_new_session=True, **pipes)
        wait_until(f"{self.name}: mounting", MOUNTS_WITHIN, self.is_up)
        run(["ls", str(self.mountpoint)], MOUNTS_WITHIN)

    def is_up(self):
        if self.daemon.poll() is not None:
            raise Failure(f"{self.name}: the mount ended: {self.log().read_text(errors='replace')[-500:].strip()}")
        return is_mounted(self.mountpoint)

    def sync(self):
        """As who wants the server to have everything, where that can be said."""
        run(["sync", "-f", str(self.mountpoint)], LANDS_WITHIN)

    def unmount(self):
        """Also a mount that hangs."""
        if is_mounted(self.mountpoint):
            with contextlib.suppress(Failure):
                run([*UNMOUNT, str(self.mountpoint)], UNMOUNTS_WITHIN)
        if self.daemon:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.daemon.wait(0 if is_mounted(self.mountpoint) else UNMOUNTS_WITHIN)
            stop(self.daemon)
        if is_mounted(self.mountpoint):
            run([*UNMOUNT, LAZILY, str(self.mountpoint)], UNMOUNTS_WITHIN)
        self.daemon = None

    def remount_cold(self):
        self.unmount()
        self.forget()
        self.mount()

    # ---- Counting ----

    def cpu(self):
        """Seconds, of the mount's process and those that it started."""
        return sum(cpu_of_session(self.daemon.pid)) if self.daemon else 0

    def reset_counters(self):
        self.cpu_before = self.cpu()
        for through in self.relays:
            through.tell("zero")

    def counters(self):
        told = [through.tell("counters") for through in self.relays]
        if not told:
            return {}
        return {
            "requests": self.requests(),
            "cpu": self.cpu() - self.cpu_before,
            "round_trips": sum(c["turns"] for c in told),
            "bytes_up": sum(c["bytes_to_server"] for c in told),
            "bytes_down": sum(c["bytes_to_client"] for c in told),
        }
