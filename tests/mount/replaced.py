"""replaced.py FILE ROUNDS REPLACED READ WRITER... - uses FILE through the mount while the command WRITER replaces it.

The writer puts a file with the next number in its place by a rename, over and over, until there is a file `stop` beside it.
Each reader goes on for so many rounds of all calls, and until it saw so many other files there. On a local disk no call
ever fails. READ is `whole` where that holds here, too; `anew` where the writer is in the sandbox, of which a mount keeps no
file open: what was opened and not read yet may be stale then, and is opened anew.
"""
import collections
import errno
import os
import subprocess
import sys
import threading
import time

READERS = 3
PATIENCE_S = 600


def use_opened(path, flags):
    os.close(os.open(path, flags))


CALLS = {
    "open": lambda path: use_opened(path, os.O_RDONLY),
    "open to write": lambda path: use_opened(path, os.O_RDWR),
    "access": lambda path: os.access(path, os.R_OK) or sys.exit("it may not be read"),
    "listxattr": os.listxattr,
    "getxattr": lambda path: os.getxattr(path, "user.none"),
}


class Reader(threading.Thread):
    def __init__(self, path, rounds, replaced, may_be_stale):
        super().__init__()
        self.path, self.rounds, self.replaced, self.may_be_stale = path, rounds, replaced, may_be_stale
        self.last, self.seen, self.number = -1, 0, None
        self.calls, self.anew = 0, 0
        self.failures = collections.Counter()

    def call(self, name, call, *arguments):
        self.calls += 1
        try:
            return call(*arguments)
        except OSError as failure:
            if name == "read" and self.may_be_stale and failure.errno == errno.ESTALE:
                self.anew += 1
            elif failure.errno != errno.ENODATA:
                self.failures[f"{name}: {errno.errorcode[failure.errno]}"] += 1

    def look(self):
        said = self.call("stat", os.stat, self.path)
        if said and said.st_ino != self.number:
            self.number, self.seen = said.st_ino, self.seen + 1

    def read(self):
        fd = self.call("open to read", os.open, self.path, os.O_RDONLY)
        if fd is None:
            return
        said = self.call("read", os.read, fd, 4096)
        os.close(fd)
        if said is not None and not (said.strip().isdigit() and int(said) >= self.last):
            self.failures[f"read: {said!r} after {self.last}"] += 1
        elif said is not None:
            self.last = int(said)

    def run(self):
        end_s, rounds = time.monotonic() + PATIENCE_S, 0
        while rounds < self.rounds or self.seen < self.replaced:
            for name, call in CALLS.items():
                self.call(name, call, self.path)
            self.look()
            self.read()
            rounds += 1
            if time.monotonic() > end_s:
                self.failures["out of time"] += 1
                return


def main(path, rounds, replaced, read, *writer):
    readers = [Reader(path, int(rounds), int(replaced), read == "anew") for _ in range(READERS)]
    with subprocess.Popen(writer) as writing:
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        with open(os.path.join(os.path.dirname(path), "stop"), "w"):
            pass
    failures = sum((reader.failures for reader in readers), collections.Counter())
    print(f"{sum(reader.calls for reader in readers)} calls, {min(reader.seen for reader in readers)} files seen at least,",
          f"{sum(reader.anew for reader in readers)} opened anew, failed: {dict(failures)}")
    return 1 if writing.returncode or failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
