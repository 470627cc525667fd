"""What is counted: workloads of tests/bench, and what else has an allowance.

Each work lays its files where the sandbox keeps them and yields figures (tests/bench/workloads.py), whose counters say
what the test server counted from its beginning to its end. Whatever mounting itself asks comes before that.
"""
import os
import random
import shlex
import time
from dataclasses import replace

import fixtures
import workloads
from workloads import Figure

MANY_DIRECTORIES, MANY_FILES_EACH = 2000, 10
COPIED = 64_000_000


def of(work, figures):
    """The same figures under the name that they have in the table."""
    return [replace(figure, workload=work) for figure in figures]


def mounting(bench):
    """The first mount ever of a sandbox may bring something there that stays; then what each mount costs."""
    bench.system.unmount()
    for phase in ("first ever", "again"):
        bench.system.reset_counters()
        began = time.monotonic()
        bench.system.mount()
        landed = time.monotonic() - began
        yield Figure("mount and ls", phase, landed=landed, counters=bench.system.counters())
        bench.system.unmount()


def command(bench):
    """One line for a shell to run in the sandbox, as README shows it."""
    (bench.backend / "known").touch()
    bench.system.remount_cold()
    script = f"cd {shlex.quote(str(bench.mountpoint))} && echo 'echo said' >.sandbox/exec && cat .sandbox/exec"
    yield bench.time("a command", "nothing pending", ["sh", "-c", script], lambda output: b'"said\\n"' in output)
    os.stat(bench.mountpoint / "known")
    yield bench.time("a command", "a name known", ["sh", "-c", script], lambda output: b'"said\\n"' in output)
    bench.remove("known")


def listing(bench):
    yield from of("ls -lR of 2,000 files", workloads.listing(bench))
    missing = [bench.mountpoint / "project" / name for name in ("none", ".gitmodules", "src")]
    script = "for name; do [ ! -e $name ] || exit 1; done"
    yield bench.time("names that are not there", "in listed directories", ["sh", "-c", script, "-", *missing])


def listing_many(bench):
    top = bench.backend / "many"
    for d in range(MANY_DIRECTORIES):
        os.makedirs(top / f"d{d}")
        for f in range(MANY_FILES_EACH):
            (top / f"d{d}/f{f}").touch()
    bench.system.remount_cold()
    count = MANY_DIRECTORIES * MANY_FILES_EACH
    ls = ["ls", "-lR", bench.mountpoint / "many"]
    yield bench.time("ls -lR of 20,000 files", "cold", ls, lambda output: output.count(b"\n-rw") == count)
    bench.remove("many")


def status(bench):
    """With an index that git wrote inside the sandbox."""
    project = bench.put("project")
    bench.system.remount_cold()
    bench.system.run_inside("cd project && git -c safe.directory='*' update-index --refresh")
    bench.system.remount_cold()
    for phase in ("cold", "again"):
        yield bench.time("git status", phase, ["git", "status", "--porcelain"], is_empty, cwd=project)


def is_empty(output):
    return not output


def status_many(bench):
    """The index has 1.8 MB."""
    top = bench.backend / "large"
    for d in range(MANY_DIRECTORIES):
        os.makedirs(top / f"directory{d:04}")
        for f in range(MANY_FILES_EACH):
            (top / f"directory{d:04}/file{f}").touch()
    fixtures.set_times(top)
    fixtures.commit(top)
    bench.system.remount_cold()
    for phase in ("cold", "again"):
        command = ["git", "status", "--porcelain"]
        yield bench.time("git status of 20,000 files", phase, command, is_empty, cwd=bench.mountpoint / "large")
    bench.remove("large")


def grep(bench):
    """The third time after a remount, with what the cache on this machine has."""
    yield from of("grep -r of 16 MB", workloads.grep(bench))
    bench.system.unmount()
    bench.system.mount()
    command = ["grep", "-rc", "--exclude-dir=.git", fixtures.NEEDLE, bench.mountpoint / "project"]

    def is_right(output):
        return output.count(b":1\n") == bench.facts["needles"]

    yield bench.time("grep -r of 16 MB", "remounted", command, is_right)


