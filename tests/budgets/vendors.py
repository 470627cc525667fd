"""A sandbox, mounted without a relay: of a vendor's test server, whose figures are what the server counted; or one that a
program reaches, with frames.py in front of that, which counted the requests."""
import json
import os
import subprocess
import time
import urllib.request
from collections import Counter
from pathlib import Path

from processes import Failure, ready_line, service
from systems import Sandboxfs

SERVERS = Path(__file__).resolve().parents[1] / "servers"
NAMES = sorted(path.parent.name for path in SERVERS.glob("*/main.mjs"))
# What goes on behind a work belongs to it: the counts are read when they have been the same for so long.
QUIET_S, QUIET_WITHIN = 0.3, 60

CANNOT_RUN_HERE = 77


class Absent(Failure):
    """The test server cannot run on this machine; the text says why."""


def unmount_below(root):
    """What the server mounted for its sandboxes (LAYERS in the environment), the last first."""
    places = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for place in sorted((one for one in places if one.startswith(f"{root}/")), reverse=True):
        subprocess.run(["umount", "-l", place], check=True)


class Counted(Sandboxfs):
    def __init__(self, name, setting, link):
        self.name = name
        super().__init__(setting, link)

    def run_inside(self, command):
        with open(self.mountpoint / ".sandbox/exec", "r+b", buffering=0) as file:
            file.write(command.encode())
            said = json.loads(file.read(1 << 20))
        if said["exit_code"] != 0:
            raise Failure(f"{command}: {said}")

    def counted(self):
        """The bytes, and how many requests there were of each kind."""
        raise NotImplementedError

    def counters(self):
        """Once nothing goes on any more."""
        now, end = self.counted(), time.monotonic() + QUIET_WITHIN
        while True:
            time.sleep(QUIET_S)
            before, now = now, self.counted()
            if now == before:
                break
            if time.monotonic() > end:
                raise Failure(f"{self.name}: still busy after {QUIET_WITHIN} s: {now}")
        size, kinds = now
        return {"requests": sum(kinds.values()), "bytes": size, "kinds": kinds}


class Program(Counted):
    """Of setting.given: the source, the directory, and the log of frames.py."""

    def start(self, stack):
        super().start(stack)
        self.source, self.backend, self.frames = self.setting.given
        self.backend, self.begin = Path(self.backend), 0

    def reset_counters(self):
        self.counters()
        self.begin = os.path.getsize(self.frames) if os.path.exists(self.frames) else 0

    def counted(self):
        if not os.path.exists(self.frames):
            return 0, {}
        with open(self.frames) as file:
            file.seek(self.begin)
            words = [line.split() for line in file.read().splitlines()]
        kinds = Counter(kind for kind, *size in words if not size)
        return sum(int(size[0]) for _, *size in words if size), dict(kinds)


class Vendor(Counted):
    def start(self, stack):
        super().start(stack)
        root = self.server_disk / "sandboxes"
        stack.callback(unmount_below, root)
        # Root's sandboxes work as root, so that the files there have the owner that is shown here.
        user = ["--user", "root"] if os.geteuid() == 0 else []
        command = ["node", SERVERS / self.name / "main.mjs", "--root", root, *user]
        server = self.said(stack.enter_context(service(command, self.scratch / "server.log")))
        self.admin = server["admin_url"]
        self.env |= server["env"]
        sandbox = self.ask("POST", "create")["id"]
        self.source = f"{self.name}:{sandbox}"
        self.backend = root / sandbox / "root" if user else next((root / sandbox / "home").iterdir())

    def said(self, server):
        """What the server prints when it is ready."""
        try:
            return ready_line(server, 60)
        except Failure:
            if server.wait(60) == CANNOT_RUN_HERE:
                raise Absent((self.scratch / "server.log").read_text()[:300].strip()) from None
            raise

    def ask(self, method, what):
        """The answer of the test server's admin port."""
        request = urllib.request.Request(f"{self.admin}/{what}", method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as answer:
            return json.load(answer)

    # ---- Counting ----

    def reset_counters(self):
        self.counters()
        self.ask("POST", "reset")

    def counted(self):
        now = self.ask("GET", "counters")
        total, kinds = now["total"], {kind: counts["requests"] for kind, counts in now["kinds"].items()}
        return total["wire_in"] + total["wire_out"], kinds
