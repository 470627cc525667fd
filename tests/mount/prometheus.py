"""Reads Prometheus' text format and holds it against its rules, as `promtool check metrics` does.

    prometheus.py               complains of what is on standard input
    prometheus.py SAMPLE        prints the value of that sample, "name" or 'name{label="value"}'
"""
import re
import sys

LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*)(\{{{LABEL}(?:,{LABEL})*\}})? (\S+)")
COMMENT = re.compile(r"# (HELP|TYPE) (\S+) (.+)")
TYPES = ("counter", "gauge", "histogram")
NOT_BASE = re.compile(r"_(ms|milliseconds|us|microseconds|minutes|kilobytes|kb|mb|megabytes|percent)(_|$)")


class Wrong(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Wrong(what)


def family_of(name, types):
    """The metric that a sample belongs to: those of a histogram have a suffix."""
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    return base if types.get(base) == "histogram" else name


def parse(text):
    """The types and the samples, in order; each metric stands together, after its help and its type."""
    helps, types, samples, done, now = {}, {}, {}, set(), None
    require(text.endswith("\n"), "the last line has no end")
    for line in text.splitlines():
        if comment := COMMENT.fullmatch(line):
            kind, name, rest = comment.groups()
            require(name not in (helps if kind == "HELP" else types), f"{name}: two of {kind}")
            (helps if kind == "HELP" else types)[name] = rest
            continue
        sample = SAMPLE.fullmatch(line)
        require(sample, f"neither a comment nor a sample: {line}")
        family = family_of(sample[1], types)
        require(family in helps and family in types, f"{family}: no help or no type before it")
        require(family not in done, f"{family}: its samples do not stand together")
        if family != now:
            done, now = done | {now}, family
        key = sample[1] + (sample[2] or "")
        require(key not in samples, f"{key}: twice")
        samples[key] = float(sample[3])
    require(set(helps) == set(types), "a help without a type")
    return types, samples


def check_name(name, kind):
    require(kind in TYPES, f"{name}: type {kind}")
    require(name == name.lower(), f"{name}: not in small letters")
    require(name.endswith("_total") == (kind == "counter"), f"{name}: _total and {kind}")
    require(not re.search(r"_(bucket|sum|count)$", name), f"{name}: a histogram's ending")
    require(not NOT_BASE.search(name), f"{name}: not a base unit")
    require(kind not in name.split("_"), f"{name}: its type in its name")


def check_histogram(name, samples):
    """Of each set of labels: cumulative buckets, the last of which is the count."""
    buckets = {}
    for key, value in samples.items():
        if bucket := re.fullmatch(rf'{name}_bucket\{{(.*?),?le="([^"]+)"\}}', key):
            buckets.setdefault(bucket[1], []).append((float(bucket[2]), value))
    require(buckets, f"{name}: no buckets")
    for labels, row in buckets.items():
        require(row == sorted(row) and row[-1][0] == float("inf"), f"{name}: buckets of {labels}")
        require([count for _, count in row] == sorted(count for _, count in row), f"{name}: not cumulative: {labels}")
        require(samples[f"{name}_count{{{labels}}}"] == row[-1][1], f"{name}: count of {labels}")
        require(samples[f"{name}_sum{{{labels}}}"] >= 0, f"{name}: sum of {labels}")


def check(types, samples):
    for name, kind in types.items():
        check_name(name, kind)
        if kind == "histogram":
            check_histogram(name, samples)
    require(all(value >= 0 for value in samples.values()), "a value below zero")


def main():
    types, samples = parse(sys.stdin.read())
    if len(sys.argv) > 1:
        print(f"{samples[sys.argv[1]]:g}")
    else:
        check(types, samples)


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"prometheus.py: {wrong}")
