"""mixing.py SHOWN STORE ROUNDS - files that somebody in the sandbox appends to and replaces while they are read.

Every line of a file says over and over which edition it is of and where it stands, so that bytes of two editions, bytes from
elsewhere and zeroes are seen at once. A round is one file read whole through the mount, in pieces of any size and in any order, while at
some moment in between a process on the other side makes a change. A reader may be told to start over (ESTALE), and what he
reads may be old; what he reads is one edition from its first line on. Afterwards everything is shown as it is.
"""
import errno
import os
import random
import sys
import time
from pathlib import Path

# Lines after which a file is begun anew: small files come together, of large ones at times the ends first.
FILES = {"one": 400, "two": 400, "three": 400, "four": 30, "five": 3, "both.index": 200, "both.pack": 3000, "large": 3000}
READERS = 3
LINE = 1000
SHOWN_WITHIN = 60
# What a reader may be told of a file that was removed or replaced meanwhile.
STARTS_OVER = (errno.ESTALE, errno.ENOENT)
# Of one file over and over: each time it was removed or replaced.
STARTS_MAX = 1000


def line_of(name, edition, number):
    text = b"%s %08d %08d " % (name, edition, number)
    return (text * (LINE // len(text) + 1))[: LINE - 1] + b"\n"


def lines(name, edition, first, count):
    return b"".join(line_of(name, edition, number) for number in range(first, first + count))


# ---- In the sandbox ----


class File:
    def __init__(self, path, lines_max):
        self.path, self.lines_max, self.edition, self.lines = path, lines_max, 0, 0
        self.replace(lines_max // 2)

    def replace(self, count):
        self.edition, self.lines = self.edition + 1, count
        new = self.path.with_name("new")
        new.write_bytes(lines(self.path.name.encode(), self.edition, 0, count))
        new.rename(self.path)

    def append(self, count):
        with open(self.path, "ab", buffering=0) as file:
            file.write(lines(self.path.name.encode(), self.edition, self.lines, count))
        self.lines += count


class Asking:
    """Readers ask for changes, and wait where so many of these were not made yet."""

    AHEAD = 4

    def __init__(self):
        (self.asked, self.asks), (self.made, self.makes) = os.pipe(), os.pipe()
        os.write(self.makes, b"x" * self.AHEAD)

    def ask(self):
        os.read(self.made, 1)
        os.write(self.asks, b"x")

    def end(self):
        os.close(self.asks)

    def changes(self):
        """One for each that is asked for, until nobody asks any more."""
        self.end()
        while os.read(self.asked, 1):
            yield
            os.write(self.makes, b"x")


def change(files, asking, chance):
    for _ in asking.changes():
        file = chance.choice(files)
        if file.lines > file.lines_max or chance.random() < 0.3:
            file.replace(chance.randrange(file.lines_max))
        else:
            file.append(chance.choice([1, 3, 70]))


# ---- Through the mount ----


def pieces(size, chance):
    """[begin, end) of all pieces; the last one goes beyond the end."""
    length = chance.choice([1000, 4096, 50000, 131072, 1 << 20])
    found = [(begin, begin + length) for begin in range(0, size + 1, length)]
    if chance.random() < 0.3:
        chance.shuffle(found)
    return found


def read_whole(path, asking, chance):
    """As much as there was when it was opened, at least; a change is asked for before one of the pieces."""
    fd = os.open(path, os.O_RDONLY)
    try:
        parts = pieces(os.fstat(fd).st_size, chance)
        asks_before = chance.randrange(len(parts))
        read = {}
        for number, (begin, end) in enumerate(parts):
            if number == asks_before:
                asking.ask()
            read[begin] = os.pread(fd, end - begin, begin)
        return read
    finally:
        os.close(fd)


def assembled(read):
    """What came, up to the first piece that ended before its end did."""
    whole = b""
    for begin in sorted(read):
        if begin > len(whole):
            break
        whole += read[begin]
    return whole


def why_wrong(name, whole):
    if not whole:
        return None
    edition = int(whole[len(name) + 1:][:8]) if whole[len(name) + 1:][:8].isdigit() else 0
    wanted = lines(name, edition, 0, len(whole) // LINE + 1)[: len(whole)]
    if whole == wanted:
        return None
    at = next(n for n in range(len(whole)) if whole[n] != wanted[n])
    return f"{name.decode()}: at {at} of {len(whole)}: {whole[at - at % LINE:][:64]} in edition {edition}"


def one_round(path, asking, chance):
    """How often it was started."""
    for start in range(1, STARTS_MAX):
        try:
            read = read_whole(path, asking, chance)
        except OSError as failure:
            if failure.errno not in STARTS_OVER:
                raise
            continue
        wrong = why_wrong(path.name.encode(), assembled(read))
        if wrong:
            sys.exit(wrong)
        return start
    sys.exit(f"{path.name}: started over {STARTS_MAX} times")


def read_often(shown, rounds, asking, chance):
    for _ in range(rounds):
        one_round(shown / chance.choice(list(FILES)), asking, chance)


# ---- All of it ----


def child(function, *arguments):
    pid = os.fork()
    if pid:
        return pid
    try:
        function(*arguments)
        os._exit(0)
    except SystemExit as wrong:
        print(wrong, flush=True)
    except Exception as failure:
        print(f"{function.__name__}: {failure!r}", flush=True)
    os._exit(1)


def has_ended_well(pid):
    return os.waitpid(pid, 0)[1] == 0


def differs(shown, stored):
    try:
        return shown.read_bytes() != stored.read_bytes()
    except OSError as failure:
        if failure.errno not in STARTS_OVER:
            raise
        return True


def differing(shown, store):
    return [path.name for path in store.iterdir() if differs(shown / path.name, path)]


def is_shown(shown, store):
    end = time.monotonic() + SHOWN_WITHIN
    while differing(shown, store):
        if time.monotonic() > end:
            print("is not shown as it is:", *differing(shown, store))
            return False
    return True


def main(shown, store, rounds):
    shown, store = Path(shown), Path(store)
    files = [File(store / name, lines_max) for name, lines_max in FILES.items()]
    asking = Asking()
    writer = child(change, files, asking, random.Random(1))
    readers = [child(read_often, shown, rounds // READERS, asking, random.Random(2 + n)) for n in range(READERS)]
    asking.end()
    ended_well = [has_ended_well(pid) for pid in [*readers, writer]]
    return 0 if all(ended_well) and is_shown(shown, store) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
