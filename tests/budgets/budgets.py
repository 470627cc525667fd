#!/usr/bin/python3
"""budgets.py - the requests that everyday work takes, counted by the vendors' test servers and held against allowances.

Prints a table for each vendor and fails when a work takes more than it may (allowed.py), or goes wrong. Where an allowance
is not always reached, that is said, and the run fails when it takes more than is known. The counts do not depend on how
fast the machine is, but where it stops in the middle of a work: changes that follow each other closely go together.
"""
import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "bench"))

import allowed
import fixtures
import vendors
import works
from link import Link
from processes import Failure
from workloads import Bench, Figure

TOP = HERE.parents[1]
FILES = 2000
HEADS = ["work", "allowed", "counted", "bytes", ""]


@dataclass
class Setting:
    """What a system needs to know (tests/bench/system.py)."""

    scratch: str
    servers: str
    sandboxfs: str
    relay: str = None
    given: tuple = None  # a sandbox that a program reaches (vendors.Program)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--vendors", default=",".join(vendors.NAMES), metavar="A,B", help="of these (all)")
    add("--works", default=",".join(work.__name__ for work in works.ALL), metavar="A,B", help="of these (all)")
    add("--few", action="store_true", help="leave out ls, git and grep on 20,000 files")
    add("--jobs", type=int, default=os.cpu_count(), help="vendors at a time (as many as there are processors)")
    add("--deadline", type=float, default=600, metavar="SECONDS", help="for each step (600)")
    add("--fixtures", default=TOP / "build/bench", help="where the fixtures are kept (build/bench)")
    add("--given", nargs=3, metavar=("SOURCE", "DIRECTORY", "LOG"), help="the sandbox of one that a program reaches")
    add("--sandboxfs", default=TOP / "build/bin/sandboxfs", help="the program")
    return parser.parse_args()


def figures_of(work, bench):
    try:
        yield from work(bench)
    except (Failure, OSError) as failure:
        yield Figure(work.__name__, "", wrong=str(failure))
    bench.system.unmount()


def measure(vendor, o, setting, root, facts):
    """All figures of a vendor; none where its test server cannot run."""
    chosen = [work for work in works.ALL if work.__name__ in o.works.split(",") and not (o.few and work in works.MANY)]
    try:
        with (vendors.Program if o.given else vendors.Vendor)(vendor, setting, Link(0, 0)) as system:
            bench = Bench(system, root, facts, o.deadline, is_timed=False)
            return [figure for work in chosen for figure in figures_of(work, bench)]
    except vendors.Absent as absent:
        print(f"{vendor}: skipped: {absent}", flush=True)
        return []
    except Failure as failure:
        return [Figure(vendor, "", wrong=str(failure))]


def verdict(vendor, figure):
    """What stands beside the counts, and whether it fails the run."""
    if figure.wrong:
        return figure.wrong, True
    return allowed.of(vendor, figure).judge(figure.counters)


def row_of(vendor, figure):
    words, fails = verdict(vendor, figure)
    counted, cells = figure.counters, ["-", "-", "-"]
    if counted:
        cells = [str(allowed.of(vendor, figure).requests), str(counted["requests"]), f"{counted['bytes']:,}"]
    return [f"{figure.workload}, {figure.phase}", *cells, words], fails


def aligned(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    for name, *numbers, words in rows:
        right = (f"{cell:>{width}}" for cell, width in zip(numbers, widths[1:]))
        yield "  ".join([f"{name:<{widths[0]}}", *right, words]).rstrip()


def tell(vendor, figures):
    """Prints the vendor's table; whether something in it fails the run."""
    rows = [row_of(vendor, figure) for figure in figures]
    print("\n".join([vendor, *aligned([HEADS, *(cells for cells, _ in rows)]), ""]), flush=True)
    return any(fails for _, fails in rows)


def failing(names, jobs, count):
    """The vendors of `names` in whose table something fails; `jobs` are counted at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        return [vendor for vendor, figures in zip(names, pool.map(count, names)) if tell(vendor, figures)]


def main():
    o = options()
    os.makedirs(o.fixtures, exist_ok=True)
    root, facts = fixtures.make(o.fixtures, FILES)
    with tempfile.TemporaryDirectory(prefix="sandboxfs-budgets.", dir=os.environ.get("TMPDIR", "/var/tmp")) as scratch:
        os.chmod(scratch, 0o755)
        setting = Setting(scratch, f"{scratch}/servers", os.path.abspath(o.sandboxfs), given=o.given)
        count = lambda vendor: measure(vendor, o, setting, root, facts)
        failed = failing(o.vendors.split(","), o.jobs, count)
    print(f"budgets: {'FAILED: ' + ', '.join(failed) if failed else 'all kept'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
