"""What people do with a mounted directory, timed.

Each workload lays its fixtures where the server keeps them, mounts, and yields its figures: `cold` is the first time
after a mount with no local cache, `warm` the same again at once. `landed` is when the server has the right result
after a sync that follows at once, counted from the beginning. A wrong result, an error or too long a time is a figure too.
"""
import contextlib
import filecmp
import hashlib
import os
import random
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import fixtures
from processes import Failure, run
from system import LANDS_WITHIN

TIMES = b"times: "
ENVIRONMENT = {
    **os.environ,
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    # The owners on the server need not be ours.
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}


@dataclass
class Figure:
    workload: str
    phase: str
    seconds: float = None
    landed: float = None
    counters: dict = field(default_factory=dict)
    wrong: str = None
    given_up_after: float = None

    def as_row(self):
        row = asdict(self)
        return {**row.pop("counters"), **row}


class Landing(threading.Thread):
    """Looks until the server has the right result."""

    def __init__(self, has_landed):
        super().__init__(daemon=True)
        self.has_landed, self.landed_at, self.ended = has_landed, None, threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.02):
            with contextlib.suppress(OSError):
                if self.has_landed():
                    self.landed_at = time.monotonic()
                    return

    def wait(self):
        """The time when it was there, or None."""
        self.join(LANDS_WITHIN)
        self.ended.set()
        return self.landed_at


class Bench:
    """One system on one link, with the fixtures and the deadline for each step; whether it is for the times."""

    def __init__(self, system, root, facts, step_seconds, is_timed=True):
        self.system, self.fixtures, self.facts, self.step_seconds = system, root, facts, step_seconds
        self.is_timed = is_timed
        self.mountpoint, self.backend = system.mountpoint, system.backend

    def put(self, name):
        """Lays a fixture on the server's disk."""
        target = self.backend / name
        self.remove(name)
        run(["cp", "-a", self.fixtures / name, target], 120)
        # The server's user may be another than we are.
        run(["chown", "-hR", f"--reference={self.backend}", target], 120)
        if self.is_timed:
            # An fsync of the one byte that a workload writes is not to wait for all of this.
            run(["sync", "-f", target], 120)
        return self.mountpoint / name

    def remove(self, name):
        run(["rm", "-rf", self.backend / name], 120)

    def time(self, workload, phase, command, is_right=None, has_landed=None, cwd=None):
        """Runs the command. `is_right` judges what it prints, `has_landed` what the server has."""
        figure = Figure(workload, phase)
        self.system.reset_counters()
        landing = Landing(has_landed) if has_landed else None
        try:
            started, ended, output = timed(command, self.step_seconds, cwd)
            figure.seconds = ended - started
            if is_right and not is_right(output):
                figure.wrong = f"wrong: {output[-200:].decode(errors='replace')!r}"
            elif landing:
                self.system.sync()
                figure.landed = since(started, landing.wait())
        except Failure as failure:
            figure.wrong = str(failure)
            figure.given_up_after = getattr(failure, "seconds", None)
        finally:
            if landing:
                landing.ended.set()
        figure.counters = self.system.counters()
        return figure


def since(started, landed_at):
    if landed_at is None:
        raise Failure(f"not on the server within {LANDS_WITHIN} s")
    return landed_at - started


def timed(command, seconds, cwd):
    """When it started, when it ended, and what it printed. Programs of this file tell the times themselves: that Python
    needs a tenth of a second to start is nothing to compare."""
    started = time.monotonic()
    output = run(command, seconds, cwd=cwd, env=ENVIRONMENT)
    ended = time.monotonic()
    if command[1:2] == [__file__]:
        output, _, times = output.rpartition(TIMES)
        started, ended = map(float, times.split())
    return started, ended, output


def python(name, *arguments):
    """A function of this file as a program of its own, since who calls into a hanging mount cannot be stopped."""
    return [sys.executable, __file__, name, *map(str, arguments)]


def same(a, b):
    return os.path.getsize(a) == os.path.getsize(b) and filecmp.cmp(a, b, shallow=False)


# ---- Reading ----


def mount_cold(bench):
    """When it began, when the first listing was answered."""
    bench.system.unmount()
    bench.system.forget()
    bench.system.reset_counters()
    start = time.monotonic()
    bench.system.mount()
    return start, time.monotonic()


def mounting(bench):
    """Mount, until the first listing is answered; of what is not mounted there is no figure. `first`: what is brought to
    a sandbox once and stays there is not there yet, where no other workload came before."""
    bench.put("small.tar")
    start, end = mount_cold(bench)
    if bench.system.daemon:
        yield Figure("mount", "first", end - start, counters=bench.system.counters())
        start, end = mount_cold(bench)
        yield Figure("mount", "cold", end - start, counters=bench.system.counters())


