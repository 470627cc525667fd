"""A mixed load on a mount whose process is killed, and a model of what was acknowledged until then.

    crash.py run MOUNT MODEL PID SEED OPEN   works below MOUNT until PID is killed, at a moment that SEED chooses; so many
                                             files that were written to are open then. PID 0: it dies by itself
    crash.py check DIRECTORY MODEL           whether DIRECTORY has just what was acknowledged
    crash.py watch DIRECTORY                 looks for new files that are there in part, until it is killed, and tells of one

The model is a file that each run goes on with. Each call is one change: of the one that did not return either is right,
that it was done and that it was not; all before it were done, once. The kernel may hand on a write in two parts, the
first of which ends with a page: then that alone is right, too, and the call may return with that.
"""
import copy
import itertools
import json
import os
import random
import signal
import stat
import sys
import threading
import time

# Of a write: less than the kernel hands on at once, most times.
WRITE_MAX = 60_000
LATEST_KILL_S = 2
# Who is to die by itself does so by then.
PATIENCE_S = 60
NAMES = 12
# Files that are written from one end to the other before they are closed, and then left alone: their names begin so, and
# their texts with how long they are.
WHOLE, WHOLE_MOST, LENGTH = "w", 6, 8
PAGE = os.sysconf("SC_PAGE_SIZE")


def content(chance):
    return "%x" % chance.getrandbits(chance.choice([40, 4000, 4 * WRITE_MAX - 4]))


def write(fd, text, *at):
    """All of it in one call, at an offset if one is given."""
    data = text.encode()
    if (os.pwrite if at else os.write)(fd, data, *at) < len(data):
        raise OSError("it was written in part")


def is_whole_one(path):
    return os.path.basename(path).startswith(WHOLE)


class Steps:
    """Each method chooses calls by the model `tree`: how each is made, and what it makes of the model; None: nothing to do.

    The model: a path's node is a list of what it is ("dir", "file", "link"), its mode, and its text.
    """

    def __init__(self, root, tree, chance, open_at_once):
        self.root, self.tree, self.chance, self.open_at_once = root, tree, chance, open_at_once
        self.descriptors = []

    def some(self, *kinds, whole=False):
        return self.chance.choice(sorted(path for path, node in self.tree.items()
                                         if node[0] in kinds and is_whole_one(path) == whole) or [None])

    def new(self):
        path = os.path.normpath(f"{self.some('dir')}/n{self.chance.randrange(NAMES)}")
        return path if path not in self.tree else None

    def at(self, path):
        return f"{self.root}/{path}"

    def open_and(self, path, flags, call):
        self.descriptors.append(os.open(self.at(path), flags, 0o644))
        call(self.descriptors[-1])
        while len(self.descriptors) > self.open_at_once:
            os.close(self.descriptors.pop(0))

    def make_directory(self):
        if path := self.new():
            return lambda: os.mkdir(self.at(path), 0o755), lambda tree: tree.update({path: ["dir", 0o755, ""]})

    def make_file(self):
        if path := self.new():
            made = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            return (lambda: self.open_and(path, made, lambda fd: None),
                    lambda tree: tree.update({path: ["file", 0o644, ""]}))

    def write_all(self, path, flags, text):
        """Calls that open it so, write the text, and close it."""
        opened, pieces = [], [text[at:at + WRITE_MAX] for at in range(0, len(text), WRITE_MAX)]

        def writes(piece, end):
            return (lambda: write(opened[0], piece),
                    lambda tree: tree.update({path: [*tree[path][:2], text[:end]]}))

        return [(lambda: opened.append(os.open(self.at(path), os.O_WRONLY | flags, 0o644)),
                 lambda tree: tree.update({path: ["file", tree.get(path, ["file", 0o644])[1], ""]})),
                *[writes(piece, number * WRITE_MAX + len(piece)) for number, piece in enumerate(pieces)],
                (lambda: os.close(opened[0]), lambda tree: None)]

    def make_whole_file(self):
        if sum(map(is_whole_one, self.tree)) >= WHOLE_MOST:
            return self.remove_one(self.some("file", whole=True))
        path = os.path.normpath(f"{self.some('dir')}/{WHOLE}{self.chance.getrandbits(64):x}")
        text = "".join(content(self.chance) for _ in range(self.chance.choice([1, 3, 20])))
        return self.write_all(path, os.O_CREAT | os.O_EXCL, f"{LENGTH + len(text):0{LENGTH}x}{text}")

    def write_anew(self):
        if path := self.some("file"):
            return self.write_all(path, os.O_TRUNC, content(self.chance) + content(self.chance))

    def make_link(self):
        if path := self.new():
            text = f"to-{self.chance.randrange(1000)}"
            return lambda: os.symlink(text, self.at(path)), lambda tree: tree.update({path: ["link", 0o777, text]})

    def append(self):
        if path := self.some("file"):
            text = content(self.chance)
            return (lambda: self.open_and(path, os.O_WRONLY | os.O_APPEND, lambda fd: write(fd, text)),
                    lambda tree: tree[path].__setitem__(2, tree[path][2] + text))

    def overwrite(self):
        if path := self.some("file"):
            text, old = content(self.chance), self.tree[path][2]
            at = self.chance.randrange(len(old) + 1)
            return (lambda: self.open_and(path, os.O_WRONLY, lambda fd: write(fd, text, at)),
                    lambda tree: tree[path].__setitem__(2, old[:at] + text + old[at + len(text):]))

    def cut(self):
        if path := self.some("file"):
            size = self.chance.randrange(len(self.tree[path][2]) + 1)
            return (lambda: os.truncate(self.at(path), size),
                    lambda tree: tree[path].__setitem__(2, tree[path][2][:size]))

    def change_mode(self):
        if path := self.some("file"):
            mode = self.chance.choice([0o600, 0o640, 0o644, 0o755])
            return lambda: os.chmod(self.at(path), mode), lambda tree: tree[path].__setitem__(1, mode)

    def rename(self):
        old, new = self.some("file", "link"), self.new() or self.some("file")
        if old and new and old != new:
            return lambda: os.rename(self.at(old), self.at(new)), lambda tree: tree.update({new: tree.pop(old)})

    def rename_directory(self):
        old, new = self.some("dir"), self.new()
        if old != "." and new and not f"{new}/".startswith(f"{old}/"):
            def move(tree):
                for path in [path for path in tree if f"{path}/".startswith(f"{old}/")]:
                    tree[new + path[len(old):]] = tree.pop(path)

            return lambda: os.rename(self.at(old), self.at(new)), move

    def remove_one(self, path):
        return lambda: os.unlink(self.at(path)), lambda tree: tree.pop(path)

    def remove(self):
        if path := self.some("file", "link"):
            return self.remove_one(path)

    def sync(self):
        if path := self.some("file"):
            return lambda: self.open_and(path, os.O_RDONLY, os.fsync), lambda tree: None

    KINDS = [make_directory, make_file, make_file, make_whole_file, write_anew, make_link, append, append, overwrite, cut, change_mode, rename,
             rename_directory, remove, sync]  # fmt: skip

    def choose(self):
        while True:
            if step := self.chance.choice(self.KINDS)(self):
                return step if isinstance(step, list) else [step]


