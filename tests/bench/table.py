"""The figures as one table for each link: the quantities from left to right, for each the systems side by side."""

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


def text(rows, reference):
    """`rows` as bench.py writes them; ratios are to the system `reference`."""
    blocks = []
    for link in unique(row["link"] for row in rows):
        here = [row for row in rows if row["link"] == link]
        blocks.append("\n".join([f"Round trip {link}", *aligned(lines(here, reference))]))
    return "\n\n".join([*blocks, LEGEND])
