"""The figures as one table for each link: the quantities from left to right, for each the systems side by side.

As text for a terminal, and as Markdown for tests/bench/README.md, which has fewer quantities and says what the workloads are.
"""

MISSING = "-"


def short(number):
    if number is None:
        return MISSING
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}" if number >= 0.1 else f"{number:.3f}"


def seconds(row, _):
    """A time with a wrong result is marked, since it may be short because something was left out."""
    if row["seconds"] is None:
        return f">{row['given_up_after']:.0f}" if row["given_up_after"] else "failed"
    return short(row["seconds"]) + ("!" if row["wrong"] else "")


def ratio(row, reference):
    """How many times as long as the reference, or at least so many times."""
    time = row["seconds"] or row["given_up_after"]
    if row is reference or not time or not reference or not reference["seconds"]:
        return MISSING
    times = time / reference["seconds"]
    return f"{'' if row['seconds'] else '>'}{times:.{0 if times >= 10 else 1}f}"


def landed(row, _):
    return short(row["landed"])


def requests(row, _):
    return str(row.get("requests", MISSING))


def megabytes(row, _):
    return f"{(row['bytes_up'] + row['bytes_down']) / 1e6:.2f}" if "bytes_up" in row else MISSING


QUANTITIES = {"seconds": seconds, "ratio": ratio, "landed": landed, "requests": requests, "MB": megabytes}
LEGEND = "landed: seconds until the server had it; !: with a wrong result; >: given up; MB: both ways on the link"


def unique(values):
    return list(dict.fromkeys(values))


def lines(rows, reference):
    names = unique(row["system"] for row in rows)
    found = {(row["workload"], row["phase"], row["system"]): row for row in rows}
    yield ["", *(quantity if i == 0 else "" for quantity in QUANTITIES for i, _ in enumerate(names))]
    yield ["", *(name for _ in QUANTITIES for name in names)]
    for key in unique((row["workload"], row["phase"]) for row in rows):
        here = [found.get((*key, name)) for name in names]
        compared = found.get((*key, reference))
        cells = (cell(row, compared) if row else MISSING for cell in QUANTITIES.values() for row in here)
        yield [", ".join(key), *cells]


def aligned(table):
    table = list(table)
    widths = [max(map(len, column)) for column in zip(*table)]
    for name, *cells in table:
        right = (f"{cell:>{width}}" for cell, width in zip(cells, widths[1:]))
        yield "  ".join([f"{name:<{widths[0]}}", *right]).rstrip()


# ---- Markdown ----

TITLES = {
    ("mount", "first"): "mount and `ls` for the first time ever",
    ("mount", "cold"): "mount and the first `ls`",
    ("list", "cold"): "`ls -lR` of 2,000 files",
    ("list", "warm"): "again",
    ("status", "first"): "`git status`, its index written in the sandbox",
    ("status", "cold"): "`git status`, its index written through a mount before",
    ("status", "warm"): "again",
    ("grep", "cold"): "`grep -r` over 16 MB in 2,000 files",
    ("grep", "warm"): "again",
    ("read", "cold"): "read 100 MB in sequence",
    ("read", "warm"): "again",
    ("random", "cold"): "200 random reads of 4 KiB in 100 MB",
    ("write", "cold"): "write 100 MB, fsync",
    ("untar", "cold"): "untar 200 files",
    ("remove", "warm"): "`rm -rf` of them",
    ("checkout", "cold"): "`git checkout` of a branch that differs in 500 files",
    ("clone", "cold"): "`git clone` of 2,000 files into the mount",
    ("packages", "cold"): "5,000 small files by eight threads, as npm writes them",
    ("save", "cold"): "20 saves of an editor: write, fsync, rename",
    ("patch", "cold"): "one byte changed in 100 MB, fsync",
}
# As people know them.
NAMES = {"e2b": "sandboxfs", "ssh": "sandboxfs over ssh", "floor": "the floor", "disk": "local disk"}
IN_MARKDOWN = {"s": seconds, "landed s": landed, "requests": requests, "MB": megabytes}


def columns(rows):
    """Those of which there is a figure."""
    names = unique(row["system"] for row in rows)
    for quantity, cell in IN_MARKDOWN.items():
        for name in names:
            if any(cell(row, None) != MISSING for row in rows if row["system"] == name):
                yield quantity, cell, name


def markdown_lines(rows):
    shown = list(columns(rows))
    found = {(row["workload"], row["phase"], row["system"]): row for row in rows}
    measured = {(row["workload"], row["phase"]) for row in rows}
    yield ["", *(f"{NAMES.get(name, name)}, {quantity}" for quantity, _, name in shown)]
    yield ["---", *("---:" for _ in shown)]
    # In one order, whichever run they are of.
    for key in (key for key in TITLES if key in measured):
        here = [(cell, found.get((*key, name))) for _, cell, name in shown]
        yield [TITLES[key], *(cell(row, None) if row else MISSING for cell, row in here)]


def markdown(rows):
    """`rows` as bench.py writes them."""
    blocks = []
    for link in unique(row["link"] for row in rows):
        here = [row for row in rows if row["link"] == link]
        lines_here = ("| " + " | ".join(cells) + " |" for cells in markdown_lines(here))
        blocks.append("\n".join([f"Round trip {link}:", "", *lines_here]))
    return "\n\n".join([*blocks, LEGEND[0].upper() + LEGEND[1:] + ".", ""])


# ---- Text ----


def text(rows, reference):
    """`rows` as bench.py writes them; ratios are to the system `reference`."""
    blocks = []
    for link in unique(row["link"] for row in rows):
        here = [row for row in rows if row["link"] == link]
        blocks.append("\n".join([f"Round trip {link}", *aligned(lines(here, reference))]))
    return "\n\n".join([*blocks, LEGEND])
