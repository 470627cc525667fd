#!/usr/bin/python3 -S
"""A helper program of a hostile sandbox: it answers requests, and what it answers is not so.

lying_links.py HELPER VERSION SECRET: takes the place of the helper program HELPER, which speaks
VERSION of the wire (providers/helper/wire.h), with links to the file SECRET of the user's machine.

What it says changes with the phase, a number in the file `phase` beside the program:

  trap    A symbolic link stands at the bottom of a deep directory, and in the root as `trap`. No
          listing has that. While `trap` is looked up alone it reports a change of the root, so that
          the answer is older than that.
  way     Likewise a directory that is also called `way` in the root, with a link in it.
  x/last  A link of the deep directory is also called x/first and x/last. In phase 3 the name
          x/first is gone, from phase 4 on x/last, while the text is asked for by another name.
  RISE    A directory with a link in it. When the text of that is asked for the attributes of the
          directory come into doubt, and the first question after them is answered when the file
          `hold` is gone: meanwhile a user moves the directory to the root, in phase 5.
"""
import base64
import fcntl
import os
import struct
import sys
import time
import zlib

VERSION, SECRET = 0, ""  # replaced by install()

ITEMS, END = 8, 9
HELLO, LIST, APPLY, WATCH = 2, 3, 5, 6
NOT_FOUND, UNSUPPORTED = 1, 22
READY, CHANGED, ATTR, ITEM = 1, 3, 4, 8
DIRECTORY, LINK = 0o40755, 0o120777
DEPTH = 12
DEEP = "/".join("d%d" % n for n in range(DEPTH))
ABOVE = "s0/s1/s2"
RISE = ABOVE + "/rise"
HERE = os.path.dirname(os.path.abspath(sys.argv[0]))
is_armoured = False
request_id = 0


def install(helper, version, secret):
    with open(__file__) as file:
        text = file.read()
    constants = "VERSION, SECRET = %d, %r" % (int(version), secret)
    text = text.replace('VERSION, SECRET = 0, ""', constants, 1)
    size = os.stat(helper).st_size
    with open(helper + ".lies", "w") as file:
        file.write(text + "#" * (size - len(text)))
    os.chmod(helper + ".lies", 0o755)
    os.rename(helper + ".lies", helper)


# ---- The wire ----


def number(value, size):
    return (int(value) & (1 << 8 * size) - 1).to_bytes(size, "little")


def string(text):
    text = os.fsencode(text)
    return number(len(text), 4) + text + b"\0"


def moment(seconds):
    return number(seconds, 8) + number(0, 4)


def attributes(node):
    inode, mode, links = node["inode"], node["mode"], node.get("links", 2)
    changed = node.get("changed", 1500000000)
    owner = number(os.getuid(), 4) + number(os.getgid(), 4)
    return (
        number(1, 8) + number(inode, 8) + number(0, 8) + number(mode, 4) + number(links, 4) + owner
        + number(0, 8) + number(node.get("size", 0), 8) + number(0, 8) + number(4096, 4)
        + moment(changed) * 3 + number(1, 1)
    )


def room():
    blocks = number(4096, 8) + number(1 << 30, 8) * 3
    return blocks + number(1 << 20, 8) * 2 + number(255, 4) + number(0, 1)


def write(data):
    out = sys.stdout.buffer
    if is_armoured:
        lines = [data[at : at + 768] for at in range(0, len(data), 768)]
        data = b"".join(base64.b64encode(line) + b"\n" for line in lines)
    out.write(data)
    out.flush()


def send(kind, payload):
    header = b"SbX" + number(VERSION, 1) + number(request_id, 4) + number(kind, 4)
    write(header + number(len(payload), 4) + payload)


def end(kind=0, text=""):
    return number(kind, 2) + string(text)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, size):
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def string(self):
        length = self.number(4)
        self.at += length + 1
        return os.fsdecode(self.data[self.at - length - 1 : self.at - 1])


# ---- What is told of the tree ----


def phase():
    with open(HERE + "/phase") as file:
        return int(file.read())