def listing(bench):
    """ls -lR of the project."""
    project = bench.put("project")
    command = ["ls", "-lR", project]

    def is_right(output):
        return output.count(b"\n-rw") == bench.facts["files"] and output.count(b" link") == fixtures.LINKS

    bench.system.remount_cold()
    yield bench.time("list", "cold", command, is_right)
    yield bench.time("list", "warm", command, is_right)


def status(bench):
    """git status of the project: `first` with an index that was written on the server, `cold` with one from here."""
    project = bench.put("project")
    run(["git", "update-index", "--refresh"], 60, cwd=bench.backend / "project", env=ENVIRONMENT)
    command = ["git", "status", "--porcelain"]

    def is_clean(output):
        return not output.strip()

    bench.system.remount_cold()
    yield bench.time("status", "first", command, is_clean, cwd=project)
    bench.system.remount_cold()
    yield bench.time("status", "cold", command, is_clean, cwd=project)
    yield bench.time("status", "warm", command, is_clean, cwd=project)


def grep(bench):
    """grep -r over all contents of the project."""
    project = bench.put("project")
    command = ["grep", "-rc", "--exclude-dir=.git", fixtures.NEEDLE, project]

    def is_right(output):
        return output.count(b":1\n") == bench.facts["needles"] and output.count(b"\n") == bench.facts["files"]

    bench.system.remount_cold()
    yield bench.time("grep", "cold", command, is_right)
    yield bench.time("grep", "warm", command, is_right)


def read(bench):
    """Read 100 MB in sequence."""
    command = python("print_digest", bench.put("big.bin"))

    def is_right(output):
        return output.decode().strip() == bench.facts["big"]

    bench.system.remount_cold()
    yield bench.time("read", "cold", command, is_right)
    yield bench.time("read", "warm", command, is_right)


def random_reads(bench):
    """200 reads of 4 KiB, each somewhere else in 100 MB."""
    big = bench.put("big.bin")
    _, _, wanted = timed(python("read_randomly", bench.fixtures / "big.bin"), 60, None)
    bench.system.remount_cold()
    yield bench.time("random", "cold", python("read_randomly", big), lambda output: output == wanted)


# ---- Writing ----


def landing(rest, is_there):
    """Whether all of these are there, as a question to be asked again and again: what was there once is not looked at again."""
    rest = list(rest)

    def has_landed():
        while rest and is_there(rest[-1]):
            rest.pop()
        return not rest

    return has_landed


def write(bench):
    """Write 100 MB and fsync."""
    landed, new = bench.backend / "out.bin", bench.fixtures / "new.bin"
    bench.system.remount_cold()
    command = ["dd", f"if={new}", f"of={bench.mountpoint}/out.bin", "bs=1M", "conv=fsync", "status=none"]
    yield bench.time("write", "cold", command, has_landed=lambda: same(landed, new))
    bench.remove("out.bin")


def small_files(bench):
    """Untar 200 small files, then rm -rf them."""
    bench.remove("small")
    bench.system.remount_cold()
    wanted = bench.system.scratch / "wanted"
    wanted.mkdir(exist_ok=True)
    run(["tar", "xf", bench.fixtures / "small.tar", "-C", wanted], 60)
    names = [path.relative_to(wanted) for path in wanted.rglob("*.txt")]

    has_landed = landing(names, lambda name: same(wanted / name, bench.backend / name))
    command = ["tar", "xf", bench.fixtures / "small.tar", "-C", bench.mountpoint]
    yield bench.time("untar", "cold", command, has_landed=has_landed)
    run(["diff", "-r", wanted / "small", bench.mountpoint / "small"], bench.step_seconds)
    command = ["rm", "-rf", bench.mountpoint / "small"]
    yield bench.time("remove", "warm", command, has_landed=lambda: not (bench.backend / "small").exists())


def wanted_tree(bench, repository, branch):
    """That branch in a directory of its own, and the names of its files."""
    wanted = bench.system.scratch / f"wanted.{repository}"
    run(["git", "clone", "-q", "-b", branch, bench.fixtures / repository, wanted], 120, env=ENVIRONMENT)
    listed = run(["git", "ls-files", "-z"], 60, cwd=wanted, env=ENVIRONMENT)
    return wanted, [os.fsdecode(name) for name in listed.split(b"\0") if name]


def landing_of(tree, wanted, names):
    """Links aside, which lead to what is there on either side."""
    files = [name for name in names if not os.path.islink(wanted / name)]
    return landing(files, lambda name: same(wanted / name, tree / name))


