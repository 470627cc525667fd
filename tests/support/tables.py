#!/usr/bin/python3
"""tables.py check|write: what documents repeat of figures that stand elsewhere in the repository.

check prints what differs, and fails where something does. A document has the lines between two
that name what they are of.
"""
import difflib
import itertools
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


# ---- Times beside sshfs: tests/bench/README.md ----------------------------------------------------

# Rows of its tables over ssh, by their titles, and what README.md calls them.
SHOWN = {
    "mount and the first `ls`": "mount, first `ls`",
    "`ls -lR` of 2,000 files": "`ls -lR`, 2,000 files",
    "`git status`, its index written in the sandbox": "`git status` of them",
    "`grep -r` over 16 MB in 2,000 files": "`grep -r` of them",
    "read 100 MB in sequence": "read 100 MB",
    "write 100 MB, fsync": "write 100 MB, fsync",
    "untar 200 files": "untar 200 files",
    "`git clone` of 2,000 files into the mount": "`git clone`, 2,000 files",
    "20 saves of an editor: write, fsync, rename": "20 saves, fsync",
    "200 random reads of 4 KiB in 100 MB": "200 random reads",
}
COLUMNS = [(link, system) for link in ("40 ms", "0 ms") for system in ("sandboxfs over ssh", "sshfs")]


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def measured(text):
    """By title: the seconds by link and system, as they stand there."""
    found, link, heads = {}, "", []
    for line in text.splitlines():
        if line.startswith("Round trip "):
            link = line.removeprefix("Round trip ").partition(",")[0]
        elif line.startswith("|  |"):
            heads = cells(line)
        elif line.startswith("|") and heads:
            title, *figures = cells(line)
            found.setdefault(title, {}).update(((link, head.removesuffix(", s")), figure) for head, figure in zip(heads[1:], figures))
    return found


def beside_sshfs():
    _, _, text = (TOP / "tests/bench/README.md").read_text().partition("<!-- measured by make bench: ssh -->\n")
    found = measured(text.partition("<!-- end of what was measured -->")[0])
    yield from ("", "| seconds | 40 ms: sandboxfs | sshfs | 0 ms: sandboxfs | sshfs |", "|---|---:|---:|---:|---:|")
    for title, name in SHOWN.items():
        yield "| " + " | ".join([name, *(found[title][column] for column in COLUMNS)]) + " |"
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
    ("README.md", "<!-- of tests/bench/README.md -->", "<!-- end of table -->", beside_sshfs),
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
