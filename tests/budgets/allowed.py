"""How many requests each work may take, by vendor.

E2B's column is what the design asks for: an HTTP request each, with the helper in place. The others follow from their
wires. Where a command's output has a limit, a large answer is left in a file and downloaded, and what asks for many files
is uploaded: up to two requests more. Modal makes several for a connection, and none of these. A stream of changes begins
with the attach on E2B, with a request of its own elsewhere, and where it is not one long answer it takes some all the time,
and each change may end one.

The first files of a walk, the rest of the directory that it is in, and all others come in an answer each: three where the
walk begins in a large directory, else two. Which one it begins in is not the same in each run: the file system that a
work lies on orders its directories by a seed of its own.
"""
import math
from dataclasses import dataclass

MB = 1_000_000
NO_LIMIT = 1 << 62

VENDORS = ("e2b", "aio", "daytona", "langsmith", "modal", "runloop")
# A vendor without a column may take what this one does, to which nothing is native but commands and files one by one.
COMMON = "daytona"
REQUESTS = {
    ("mount and ls", "first ever"): (4, 7, 6, 6, 22, 6),
    ("mount and ls", "again"): (2, 5, 4, 4, 13, 4),
    ("a command", "nothing pending"): (1, 1, 1, 1, 1, 1),
    ("a command", "a name known"): (1, 1, 1, 1, 1, 1),
    ("ls -lR of 2,000 files", "cold"): (1, 2, 2, 2, 1, 2),
    ("ls -lR of 2,000 files", "warm"): (0, 0, 0, 0, 0, 0),
    ("names that are not there", "in listed directories"): (0, 0, 0, 0, 0, 0),
    ("ls -lR of 20,000 files", "cold"): (1, 3, 3, 3, 1, 3),
    ("git status", "cold"): (2, 4, 4, 4, 2, 4),
    ("git status", "again"): (0, 0, 0, 0, 0, 0),
    ("git status of 20,000 files", "cold"): (2, 6, 6, 6, 2, 6),
    ("git status of 20,000 files", "again"): (0, 0, 0, 0, 0, 0),
    ("grep -r of 16 MB", "cold"): (3, 6, 6, 6, 3, 6),
    ("grep -r of 16 MB", "warm"): (0, 0, 0, 0, 0, 0),
    ("grep -r of 16 MB", "remounted"): (3, 3, 3, 3, 3, 3),
    ("grep -r of 20,000 files", "cold"): (3, 8, 8, 8, 3, 8),
    ("grep -r of 20,000 files", "warm"): (0, 0, 0, 0, 0, 0),
    ("grep -r of 20,000 files", "remounted"): (3, 3, 3, 3, 3, 3),
    ("100 MB", "first byte"): (1, 1, 1, 1, 1, 1),
    ("100 MB", "in sequence"): (3, 9, 9, 9, 3, 9),
    ("untar of 200 files", "until they are there"): (3, 6, 8, 8, 3, 5),
    ("rm -rf of them", "until they are gone"): (2, 4, 4, 4, 2, 2),
    ("an editor's save", "with fsync"): (2, 4, 4, 4, 2, 2),
    ("what was written", "read"): (0, 0, 0, 0, 0, 0),
    ("what was written", "remounted"): (0, 0, 0, 0, 0, 0),
    ("100 MB", "a byte changed, fsync"): (2, 4, 4, 4, 2, 2),
    ("cp of 64 MB", "inside the mount"): (1, 2, 2, 2, 1, 1),
}

# Of a program with one kept stream, a request is a session that it begins or a frame that asks (frames.py). E2B's column is
# kept but for mounting: a session looks for the helper, one stores it, one renames that, and one keeps it, which is greeted
# and asked for the tree; docker and kubectl look the name up before, kubectl before each session.
PROGRAMS = {
    "ssh": {"first ever": 6, "again": 4},
    "docker": {"first ever": 8, "again": 6},
    "kubernetes": {"first ever": 9, "again": 7},
}