def climb(ups):
    text = "../" * ups + SECRET.lstrip("/")
    return {"mode": LINK, "link": text, "size": len(text)}


ROOT = {"inode": 2, "mode": DIRECTORY}
NODES = {"": ROOT, "x": {"inode": 90, "mode": DIRECTORY}}
for n in range(DEPTH):
    NODES["/".join("d%d" % n for n in range(n + 1))] = {"inode": 100 + n, "mode": DIRECTORY}
NODES[DEEP + "/link"] = NODES["trap"] = {"inode": 50, **climb(DEPTH)}
NODES[DEEP + "/way"] = NODES["way"] = {"inode": 60, "mode": DIRECTORY}
NODES[DEEP + "/way/link"] = NODES["way/link"] = {"inode": 61, "links": 1, **climb(DEPTH + 1)}
OTHER = {"inode": 70, "silent": True, **climb(DEPTH)}
NODES[DEEP + "/other"] = NODES["x/first"] = NODES["x/last"] = OTHER


for n in range(3):
    NODES[ABOVE[: 3 * n + 2]] = {"inode": 80 + n, "mode": DIRECTORY}
NODES[RISE] = NODES["rise"] = {"inode": 85, "mode": DIRECTORY}
# From the root of the mount, which is beside the secret, the text leads to it by the way above.
WAY_UP = "../../../../" + "/".join(SECRET.split("/")[-3:])
RISING = {"inode": 86, "mode": LINK, "link": WAY_UP, "size": len(WAY_UP), "links": 1, "silent": True}
NODES[RISE + "/link"] = NODES["rise/link"] = RISING


def is_there(path):
    """Of what a user moves in phase 5, which becomes phase 6."""
    if path.startswith("rise"):
        return phase() >= 6
    return not path.startswith(RISE) or phase() < 6


def is_listed(path):
    now = phase()
    if path in ("trap", "way"):
        return False
    if path == DEEP + "/other":
        return now >= 1
    if path == "x/last":
        return 2 <= now < 4
    return path != "x/first" or now < 3


def is_complete(path):
    return path != "" and not (path == "x" and phase() >= 4)


def link_of(node):
    is_told = "link" in node and not node.get("silent")
    return string(node["link"]) if is_told else number(0xFFFFFFFF, 4)


def hold(path):
    if path == RISE + "/link" and phase() == 5 and count("rising") == 0:
        open(HERE + "/hold", "w").close()
        post(number(ATTR, 1) + number(1, 1) + string(RISE) + number(0, 1))
        time.sleep(0.3)  # so that it is known before the answer
    elif path.startswith(ABOVE) and os.path.exists(HERE + "/hold") and count("held") == 0:
        while os.path.exists(HERE + "/hold"):
            time.sleep(0.01)


def self_of(start, path):
    hold(path)
    node = NODES.get(path) if is_there(path) else None
    if path in ("trap", "way"):
        changed = attributes({**ROOT, "changed": time.time() + 5})
        post(number(ATTR, 1) + number(1, 1) + string("") + number(1, 1) + changed)
        time.sleep(0.2)  # so that it is known before the answer
    if phase() >= 4 and path == "x/last" and count("asked") >= 1:
        node = None
    if node is None:
        return number(1, 1) + number(start, 4) + number(NOT_FOUND, 2)
    tells = node is RISING or (phase() >= 4 and path == DEEP + "/other")
    link = string(node["link"]) if tells else link_of(node)
    return number(1, 1) + number(start, 4) + number(0, 2) + attributes(node) + link + number(0, 4)


def entries_of(path):
    above = path + "/" if path else ""
    for other in NODES:
        is_in = other and other.startswith(above) and "/" not in other[len(above) :]
        if is_in and is_listed(other) and is_there(other):
            yield other


