"""The seconds as a picture: one panel for each link, in it a group of bars for each workload, on a logarithmic scale."""
import math
from html import escape

import table

WIDTH, LEFT, RIGHT = 900, 170, 80
BAR, BETWEEN, HEAD, AXIS = 12, 10, 34, 30
# Distinct for the colour-blind, too (Okabe and Ito); the last for whatever comes after.
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#999999", "#cc79a7", "#d55e00"]
STYLE = "text{font:11px sans-serif;fill:#222}.head{font-weight:bold;font-size:13px}.grid{stroke:#ddd}"


def time_of(row):
    """What a bar shows: where it was given up, as far as it came."""
    return row["seconds"] or row["given_up_after"]


class Scale:
    """From seconds to a place, in whole decades around all that is shown."""

    def __init__(self, times):
        self.first = math.floor(math.log10(min(times)))
        self.last = max(self.first + 1, math.ceil(math.log10(max(times))))

    def x(self, seconds):
        part = (math.log10(seconds) - self.first) / (self.last - self.first)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def decades(self):
        return range(self.first, self.last + 1)


def text(x, y, words, anchor="start", kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def bar(scale, y, row, colour):
    end = scale.x(time_of(row))
    faint = "" if row["seconds"] and not row["wrong"] else ' fill-opacity="0.35"'
    yield f'<rect x="{LEFT}" y="{y + 1}" width="{end - LEFT:.1f}" height="{BAR - 2}" fill="{colour}"{faint}/>'
    yield text(end + 4, y + BAR - 2, table.seconds(row, None))


def grid(scale, top, bottom):
    for decade in scale.decades():
        x = scale.x(10.0**decade)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" class="grid"/>'
        yield text(x, bottom + 14, f"{10.0**decade:g} s", "middle")


def groups(rows):
    """The rows of each workload and phase, in the order of the run."""
    return {key: [row for row in rows if (row["workload"], row["phase"]) == key]
            for key in table.unique((row["workload"], row["phase"]) for row in rows)}  # fmt: skip


def panel(link, rows, scale, colours, top):
    """Its elements, and where it ends."""
    shown = groups([row for row in rows if time_of(row)])
    y = top + HEAD
    height = sum(len(group) * BAR + BETWEEN for group in shown.values())
    elements = [text(LEFT, top + 20, f"Round trip {link}", kind="head"), *grid(scale, y, y + height)]
    for key, group in shown.items():
        elements.append(text(LEFT - 8, y + len(group) * BAR / 2 + 4, ", ".join(key), "end"))
        for row in group:
            elements += bar(scale, y, row, colours[row["system"]])
            y += BAR
        y += BETWEEN
    return elements, y + AXIS


def legend(colours):
    for i, (name, colour) in enumerate(colours.items()):
        x = LEFT + i * 110
        yield f'<rect x="{x}" y="8" width="12" height="12" fill="{colour}"/>'
        yield text(x + 17, 18, table.NAMES.get(name, name))


def svg(rows):
    """`rows` as bench.py writes them."""
    names = table.unique(row["system"] for row in rows)
    colours = {name: COLOURS[min(i, len(COLOURS) - 1)] for i, name in enumerate(names)}
    times = [time_of(row) for row in rows if time_of(row)]
    elements, bottom = list(legend(colours)), 30
    for link in table.unique(row["link"] for row in rows if times):
        here = [row for row in rows if row["link"] == link]
        more, bottom = panel(link, here, Scale(times), colours, bottom)
        elements += more
    size = f'width="{WIDTH}" height="{bottom}" viewBox="0 0 {WIDTH} {bottom}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style><rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, *elements, "</svg>", ""])