def load(model):
    try:
        with open(model) as file:
            return json.load(file)
    except FileNotFoundError:
        return [{".": ["dir", 0o755, ""]}]


def save(model, states):
    with open(model, "w") as file:
        json.dump(states, file)


def run(mount, model, pid, seed, open_at_once):
    chance = random.Random(seed)
    [tree] = load(model)
    steps, count = Steps(mount, tree, chance, int(open_at_once)), 0
    # A moment of the machine's, not of the trace's.
    kill_s, end_s = chance.uniform(0, LATEST_KILL_S), time.monotonic() + PATIENCE_S
    if int(pid):
        threading.Timer(kill_s, os.kill, (int(pid), signal.SIGKILL)).start()
    for call, effect in itertools.chain.from_iterable(iter(steps.choose, None)):
        after = copy.deepcopy(tree)
        effect(after)
        try:
            call()
        except OSError as error:
            print(f"{count} calls were acknowledged; the next ended with {error}")
            return save(model, [tree, after])
        tree.clear()
        tree.update(after)
        count += 1
        if time.monotonic() > end_s:
            sys.exit(f"it lives on after {count} calls")


def found(root):
    """The tree on disk, as the model has it."""
    tree = {".": ["dir", 0o755, ""]}
    for folder, directories, names in os.walk(root):
        for name in directories + names:
            path = os.path.join(folder, name)
            is_link = os.path.islink(path)
            kind = "link" if is_link else "dir" if os.path.isdir(path) else "file"
            text = os.readlink(path) if is_link else "" if kind == "dir" else open(path, encoding="latin-1").read()
            tree[os.path.relpath(path, root)] = [kind, stat.S_IMODE(os.lstat(path).st_mode), text]
    return tree


def whole_ones(root):
    return {os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names if is_whole_one(name)}


def watch(directory):
    """What is there already may be what a crash has left of one."""
    old = {os.path.basename(path) for path in whole_ones(directory)}
    while True:
        for path in whole_ones(directory):
            try:
                text = open(path, encoding="latin-1").read()
            except (FileNotFoundError, NotADirectoryError):
                continue
            if os.path.basename(path) not in old and int(text[:LENGTH] or "0", 16) != len(text):
                print(f"{path}: {len(text)} bytes of it are there: {text[:LENGTH]!r}")
                return
        time.sleep(0.001)


def shown(node):
    return node and f"{node[0]} {node[1]:o} {len(node[2])} bytes {node[2][:30]!r}"


def partly(tree, before, after):
    """Whether but for one file, of which a part of what was to be written is there, it is `before`."""
    wrong = [path for path in {*tree, *before} if tree.get(path) != before.get(path)]
    if len(wrong) != 1 or not all(wrong[0] in state for state in (tree, before, after)):
        return False
    old, new = before[wrong[0]][2], after[wrong[0]][2]
    return any(tree[wrong[0]] == [*before[wrong[0]][:2], new[:end] + old[end:]] for end in range(0, len(new), PAGE))


def check(directory, model):
    states, tree = load(model), found(directory)
    if tree in states or partly(tree, states[0], states[-1]):
        return save(model, [tree])
    for path in sorted({*tree, *states[0]}):
        if tree.get(path) != states[0].get(path):
            print(f"{path}: is {shown(tree.get(path))}, was acknowledged {shown(states[0].get(path))}, "
                  f"or {shown(states[-1].get(path))}")
    save(model, [tree])
    sys.exit(1)


if __name__ == "__main__":
    {"run": run, "check": check, "watch": watch}[sys.argv[1]](*sys.argv[2:])