def checkout(bench):
    """git checkout of another branch, all of whose 500 files differ, with an index that was written on the server."""
    repository = bench.put("branches")
    wanted, names = wanted_tree(bench, "branches", "other")
    landed = bench.backend / "branches"
    run(["git", "update-index", "--refresh"], 60, cwd=landed, env=ENVIRONMENT)
    bench.system.remount_cold()
    command = ["git", "checkout", "-q", "other"]
    yield bench.time("checkout", "cold", command, has_landed=landing_of(landed, wanted, names), cwd=repository)
    bench.remove("branches")


def clone(bench):
    """git clone of the project into the mount."""
    bench.remove("clone")
    wanted, names = wanted_tree(bench, "project", "main")
    landed = bench.backend / "clone"
    bench.system.remount_cold()
    command = ["git", "clone", "-q", "--no-hardlinks", bench.fixtures / "project", bench.mountpoint / "clone"]
    yield bench.time("clone", "cold", command, has_landed=landing_of(landed, wanted, names))
    bench.remove("clone")


def packages(bench):
    """5,000 small files by eight threads, as who installs packages writes them."""
    bench.remove("node_modules")
    landed = bench.backend / "node_modules"
    bench.system.remount_cold()

    has_landed = landing(list(package_files()), lambda file: (landed / file[0]).read_bytes() == file[1])
    command = python("write_packages", bench.mountpoint / "node_modules")
    yield bench.time("packages", "cold", command, has_landed=has_landed)
    bench.remove("node_modules")


def save(bench):
    """20 saves as editors do them: 20 kB to a new file, fsync, rename over the old one."""
    bench.remove("text")
    (bench.backend / "text").write_text("before\n")
    bench.system.remount_cold()
    landed = bench.backend / "text"
    command = python("save_often", bench.mountpoint / "text")
    yield bench.time("save", "cold", command, has_landed=lambda: landed.read_bytes() == edition(SAVES - 1))
    bench.remove("text")


def patch(bench):
    """Change one byte in the middle of 100 MB, and fsync."""
    big, landed = bench.put("big.bin"), bench.backend / "big.bin"
    wanted = bench.system.scratch / "patched.bin"
    shutil.copyfile(bench.fixtures / "big.bin", wanted)
    change_byte(wanted)
    bench.system.remount_cold()
    yield bench.time("patch", "cold", python("change_byte", big), has_landed=lambda: same(landed, wanted))
    wanted.unlink()


ALL = {
    "mount": mounting,
    "list": listing,
    "status": status,
    "grep": grep,
    "read": read,
    "random": random_reads,
    "write": write,
    "untar": small_files,
    "checkout": checkout,
    "clone": clone,
    "packages": packages,
    "save": save,
    "patch": patch,
}

# ---- Run as programs of their own ----

SAVES = 20
RANDOM_READS, RANDOM_SIZE = 200, 4096
PATCH_AT = fixtures.BIG // 2 + 1
PACKAGES, PACKAGE_FILES, PACKAGE_WRITERS = 500, 10, 8


def print_digest(path):
    with open(path, "rb") as file:
        print(hashlib.file_digest(file, "sha256").hexdigest())


def read_randomly(path):
    chance, digest = random.Random(5), hashlib.sha256()
    fd = os.open(path, os.O_RDONLY)
    for _ in range(RANDOM_READS):
        digest.update(os.pread(fd, RANDOM_SIZE, chance.randrange(fixtures.BIG // RANDOM_SIZE) * RANDOM_SIZE))
    print(digest.hexdigest())


def edition(number):
    return (b"%04d a line of the file\n" % number * 1000)[:20000]


def save_often(path, times=SAVES):
    for number in range(int(times)):
        fd = os.open(path + "~", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(fd, edition(number))
        os.fsync(fd)
        os.close(fd)
        os.rename(path + "~", path)


def package_files():
    """Their names and contents, package by package."""
    chance = random.Random(6)
    for package in range(PACKAGES):
        for number in range(PACKAGE_FILES):
            folder = "lib/" if number > 2 else ""
            line = f"module.exports.f{chance.random()} = () => {package * number};\n".encode()
            yield f"package-{package:03}/{folder}file{number}.js", line * chance.randint(2, 60)


def write_file(root, name, contents):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "xb") as file:
        file.write(contents)


def write_packages(root):
    with ThreadPoolExecutor(PACKAGE_WRITERS) as writers:
        for written in [writers.submit(write_file, root, *file) for file in package_files()]:
            written.result()


def change_byte(path):
    fd = os.open(path, os.O_WRONLY)
    os.pwrite(fd, b"\xaa", PATCH_AT)
    os.fsync(fd)
    os.close(fd)


if __name__ == "__main__":
    started = time.monotonic()
    globals()[sys.argv[1]](*sys.argv[2:])
    print(TIMES.decode(), started, time.monotonic())
