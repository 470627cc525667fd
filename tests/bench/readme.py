#!/usr/bin/python3
"""readme.py RESULTS README - puts the table that bench.py wrote in Markdown into its place in README.md."""
import sys
from pathlib import Path

BEGIN, END = "<!-- measured by make bench -->\n", "<!-- end of what was measured -->\n"


def main(results, readme):
    text = Path(readme).read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{readme}: no place for the table: {BEGIN.strip()} ... {END.strip()}")
    Path(readme).write_text(before + begin + Path(results).read_text() + end + after)


if __name__ == "__main__":
    main(*sys.argv[1:])
