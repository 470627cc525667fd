#!/usr/bin/python3
"""bench.py - the workloads on each file system, through a slow link and through a fast one.

Prints a table of seconds, how many times as long the others took, requests and bytes. All figures are also written as
lines of JSON, and beside these a picture of the times (.svg) and a table in Markdown (.md). Requests are those the test
server counted; of what goes over ssh, the messages that the client sent.
"""
import argparse
import json
import os
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import fixtures
import plot
import systems
import table
import workloads
from floor import Floor
from link import Link
from processes import Failure

TOP = Path(__file__).resolve().parents[2]
FAR, NEAR = Link(40, 100), Link(0, 0)
SYSTEMS = {**systems.ALL, Floor.name: Floor}
# Without a choice. A disk that has just removed as many files as it is to make looks long for an inode (ext4 does): that
# would be measured in the place of the systems.
SERVERS = "/dev/shm" if os.path.isdir("/dev/shm") else None


@dataclass
class Setting:
    """What the systems are made of."""

    scratch: str
    servers: str  # what the servers keep is below this
    relay: str
    sandboxfs: str


def a_list(known):
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"no {name}; there are {', '.join(known)}")
        return names

    return parse


def a_link(text):
    round_trip_ms, _, mbit = text.partition(":")
    return Link(float(round_trip_ms), float(mbit or 0))


def choice(add, option, known, default):
    names = f"of {', '.join(known)} ({','.join(default) if len(default) < len(known) else 'all'})"
    add(option, type=a_list(known), default=default, metavar="A,B", help=names)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    choice(add, "--systems", SYSTEMS, systems.COMPARED)
    choice(add, "--workloads", workloads.ALL, list(workloads.ALL))
    add("--links", type=a_link, nargs="+", default=[FAR, NEAR], metavar="MS:MBIT", help="of these (40:100 0:0)")
    add("--files", type=int, default=2000, help="of the project (2000)")
    add("--deadline", type=float, default=300, metavar="SECONDS", help="for each step (300)")
    add("--reference", default=None, metavar="SYSTEM", help="whose times the ratios are to (the first)")
    add("--fixtures", default=TOP / "build/bench", help="where the fixtures are kept (build/bench)")
    add("--results", default=TOP / "build/bench/results.jsonl", help="where the lines of JSON go")
    add("--servers", default=SERVERS, metavar="DIRECTORY", help="where the servers keep their files (in memory)")
    add("--relay", default=TOP / "build/gcc-plain/tests/bin/relay", help="the program")
    add("--sandboxfs", default=TOP / "build/bin/sandboxfs", help="the program")
    return parser.parse_args()


def until_given_up(figures):
    """What took too long once is not tried again."""
    for figure in figures:
        yield figure
        if figure.given_up_after:
            return


def figures(system, chosen, root, facts, deadline):
    """All that can be had: a workload that fails takes none of the others with it."""
    bench = workloads.Bench(system, root, facts, deadline)
    for name in chosen:
        if system.workloads and name not in system.workloads:
            continue
        try:
            yield from until_given_up(workloads.ALL[name](bench))
        except Failure as failure:
            yield workloads.Figure(name, "cold", wrong=str(failure))
        system.unmount()


def tell(link, name, figure):
    result = figure.wrong or f"{table.short(figure.seconds)} s"
    print(f"{link}: {name}: {figure.workload}, {figure.phase}: {result}", file=sys.stderr, flush=True)


def measure(o, scratch, servers, results):
    root, facts = fixtures.make(o.fixtures, o.files)
    setting = Setting(scratch, servers, os.path.abspath(o.relay), os.path.abspath(o.sandboxfs))
    for link in o.links:
        for name in o.systems:
            with SYSTEMS[name](setting, link) as system:
                for figure in figures(system, o.workloads, root, facts, o.deadline):
                    row = {"system": name, "link": str(link), **figure.as_row()}
                    print(json.dumps(row), file=results, flush=True)
                    tell(link, name, figure)
                    yield row


def write_beside(results, rows):
    results.with_suffix(".svg").write_text(plot.svg(rows))
    results.with_suffix(".md").write_text(table.markdown(rows))


def main():
    """Fails if the reference has a wrong result; what others get wrong is only shown."""
    o = options()
    reference = o.reference or o.systems[0]
    # So that everything is taken down.
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(143))
    signal.signal(signal.SIGHUP, lambda *unused: sys.exit(129))
    os.makedirs(o.fixtures, exist_ok=True)
    scratch = tempfile.TemporaryDirectory(prefix="sandboxfs-bench.")
    servers = tempfile.TemporaryDirectory(prefix="sandboxfs-bench.", dir=o.servers)
    with scratch as here, servers as there, open(o.results, "w") as results:
        rows = list(measure(o, here, there, results))
    write_beside(Path(o.results), rows)
    print(table.text(rows, reference))
    return 1 if any(row["wrong"] for row in rows if row["system"] == reference) else 0


if __name__ == "__main__":
    sys.exit(main())
