#!/usr/bin/python3
"""links.py - everyday work through links as people have them: slow, uneven, stalling, forgetful, and dying.

Prints a table: for each link and work the least time that the link allows (the floor), and for each system its seconds,
how many times the floor that is, requests and seconds of CPU. The floor is the round trips and the bytes, compressed,
that the work needs; of what is written the time is that when the server has it. All figures are also written as lines of
JSON.
"""
import argparse
import gzip
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import bench
import fixtures
import systems
import table
import workloads
from link import Link
from processes import Failure, run

LINKS = {
    "far": Link(200, 20),
    "stalls": Link(300, 10, up_mbit=2, stall_every_s=10),
    "satellite": Link(600, 10),
    "uneven": Link(30, 16, up_mbit=1),
    "forgetful": Link(40, 100, forget_s=20),
    "dying": Link(40, 100, dies=True),
}
# How each is reached: sshfs has TLS's place taken by ssh.
WAYS = {"plain": ("e2b", False), "tls": ("e2b", True), "sshfs": ("sshfs", False)}
READ, WRITTEN = 4_000_000, 1_000_000
STALL_S = 1

# ---- The works ----


@dataclass
class Need:
    """What a work cannot do without."""

    round_trips: int
    up: int = 0  # bytes
    down: int = 0

    def seconds(self, link):
        rate_down = link.mbit * 1e6 / 8
        rate_up = rate_down if link.up_mbit is None else link.up_mbit * 1e6 / 8
        moving = self.round_trips * link.round_trip_ms / 1e3 + self.up / rate_up + self.down / rate_down
        stalled = STALL_S / link.stall_every_s if link.stall_every_s else 0
        return moving / (1 - stalled)


def noise(seed, size):
    return random.Random(seed).randbytes(size)


def packed(data):
    return len(gzip.compress(data, 6))


def listing(b):
    """ls -lR of the project."""
    said = run(["ls", "-lR", b.fixtures / "project"], 60)
    b.needs(Need(1, down=packed(said)))
    yield from workloads.listing(b)


def read(b):
    """4 MB that do not compress."""
    data = noise(11, READ)
    (b.backend / "read.bin").write_bytes(data)
    b.needs(Need(1, down=READ))
    b.system.remount_cold()
    wanted = hashlib.sha256(data).hexdigest()
    command = workloads.python("print_digest", b.mountpoint / "read.bin")
    yield b.time("read", "cold", command, lambda output: output.decode().strip() == wanted)


def write(b):
    """1 MB that does not compress, and fsync."""
    new, landed = b.system.scratch / "new.bin", b.backend / "written.bin"
    new.write_bytes(noise(12, WRITTEN))
    b.needs(Need(1, up=WRITTEN))
    b.system.remount_cold()
    command = ["dd", f"if={new}", f"of={b.mountpoint}/written.bin", "bs=128k", "conv=fsync", "status=none"]
    yield b.time("write", "cold", command, has_landed=lambda: workloads.same(landed, new))
    b.remove("written.bin")


def untar(b):
    """200 small files."""
    b.needs(Need(1, up=packed((b.fixtures / "small.tar").read_bytes())))
    yield next(workloads.small_files(b))


def save(b):
    """20 saves of 20 kB, each with fsync and a rename."""
    each = packed(workloads.edition(1))
    b.needs(Need(workloads.SAVES, up=workloads.SAVES * each))
    yield from workloads.save(b)


WORKS = {"list": listing, "read": read, "write": write, "untar": untar, "save": save}

# ---- The links' troubles ----


class Trouble(threading.Thread):
    """What a link does to a work while the block lasts."""

    def __init__(self, relays, link, dies_after):
        super().__init__(daemon=True)
        self.relays, self.link, self.dies_after, self.over = relays, link, dies_after, threading.Event()

    def tell(self, command):
        for relay in self.relays:
            relay.tell(command)

    def run(self):
        if self.link.dies and not self.over.wait(self.dies_after):
            self.tell("lose")
        while self.link.stall_every_s and not self.over.wait(self.link.stall_every_s - STALL_S):
            self.tell(f"stall {STALL_S}")
            self.over.wait(STALL_S)

    def __enter__(self):
        self.start()

    def __exit__(self, *unused):
        self.over.set()
        self.join()


class Bench(workloads.Bench):
    """Only what is cold is measured: what is warm needs no link."""

    def needs(self, need):
        self.floor = need.seconds(self.system.link)

    def time(self, workload, phase, *arguments, **more):
        link = self.system.link
        if phase != "cold":
            return None
        time.sleep(link.forget_s + 1 if link.forget_s else 0)
        with Trouble(self.system.relays, link, self.floor / 2):
            return super().time(workload, phase, *arguments, **more)


