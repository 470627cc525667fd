#!/usr/bin/python3 -S
"""
A helper whose answers are frames as they should be, and lies. `lying_helper.py FILE` takes the place of a helper that is
stored in a sandbox; there it is run as that helper. What it tells of is below, and depends on the number in ~/.lies/phase;
~/.lies/events is sent as events once it is there. The listing
of what ~/.lies/hold names is held until ~/.lies/held has gone.
"""
import base64
import os
import stat
import struct
import sys
import time
import zlib

VERSION = 17
ITEMS, END = 8, 9
HELLO, LIST, FETCH, APPLY, WATCH = 2, 3, 4, 5, 6
NOT_FOUND, IO = 1, 26
READY, CREATED, REMOVED, ITEM = 1, 2, 5, 8
NOW = int(time.time())
LIES = os.path.expanduser("~/.lies/")
DIRECTORY, FILE, LINK = stat.S_IFDIR | 0o755, stat.S_IFREG | 0o644, stat.S_IFLNK | 0o777


def u8(v):
    return struct.pack("<B", v)


def u16(v):
    return struct.pack("<H", v)


def u32(v):
    return struct.pack("<I", v)


def u64(v):
    return struct.pack("<Q", v)


def text(x):
    x = x if isinstance(x, bytes) else x.encode()
    return u32(len(x)) + x + b"\0"


def optional(x):
    return u32(0xFFFFFFFF) if x is None else text(x)


def moment(seconds, ns=0):
    return u64(seconds & 0xFFFFFFFFFFFFFFFF) + u32(ns)


def attr(ino, mode, size=0, dev=1, nlink=2, ctime=NOW - 1000, ns=0, **_):
    times = moment(NOW - 1000) + moment(NOW - 1000, ns) + moment(ctime)
    facts = u64(dev) + u64(ino) + u64(0) + u32(mode) + u32(nlink) + u32(0) + u32(0) + u64(0)
    return facts + u64(size) + u64(8) + u32(4096) + times + u8(0)


def space():
    return u64(4096) + u64(1 << 30) + u64(1 << 29) * 2 + u64(1 << 20) + u64(1 << 19) + u32(255) + u8(0)


def frame(kind, payload=b"", number=1):
    return b"SbX" + u8(VERSION) + u32(number) + u8(kind) + b"\0\0\0" + u32(len(payload)) + payload


def self_item(start, a, err=0):
    return u8(1) + u32(start) + u16(err) + (b"" if err else attr(**a) + optional(a.get("link")) + u32(0))


def dir_item(start, path):
    return u8(2) + u32(start) + text(path)


def entry(start, name, a):
    return u8(3) + u32(start) + text(name) + attr(**a) + optional(a.get("link"))


def dir_end(start, complete=1):
    return u8(4) + u32(start) + u16(0) + u8(complete)


def list_end(seconds=NOW):
    return u8(5) + u32(0) + moment(seconds) + space()


def event(kind, path, is_dir=0):
    """Without attributes, and, of what was made, without the name that it had before."""
    return u8(kind) + u8(is_dir) + text(path) + u8(0) + (u8(0) if kind == CREATED else b"")


class Decoder:
    def __init__(self, raw):
        self.raw, self.at = raw, 0

    def take(self, count):
        self.at += count
        return self.raw[self.at - count : self.at]

    def number(self, count):
        return int.from_bytes(self.take(count), "little")

    def text(self):
        out = self.take(self.number(4)).decode()
        self.at += 1
        return out

    def list_request(self):
        depth, _, _, _ = self.number(4), self.number(4), self.number(8), self.number(8)
        return depth, [self.text() for _ in range(self.number(4))]


# ---- What it tells of ----

ROOT = dict(ino=2, mode=DIRECTORY, size=4096)
NODES = {
    "": ROOT,
    "circle": dict(ino=10, mode=DIRECTORY),
    "circle/x": dict(ino=11, mode=DIRECTORY),
    "honest": dict(ino=12, mode=DIRECTORY),
    "honest/f": dict(ino=13, mode=FILE),
}
A_FILE = dict(ino=20, mode=FILE)
A_DIRECTORY = dict(ino=21, mode=DIRECTORY)
# A directory each, and the entries that it has.
ENTRIES = {
    "slash": [("a/b", A_FILE)],
    "dot": [(".", A_DIRECTORY)],
    "dots": [("..", A_DIRECTORY)],
    "empty": [("", A_FILE)],
    "nul": [(b"a\0b", A_FILE)],
    "long": [("n" * 256, A_FILE)],
    "typeless": [("f", dict(ino=20, mode=0o644))],
    "huge": [("f", dict(ino=20, mode=FILE, size=1 << 63))],
    "no-time": [("f", dict(ino=20, mode=FILE, ns=1000000000))],
    "far-time": [("f", dict(ino=20, mode=FILE, ctime=1 << 62))],
    "no-number": [("f", dict(ino=0, mode=FILE))],
    "long-link": [("l", dict(ino=20, mode=LINK, link="x" * 5000))],
    "no-link": [("f", dict(ino=20, mode=FILE, link="x"))],
    "twice": [("f", A_FILE), ("f", dict(ino=22, mode=FILE))],
    "root": [("root", ROOT)],
    "itself": [("itself", None)],
    "parent": [("d", dict(ino=12, mode=DIRECTORY))],
}
for n, (name, _) in enumerate(ENTRIES.items()):
    NODES[name] = dict(ino=100 + n, mode=DIRECTORY)
