#!/usr/bin/python3
"""tables.py check|write: what documents repeat of figures that stand elsewhere in the repository.

check prints what differs, and fails where something does. A document has the lines between two
that name what they are of.
"""
import difflib
import itertools
import math
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/budgets"))

import allowed

# ---- The requests that a work may take: tests/budgets/allowed.py ---------------------------------


def counts(requests):
    if len(set(requests)) == 1:
        return f"every provider {requests[0]}"
    return ", ".join(f"`{vendor}:` {count}" for vendor, count in zip(allowed.VENDORS, requests))


def budgets():
    for (work, phase), requests in allowed.REQUESTS.items():
        yield f".It {work}, {phase}"
        yield counts(requests)


# ---- The picture of times: tests/bench/README.md -------------------------------------------------

# Rows of the tables for the first link, by their titles, and what README.md calls them.
SHOWN = {
    "mount and the first `ls`": "mount, first ls",
    "`ls -lR` of 2,000 files": "ls -lR, 2,000 files",
    "`git status`, its index written in the sandbox": "git status of them",
    "`grep -r` over 16 MB in 2,000 files": "grep -r of them",
    "read 100 MB in sequence": "read 100 MB",
    "write 100 MB, fsync": "write 100 MB, fsync",
    "untar 200 files": "untar 200 files",
    "20 saves of an editor: write, fsync, rename": "20 saves, fsync",
    "200 random reads of 4 KiB in 100 MB": "200 random reads",
}
SYSTEMS = ("sandboxfs", "sshfs")
# A bar begins here and grows by so many characters for each factor of ten.
LEAST_S, DECADE = 0.02, 8


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def measured(text):
    """By title: each system's seconds, as they stand in the tables of the first link."""
    found, heads = {}, []
    for line in text.split("Round trip 0 ms")[0].splitlines():
        if line.startswith("|  |"):
            heads = cells(line)
        elif line.startswith("|") and heads:
            title, *figures = cells(line)
            by_head = dict(zip(heads[1:], figures))
            found.setdefault(title, {name: by_head.get(f"{name}, s") for name in SYSTEMS})
    return found


def bar(figure):
    seconds = float(figure.strip(">!"))
    return "#" * max(1, round(DECADE * math.log10(seconds / LEAST_S)))


def picture():
    found = measured((TOP / "tests/bench/README.md").read_text())
    yield ""
    for title, name in SHOWN.items():
        for system in SYSTEMS:
            figure = found[title][system]
            yield f"    {name:<20} {system:<9} {figure:>6} s {bar(figure)}".rstrip()
            name = ""
    yield ""


# ---- The variables that are read: providers/variables.c ------------------------------------------


def shortest(names):
    """As a shell's braces say them: what all of these begin with, then the rest of each."""
    start = names[0].split("_")[0] + "_"
    rests = [name.removeprefix(start) for name in names]
    return names[0] if len(names) == 1 else f"{start}{{{','.join(rests)}}}"


def variables():
    rows = re.findall(r'^\t\{ "(\w*)", "(\w+)", VARIABLE_', (TOP / "providers/variables.c").read_text(), re.M)
    yield ""
    for provider, of_provider in itertools.groupby(rows, lambda row: row[0]):
        alike = {}
        for _, name in of_provider:
            alike.setdefault(name.split("_")[0], []).append(name)
        yield f"    {provider or 'all':<10} {' '.join(map(shortest, alike.values()))}"
    yield ""


# ---- Where they stand ----------------------------------------------------------------------------

PARTS = [
    ("tools/man/sandboxfs-providers.7.in",
     '.\\" budgets: tests/budgets/allowed.py', '.\\" end of budgets', budgets),
    ("README.md", "<!-- variables -->", "<!-- end -->", variables),
    ("README.md", "<!-- picture of tests/bench/README.md -->", "<!-- end of picture -->", picture),
]


def with_lines(text, begin, end, lines, path):
    before, begin, rest = text.partition(begin + "\n")
    _, end, after = rest.partition(end + "\n")
    if not begin or not end:
        sys.exit(f"{path}: no place for the lines of its table")
    return before + begin + "\n".join([*lines, end]) + after


def main(what):
    differs = False
    for path, begin, end, lines in PARTS:
        text = (TOP / path).read_text()
        made = with_lines(text, begin, end, lines(), path)
        if what == "write":
            (TOP / path).write_text(made)
        elif text != made:
            differs = True
            told = difflib.unified_diff(text.splitlines(), made.splitlines(), path, lineterm="", n=0)
            print("\n".join(told))
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