# Both ways on the wire, where that says whether contents travelled, or travelled twice.
BYTES = {
    ("git status", "cold"): 1 * MB,
    ("git status", "again"): 1 * MB,
    ("grep -r of 16 MB", "cold"): 18 * MB,
    ("grep -r of 16 MB", "remounted"): 1 * MB,
    ("grep -r of 20,000 files", "cold"): 15 * MB,
    ("grep -r of 20,000 files", "remounted"): 3 * MB,
    ("100 MB", "first byte"): 1 * MB,
    ("100 MB", "in sequence"): 101 * MB,
    ("what was written", "read"): 20_000,
    ("what was written", "remounted"): 20_000,
    ("100 MB", "a byte changed, fsync"): 10_000,
    ("cp of 64 MB", "inside the mount"): 20_000,
}

# Of a stream of changes that is followed request by request, while little changes: so many a second.
STREAM = {"aio": 12 / 60, "daytona": 4 / 60, "langsmith": 4 / 60}
# While much changes: so many at once, then so many a second until the sandbox has it all.
BUSY_STREAM = {"aio": (2, 10)}

CHANGES_MUCH = {"untar of 200 files", "rm -rf of them"}
# Changes leave when there was none for a tenth of a second. A machine that is too busy to do such a work in the seconds
# given here has pauses that long: each may cost the two requests of a batch.
PAUSE_S, BATCH = 0.1, 2
PAUSELESS_S = {"untar of 200 files": 0.5, "rm -rf of them": 0.5, "an editor's save": 0.15}

# An answer shows for so long that the sandbox runs: a work may have to look once more whenever that is over.
LOOK_S = {"langsmith": 0.5}

# So many more than that it takes now and then. A stream of changes that is followed request by request may end meanwhile;
# what a command says on AIO is asked for once more where the machine is busy.
EXCESS = {
    ("mount and ls", "again"): (0, 1, 0, 0, 0, 0),
    ("git status", "again"): (0, 4, 4, 4, 0, 0),
    ("an editor's save", "with fsync"): (0, 4, 4, 4, 0, 0),
}


# A list beside the two requests, in one run of two where the machine was busy: the cause is not known yet.
EXCESS_OF_PROGRAMS = {("docker", "an editor's save"): 1}


@dataclass
class Allowance:
    requests: int
    excess: int
    bytes: int

    def judge(self, counted):
        """What is to be said of it, and whether that fails the run."""
        over = counted["requests"] - self.requests
        if counted["bytes"] > self.bytes:
            return f"EXCEEDED, more than {self.bytes:,} bytes: {counted['kinds']}", True
        if over > self.excess:
            return f"EXCEEDED, more requests: {counted['kinds']}", True
        return (f"{over} too many, as known" if over > 0 else ""), False


def of_stream(vendor, figure):
    """Requests of the stream of changes, where it is followed so."""
    if vendor not in STREAM:
        return 0
    quiet = 1 + math.ceil((figure.seconds or 0) * STREAM[vendor])
    if vendor not in BUSY_STREAM or figure.workload not in CHANGES_MUCH:
        return quiet
    at_once, a_second = BUSY_STREAM[vendor]
    return quiet + at_once + math.ceil((figure.landed or 0) * a_second)


def of_pauses(figure):
    """Requests of batches that left while the machine did something else."""
    if figure.workload not in PAUSELESS_S:
        return 0
    return BATCH * max(0, math.ceil(((figure.landed or 0) - PAUSELESS_S[figure.workload]) / PAUSE_S))


def of_looks(vendor, figure):
    took_s = figure.seconds or figure.landed or 0
    return int(took_s / LOOK_S[vendor]) if vendor in LOOK_S else 0


def column_of(vendor):
    return VENDORS.index("e2b" if vendor in PROGRAMS else vendor if vendor in VENDORS else COMMON)


def of_program(vendor, row):
    """The requests of a program's mounts; None: as E2B's."""
    return PROGRAMS.get(vendor, {}).get(row[1]) if row[0] == "mount and ls" else None


def of(vendor, figure):
    row = figure.workload, figure.phase
    column = column_of(vendor)
    requests = of_program(vendor, row) or REQUESTS[row][column]
    requests += of_stream(vendor, figure) + of_pauses(figure) + of_looks(vendor, figure)
    known = EXCESS[row][column] if row in EXCESS else 0
    excess = EXCESS_OF_PROGRAMS.get((vendor, row[0]), known)
    return Allowance(requests, excess, BYTES.get(row, NO_LIMIT))