ENTRIES["itself"] = [("itself", NODES["itself"])]
# And those whose listing is none.
SHAPES = {
    "elsewhere": lambda i: dir_item(i, "honest") + entry(i, "g", A_FILE) + dir_end(i),
    "nested": lambda i: dir_item(i, "nested") + dir_item(i, "nested/d"),
    "ended": lambda i: dir_end(i),
    "over": lambda i: list_end(),
    "strange-start": lambda i: dir_item(1000000, "strange-start"),
    "no-end": lambda i: dir_item(i, "no-end") + entry(i, "f", A_FILE),
}
for n, name in enumerate(SHAPES):
    NODES[name] = dict(ino=200 + n, mode=DIRECTORY)


def phase():
    with open(LIES + "phase") as f:
        return int(f.read())


def is_there(name):
    """In the end all but the circle, and before that only what is no lie yet."""
    if name.startswith("circle"):
        return name != "circle" or not phase()
    return name.startswith("honest") or phase() == 2


def children(path):
    below = path + "/" if path else ""
    for name in NODES:
        if name and name.startswith(below) and "/" not in name[len(below) :] and is_there(name):
            yield name[len(below) :], NODES[name]


def listing(start, path):
    if path in SHAPES:
        return SHAPES[path](start)
    entries = ENTRIES.get(path) or list(children(path))
    items = b"".join(entry(start, name, a) for name, a in entries)
    return dir_item(start, path) + items + dir_end(start)


def is_held(path):
    try:
        with open(LIES + "hold") as f:
            return f.read().strip() == path
    except FileNotFoundError:
        return False


def hold(start, path):
    """It comes when it is no news any more, and has what is above it as entries."""
    os.rename(LIES + "hold", LIES + "held")
    while os.path.exists(LIES + "held"):
        time.sleep(0.05)
    lies = {"y": NODES["circle"], "z": NODES["circle/x"], "root": ROOT}
    return dir_item(start, path) + b"".join(entry(start, *lie) for lie in lies.items()) + dir_end(start, 0)


def answer_list(depth, starts, put):
    for n, path in enumerate(starts):
        put(self_item(n, NODES[path]) if path in NODES else self_item(n, None, NOT_FOUND))
    for n, path in enumerate(starts):
        if depth and is_held(path):
            put(hold(n, path))
        elif depth and path in NODES and stat.S_ISDIR(NODES[path]["mode"]):
            put(listing(n, path))
    put(list_end())


# ---- As a helper ----


def send(raw):
    sys.stdout.buffer.write(raw)
    sys.stdout.buffer.flush()


def put(records):
    send(frame(ITEMS, records))


def watch(request):
    put(event(READY, ""))
    if request:
        answer_list(*request, lambda records: [put(u8(ITEM) + r) for r in cut(records)])
    last = time.time()
    while True:
        if os.path.exists(LIES + "events"):
            os.rename(LIES + "events", LIES + "sent")
            with open(LIES + "sent") as f:
                put(b"".join(event(*told(line)) for line in f))
        if time.time() - last > 2:
            send(frame(ITEMS))
            last = time.time()
        time.sleep(0.02)


def told(line):
    kind, path = line.split()
    return int(kind), path, int(kind) == REMOVED


def cut(records):
    """One record a time, as an event takes them."""
    whole, records = records, Decoder(records)
    while records.at < len(whole):
        begin = records.at
        kind = records.number(1)
        records.take(4)
        if kind == 1 and not records.number(2):
            skip_node(records)
            records.take(4)
        elif kind == 2:
            records.text()
        elif kind == 3:
            records.take(records.number(4) + 1)
            skip_node(records)
        elif kind == 4:
            records.take(3)
        elif kind == 5:
            records.take(len(moment(0)) + len(space()))
        yield whole[begin : records.at]


def skip_node(records):
    records.take(len(attr(**A_FILE)))
    count = records.number(4)
    if count != 0xFFFFFFFF:
        records.take(count + 1)


def end(kind=0, why=""):
    send(frame(END, u16(kind) + text(why)))


def answer(kind, payload):
    d = Decoder(payload)
    if kind == HELLO:
        put(u32(VERSION) + u8(1) + u32(0) * 3 + attr(**ROOT) + space() + moment(NOW))
    elif kind == LIST:
        answer_list(*d.list_request(), put)
    elif kind == WATCH:
        d.take(16)
        watch(d.list_request() if d.at < len(payload) else None)
    else:
        return end(IO, "not by this helper")
    end()


def requests(arguments):
    raw, options = b"", {}
    while arguments and arguments[0].startswith("-"):
        option = arguments.pop(0)
        if option == "-r":
            raw += base64.b64decode(arguments.pop(0))
        elif option not in ("-a", "-q"):
            options[option] = arguments.pop(0)
    if "-w" in options:
        while os.path.getsize(options["-w"]) != int(options["-n"]):
            time.sleep(0.01)
        with open(options["-w"], "rb") as f:
            raw = f.read()
        raw = zlib.decompress(raw, 31) if "-z" in options else raw
    part = b""
    while raw:
        size = struct.unpack("<I", raw[12:16])[0]
        kind, part, raw = raw[8], part + raw[16 : 16 + size], raw[16 + size :]
        if kind != 1:
            yield kind, part
            part = b""


def install(path):
    with open(__file__, "rb") as f:
        lies = f.read() + b"#"
    size = os.path.getsize(path)
    assert len(lies) < size
    with open(path + ".new", "wb") as f:
        f.write(lies.ljust(size, b"#"))
    os.chmod(path + ".new", 0o755)
    os.rename(path + ".new", path)


if len(sys.argv) == 2 and sys.argv[1] != "--version":
    install(sys.argv[1])
elif len(sys.argv) > 2:
    for request in requests(sys.argv[2:]):
        answer(*request)
