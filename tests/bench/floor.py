"""The least that a work can take: what its program needs on a file system in FUSE that does nothing, and then what a client
that knows everything needs to fetch what was read, and to bring what was changed, as one stream each.
"""
import shutil
import subprocess

from envd import Envd
from processes import run
from systems import E2b

PIECE = 256 * 1024
ARCHIVE = "/tmp/floor.tar.gz"
OPTIONS = "attr_timeout=60,entry_timeout=60"


def quoted(names):
    return b" ".join(b"'" + name.replace(b"'", b"'\\''") + b"'" for name in names)


class Floor(E2b):
    """Its mount is of a copy on this machine; `sync` is the client that brings the sandbox up to that."""

    name = "floor"
    # What writes much and waits for nothing in between: of the rest the sum of the two would not be the least.
    workloads = ["untar", "checkout", "clone", "packages"]

    def start(self, stack):
        super().start(stack)
        self.copy, self.stamp = self.server_disk / "copy", self.server_disk / "stamp"
        self.client = None
        stack.callback(self.hang_up)

    def hang_up(self):
        if self.client:
            self.client.close()

    def command(self):
        return ["bindfs", "-f", "--multithreaded", "-o", OPTIONS, self.copy, self.mountpoint]

    def mount(self):
        shutil.rmtree(self.copy, ignore_errors=True)
        run(["cp", "-a", self.backend, self.copy], 120)
        self.hang_up()
        self.client = Envd(self.env["E2B_SANDBOX_URL"], self.sandbox, self.user)
        super().mount()

    # ---- What the work did ----

    def reset_counters(self):
        """A work begins: what is younger than the stamp is its doing."""
        super().reset_counters()
        if self.copy.exists():
            self.before = self.names()
            self.stamp.touch()

    def names(self, *tests):
        """Below the root, each behind what it is in."""
        return run(["find", self.copy, "-mindepth", "1", *tests, "-printf", "%P\\0"], 60).split(b"\0")[:-1]

    def sync(self):
        stamp = str(self.stamp)
        read = self.names("-type", "f", "-anewer", stamp, "!", "-cnewer", stamp)
        changed = self.names("-cnewer", stamp)
        there = set(self.names())
        gone = [name for name in self.before if name not in there]
        if read:
            self.run(b"tar c --no-recursion -- " + quoted(read) + b" | gzip -1")
        self.bring(changed, gone)

    # ---- In the sandbox ----

    def run(self, script):
        self.client.run(b"cd " + self.home.encode() + b"\n" + script)

    def bring(self, changed, gone):
        steps = [b"rm -rf -- " + quoted(gone)] if gone else []
        if changed:
            self.client.upload(ARCHIVE, self.packed(changed))
            steps.append(b"tar xzf " + ARCHIVE.encode())
        self.run(b"\n".join(steps))

    def packed(self, names):
        listed = self.server_disk / "names"
        listed.write_bytes(b"\0".join(names))
        command = ["tar", "c", "-I", "gzip -1", "-C", self.copy, "--no-recursion", "--null", f"--files-from={listed}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as tar:
            while piece := tar.stdout.read(PIECE):
                yield piece