def figures(system, chosen, root, facts, deadline):
    b = Bench(system, root, facts, deadline)
    for name in chosen:
        try:
            for figure in WORKS[name](b):
                if figure:
                    yield {"floor": b.floor, **figure.as_row()}
        except Failure as failure:
            yield {"floor": b.floor, **workloads.Figure(name, "cold", wrong=str(failure)).as_row()}
        system.unmount()


# ---- The table ----


def took(row):
    return row["landed"] or row["seconds"]


def cells(row):
    """Seconds, how many times the floor, requests, CPU."""
    if not row:
        return [table.MISSING] * 4
    seconds = took(row)
    if seconds is None or row["wrong"]:
        given_up = row["given_up_after"]
        return [f">{given_up:.0f}" if given_up else "failed", *[table.MISSING] * 3]
    times = f"{seconds / row['floor']:.1f}"
    return [table.short(seconds), times, str(row.get("requests", table.MISSING)), f"{row.get('cpu', 0):.2f}"]


def lines(rows, ways):
    found = {(row["work"], row["way"]): row for row in rows}
    yield ["", "floor", *(f"{way} {what}" for way in ways for what in ("s", "x", "requests", "cpu"))]
    for work in table.unique(row["work"] for row in rows):
        here = [found.get((work, way)) for way in ways]
        floor = next(row["floor"] for row in here if row)
        yield [work, table.short(floor), *(cell for row in here for cell in cells(row))]


def text(rows, ways):
    blocks = []
    for name in table.unique(row["name"] for row in rows):
        here = [row for row in rows if row["name"] == name]
        title = f"{name}: {words(LINKS[name])}"
        blocks.append("\n".join([title, *table.aligned(lines(here, ways))]))
    return "\n\n".join(blocks)


def words(link):
    said = [str(link)]
    if link.stall_every_s:
        said.append(f"nothing moves for {STALL_S} s of {link.stall_every_s:g}")
    if link.forget_s:
        said.append(f"connections idle for {link.forget_s:g} s are dead, and all were")
    if link.dies:
        said.append("all connections die at half of the floor")
    return "; ".join(said)


# ---- Running it ----


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    bench.choice(add, "--links", LINKS, list(LINKS))
    bench.choice(add, "--ways", WAYS, list(WAYS))
    bench.choice(add, "--workloads", WORKS, list(WORKS))
    add("--files", type=int, default=500, help="of the project (500)")
    add("--deadline", type=float, default=60, metavar="SECONDS", help="for each work (60)")
    add("--fixtures", default=bench.TOP / "build/bench", help="where the fixtures are kept (build/bench)")
    add("--results", default=bench.TOP / "build/bench/links.jsonl", help="where the lines of JSON go")
    add("--servers", default=bench.SERVERS, metavar="DIRECTORY", help="where the servers keep their files (in memory)")
    add("--relay", default=bench.TOP / "build/gcc-plain/tests/bin/relay", help="the program")
    add("--sandboxfs", default=bench.TOP / "build/bin/sandboxfs", help="the program")
    return parser.parse_args()


def measure(o, scratch, servers, results):
    root, facts = fixtures.make(o.fixtures, o.files)
    setting = bench.Setting(scratch, servers, os.path.abspath(o.relay), os.path.abspath(o.sandboxfs))
    for name in o.links:
        for way in o.ways:
            system_name, tls = WAYS[way]
            with systems.ALL[system_name](setting, replace(LINKS[name], tls=tls)) as system:
                for figure in figures(system, o.workloads, root, facts, o.deadline):
                    row = {"name": name, "way": way, "work": figure["workload"], **figure}
                    print(json.dumps(row), file=results, flush=True)
                    said = row["wrong"] or f"{table.short(took(row))} s"
                    print(f"{name}: {way}: {row['work']}: {said}", file=sys.stderr, flush=True)
                    yield row


def main():
    """Fails if a work of ours has a wrong result."""
    o = options()
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(143))
    signal.signal(signal.SIGHUP, lambda *unused: sys.exit(129))
    os.makedirs(o.fixtures, exist_ok=True)
    scratch = tempfile.TemporaryDirectory(prefix="sandboxfs-bench.")
    servers = tempfile.TemporaryDirectory(prefix="sandboxfs-bench.", dir=o.servers)
    with scratch as here, servers as there, open(Path(o.results), "w") as results:
        rows = list(measure(o, here, there, results))
    print(text(rows, o.ways))
    return 1 if any(row["wrong"] for row in rows if row["way"] != "sshfs") else 0


if __name__ == "__main__":
    sys.exit(main())