def directory(start, path, depth):
    """Breadth first, as records."""
    left = [(path, depth)]
    while left:
        path, depth = left.pop(0)
        yield number(2, 1) + number(start, 4) + string(path)
        for entry in entries_of(path):
            node = NODES[entry]
            name = string(entry.rsplit("/", 1)[-1])
            yield number(3, 1) + number(start, 4) + name + attributes(node) + link_of(node)
            if node["mode"] == DIRECTORY and depth > 1:
                left.append((entry, depth - 1))
        yield number(4, 1) + number(start, 4) + number(0, 2) + number(is_complete(path), 1)


def listing(request):
    depth = request.number(4)
    request.at += 4 + 8 + 8
    starts = [request.string() for _ in range(request.number(4))]
    for start, path in enumerate(starts):
        yield self_of(start, path)
    for start, path in enumerate(starts):
        if depth and path in NODES and is_there(path) and NODES[path]["mode"] == DIRECTORY:
            yield from directory(start, path, depth)
    yield number(5, 1) + number(0, 4) + moment(time.time()) + room()


# ---- Events, which any process of it hands to the one that watches ----


def count(name):
    with open(HERE + "/count." + name, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        value = len(file.read())
        file.write("1")
    return value


def post(event):
    name = HERE + "/event.%d" % count("events")
    with open(name + ".new", "wb") as file:
        file.write(event)
    os.rename(name + ".new", name)


def watch(request):
    send(ITEMS, number(READY, 1) + number(0, 1) + string("") + number(0, 1))
    request.at += 16
    if request.at < len(request.data):
        for record in listing(request):
            send(ITEMS, number(ITEM, 1) + record)
    told, alive = 0, time.time()
    while True:
        name = HERE + "/event.%d" % told
        if os.path.exists(name):
            with open(name, "rb") as file:
                send(ITEMS, file.read())
            told += 1
        elif time.time() - alive > 3:
            send(ITEMS, b"")
            alive = time.time()
        else:
            time.sleep(0.005)


# ---- Requests ----


def move(request):
    """Whatever is asked for in phase 5 is done, which is that the directory is moved."""
    request.at += 16 + 8 + 1 + 8 + 4 * 8 + 8
    changes = request.number(4)
    with open(HERE + "/phase", "w") as file:
        file.write("6")
    send(ITEMS, (number(0, 2) + string("") + number(0, 8) + number(0, 8) + number(0, 4)) * changes)
    send(END, end())


def answer(kind, request):
    if kind == HELLO:
        owner = number(os.getuid(), 4) + number(os.getgid(), 4) + number(0, 4)
        root = attributes(ROOT) + room() + moment(time.time())
        send(ITEMS, number(VERSION, 4) + number(1, 1) + owner + root)
    elif kind == LIST:
        for record in listing(request):
            send(ITEMS, record)
    elif kind == WATCH:
        watch(request)
    elif kind == APPLY and phase() == 5:
        return move(request)
    send(END, end() if kind in (HELLO, LIST) else end(UNSUPPORTED, "a lie"))


def brought(options):
    """What comes in a file, which is whole when it has its size."""
    path, size = options["-w"], int(options["-n"])
    while not os.path.exists(path) or os.path.getsize(path) < size:
        time.sleep(0.005)
    with open(path, "rb") as file:
        data = file.read()
    os.unlink(path)
    return zlib.decompress(data, 31) if "-z" in options else data


def main(arguments):
    global is_armoured, request_id
    data, options = b"", {}
    while arguments and arguments[0].startswith("-"):
        option = arguments.pop(0)
        is_armoured |= option == "-a"
        if option in ("-a", "-q"):
            continue
        options[option] = arguments.pop(0)
        if option == "-r":
            data += base64.b64decode(options[option])
    if "-w" in options:
        data = brought(options)
    payload = b""
    while data:
        request_id, length = struct.unpack("<4xI4xI", data[:16])
        kind, payload, data = data[8], payload + data[16 : 16 + length], data[16 + length :]
        if kind != 1:  # no more of it follows
            answer(kind, Reader(payload))
            payload = b""


if SECRET:
    main(sys.argv[2:])
    sys.exit(0)
install(*sys.argv[1:])
sys.exit(0)
