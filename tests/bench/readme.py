#!/usr/bin/python3
"""readme.py README RESULTS... - puts the figures that runs of bench.py wrote as JSON into their table in tests/bench/README.md.

Of several runs the tables of the same link become one; a figure of a later run replaces that of an earlier. Runs with `ssh`
have a place of their own.
"""
import json
import sys
from pathlib import Path

import table

BEGIN, OF_SSH = "<!-- measured by make bench -->\n", "<!-- measured by make bench: ssh -->\n"
END = "<!-- end of what was measured -->\n"


def merged(results):
    rows = [json.loads(line) for path in results for line in Path(path).read_text().splitlines()]
    return list({(row["link"], row["workload"], row["phase"], row["system"]): row for row in rows}.values())


def main(readme, *results):
    text, rows = Path(readme).read_text(), merged(results)
    place = OF_SSH if any(row["system"] == "ssh" for row in rows) else BEGIN
    before, begin, rest = text.partition(place)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{readme}: no place for the table: {place.strip()} ... {END.strip()}")
    Path(readme).write_text(before + begin + table.markdown(rows) + end + after)


if __name__ == "__main__":
    main(*sys.argv[1:])