def grep_many(bench):
    """Few bytes in each of many files."""
    top = bench.backend / "sources"
    for d in range(MANY_DIRECTORIES):
        os.makedirs(top / f"d{d}")
        for f in range(MANY_FILES_EACH):
            (top / f"d{d}/f{f}").write_text(f"in file {f} of directory {d}\n" * 10)
    count = MANY_DIRECTORIES * MANY_FILES_EACH
    bench.system.remount_cold()
    for phase in ("cold", "warm", "remounted"):
        if phase == "remounted":
            bench.system.unmount()
            bench.system.mount()
        command = ["grep", "-rc", "in file", bench.mountpoint / "sources"]
        yield bench.time("grep -r of 20,000 files", phase, command, lambda output: output.count(b":10\n") == count)
    bench.remove("sources")


def reading(bench):
    big = bench.put("big.bin")
    first = (bench.fixtures / "big.bin").read_bytes()[:1]
    bench.system.remount_cold()
    yield bench.time("100 MB", "first byte", ["head", "-c", "1", big], lambda output: output == first)
    in_sequence = next(workloads.read(bench))
    yield replace(in_sequence, workload="100 MB", phase="in sequence")


# ---- Writing: counted until the sandbox has it ----


def small_files(bench):
    untar, remove = workloads.small_files(bench)
    yield replace(untar, workload="untar of 200 files", phase="until they are there")
    yield replace(remove, workload="rm -rf of them", phase="until they are gone")


def save(bench):
    """As editors do: a new file, fsync, renamed over the old one."""
    landed = bench.backend / "text"
    landed.write_text("before\n")
    bench.system.remount_cold()
    once = workloads.python("save_often", bench.mountpoint / "text", 1)
    wanted = workloads.edition(0)
    yield bench.time("an editor's save", "with fsync", once, has_landed=lambda: landed.read_bytes() == wanted)
    bench.remove("text")


WRITTEN, APPENDED = 300, 100_000
PIECES = 3_000_000


def write_and_append(top):
    """Small files, one of many changes, and one that is appended to, one that is patched when they are there."""
    top.mkdir()
    for n in range(WRITTEN):
        (top / f"small{n}").write_text(f"{n}\n" * 100)
    (top / "pieces").write_bytes(random.randbytes(PIECES))
    for name in ("appended", "patched"):
        (top / name).write_bytes(random.randbytes(APPENDED))
    sync(top)
    with open(top / "appended", "ab") as file:
        file.write(random.randbytes(APPENDED))
    with open(top / "patched", "r+b") as file:
        file.seek(APPENDED // 2)
        file.write(b"patch")
    sync(top)


def sync(top):
    (top.parent / ".sandbox/sync").write_text("\n")


def read_back(bench):
    """What was written here, once the sandbox has it and the kernel has forgotten it."""
    top = bench.mountpoint / "written"
    bench.system.remount_cold()
    write_and_append(top)
    size = sum(path.stat().st_size for path in (bench.backend / "written").iterdir())
    command = ["sh", "-c", "for f; do dd if=$f iflag=nocache count=0 status=none; done; cat \"$@\"", "-"]
    names = sorted(top.iterdir())
    yield bench.time("what was written", "read", [*command, *names], lambda output: len(output) == size)
    bench.system.unmount()
    bench.system.mount()
    yield bench.time("what was written", "remounted", ["cat", *names], lambda output: len(output) == size)
    bench.remove("written")


def patch(bench):
    yield from (replace(figure, workload="100 MB", phase="a byte changed, fsync") for figure in workloads.patch(bench))


def copying(bench):
    """cp asks the kernel to copy, and the kernel the sandbox."""
    source, landed = bench.put("big.bin"), bench.backend / "copy"
    os.truncate(bench.backend / "big.bin", COPIED)
    bench.system.remount_cold()
    command = ["cp", source, bench.mountpoint / "copy"]
    has_landed = lambda: workloads.same(landed, bench.backend / "big.bin")  # noqa: E731
    yield bench.time("cp of 64 MB", "inside the mount", command, has_landed=has_landed)
    bench.remove("copy")
    bench.remove("big.bin")


# Left out by --few: they take more than half of the time.
MANY = [listing_many, status_many, grep_many]
ALL = [mounting, command, listing, listing_many, status, status_many, grep, grep_many, reading, small_files, save, read_back, patch, copying]
