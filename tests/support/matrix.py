"""matrix.py LOGS - prints tests/matrix.txt: vendor by condition, the test that asserts it, and how that ended last.

The exit status is 1 where a test that it names is not there, or failed. With --names only the first is looked at.
"""
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def rows():
    with open(os.path.join(TOP, "tests/matrix.txt"), encoding="utf-8") as table:
        for line in table:
            if line.strip() and not line.startswith("#"):
                yield [cell.strip() for cell in line.split("|", 3)]


def sources(layer):
    for folder, _, names in os.walk(os.path.join(TOP, "tests", layer)):
        for name in names:
            if name.endswith(".c"):
                with open(os.path.join(folder, name), encoding="utf-8") as source:
                    yield source.read()


def is_there(test, assertion):
    if not test.startswith("unit:"):
        return os.access(os.path.join(TOP, test.rsplit(":", 1)[-1]), os.X_OK)
    suite, name = assertion.split("::")
    wanted = re.compile(r"\bTest\(%s, %s\b" % (suite, name))
    return any(wanted.search(text) for text in sources(test.split(":")[1]))


def outcome(logs, test, assertion):
    """Of the last run that has a log of it: "passed", "FAILED", "skipped"; "not run"."""
    try:
        with open(os.path.join(logs, re.sub(r"[^A-Za-z0-9_.]", "-", test) + ".log"), encoding="utf-8", errors="replace") as log:
            text = log.read()
    except OSError:
        return "not run"
    lines = [line for line in text.splitlines() if assertion in line] if assertion else text.splitlines()
    if any(line.startswith("not ok") for line in lines):
        return "FAILED"
    if any(re.match(r"1\.\.0\b", line) for line in lines):
        return "skipped"
    return "passed" if any(line.startswith("ok") for line in lines) else "not run"


def main():
    names_only = sys.argv[1] == "--names"
    wrong = []
    for condition, vendor, test, assertion in rows():
        if test == "-":
            ended, test = "-", assertion
        elif not is_there(test, assertion):
            ended = "MISSING"
        else:
            ended = "there" if names_only else outcome(sys.argv[1], test, assertion)
        if ended in ("MISSING", "FAILED"):
            wrong.append(f"{condition}, {vendor}: {test} {assertion}: {ended}")
        if not names_only:
            print(f"{condition:<22} {vendor:<10} {ended:<8} {test} {assertion if test != assertion else ''}".rstrip())
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
