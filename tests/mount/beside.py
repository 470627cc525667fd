"""A mount and a second writer change the same files and move the same directories while the link is down; then the mount
is killed.

    beside.py run MOUNT STORE LEDGER PID SEED CUT...    makes a tree that both sides know; then the command CUT ends what
                                                        travels between MOUNT and STORE, and both sides change the tree
                                                        until PID is killed, at a moment that SEED chooses
    beside.py check MOUNT STORE LEDGER                  whether, once the next mount has sent what is left, STORE has what
                                                        both sides are owed, and MOUNT shows it

Each write has a text of its own, a token. The mount cannot know of what the second writer does, so no change of the
mount's may take away a token of the second writer, and no file has a new token of both sides. What the mount
acknowledged is in STORE, once, where nothing was reported as refused. Where the second writer did nothing STORE has
just what was acknowledged, or that and the one call that did not return.
"""
import json
import math
import os
import random
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections import Counter

# Most mounts die with few changes pending: the more there are, the more depends on a change that is refused.
EARLIEST_KILL_S, LATEST_KILL_S = 0.01, 1
DIRECTORIES = ["a", "a/b", "c"]
FILES = [f"{directory}/{name}" for directory in DIRECTORIES for name in "fg"] + ["top"]
NAMES = ["a", "b", "c", "d", "e"]
LATER_STEPS = 4
# For the next mount to send what is left.
PATIENCE_S = 120
# Of old contents, of the mount's, of the second writer's: that it added, or that began the file anew.
OLD, OURS, ADDED, THEIRS = "old", "our", "add", "new"
TOKEN = re.compile(r"<(?:old|our|add|new) \d{6}>\n")


def read(path):
    with open(path, encoding="latin-1") as file:
        return file.read()


def tree_of(root):
    """By path: what a file has, None for a directory, and the permissions."""
    tree = {}
    for folder, directories, names in os.walk(root):
        directories[:] = [name for name in directories if not name.startswith(".sandboxfs")]
        for name in directories + names:
            path = os.path.join(folder, name)
            mode = os.lstat(path)
            text = None if stat.S_ISDIR(mode.st_mode) else read(path)
            tree[os.path.relpath(path, root)] = [text, stat.S_IMODE(mode.st_mode)]
    return tree


class Side:
    """Changes below `root`. `tree`: what is there, by path, a list of the text (None: a directory) and the mode."""

    def __init__(self, root, chance, tree):
        self.root, self.chance, self.tree, self.count = root, chance, tree, 0
        self.last = None
        self.log = []

    def at(self, path):
        return f"{self.root}/{path}"

    def token(self, kind):
        self.count += 1
        return f"<{kind} {self.count:06d}>\n"

    def files(self):
        return sorted(path for path, node in self.tree.items() if node[0] is not None)

    def directories(self):
        return sorted(path for path, node in self.tree.items() if node[0] is None)

    def note(self, kind, **about):
        """What a check that fails shows."""
        self.log.append(" ".join([type(self).__name__, kind.__name__, *map(str, about.values())]))

    def file(self):
        """Most times the one that was changed last, wherever it is by now."""
        is_there = self.tree.get(self.last, [None])[0] is not None
        if is_there and self.chance.random() < 0.6:
            return self.last
        self.last = self.chance.choice(self.files() or [None])
        return self.last

    def new(self):
        """A path that is free."""
        directory = self.chance.choice([".", *self.directories()])
        path = os.path.normpath(f"{directory}/{self.chance.choice(NAMES)}")
        return path if path not in self.tree else None

    def directory_to_move(self):
        """One above the file that was changed last, more often than not."""
        above = [path for path in self.directories() if self.last and f"{self.last}/".startswith(f"{path}/")]
        old, new = self.chance.choice(above * 3 + self.directories() or [None]), self.new()
        return (old, new) if old and new and not f"{new}/".startswith(f"{old}/") else (None, None)

    def moved(self, tree, old, new):
        for path in [path for path in tree if f"{path}/".startswith(f"{old}/")]:
            tree[new + path[len(old):]] = tree.pop(path)

    def follow(self, old, new):
        if self.last and f"{self.last}/".startswith(f"{old}/"):
            self.last = new + self.last[len(old):]


def put(path, flags, text):
    fd = os.open(path, os.O_WRONLY | flags, 0o644)
    try:
        if os.write(fd, text.encode()) < len(text):
            raise OSError("it was written in part")
    finally:
        os.close(fd)


class Ours(Side):
    """Each step is calls, each with what it makes of a tree."""

    def append(self):
        if path := self.file():
            text = self.token(OURS)
            return [(lambda: put(self.at(path), os.O_APPEND, text),
                     lambda tree: tree[path].__setitem__(0, tree[path][0] + text))]

    def begin_anew(self):
        if path := self.file():
            text = self.token(OURS)
            return [(lambda: os.truncate(self.at(path), 0), lambda tree: tree[path].__setitem__(0, "")),
                    (lambda: put(self.at(path), 0, text), lambda tree: tree[path].__setitem__(0, text))]

    def save(self):
        if path := self.file():
            text, beside = self.token(OURS), f"{path}.{self.count}~"
            return [(lambda: os.close(os.open(self.at(beside), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)),
                     lambda tree: tree.update({beside: ["", 0o644]})),
                    (lambda: put(self.at(beside), 0, text), lambda tree: tree[beside].__setitem__(0, text)),
                    (lambda: os.rename(self.at(beside), self.at(path)),
                     lambda tree: tree.update({path: tree.pop(beside)}))]

    def make(self):
        if path := self.new():
            text = self.token(OURS)
            return [(lambda: os.close(os.open(self.at(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)),
                     lambda tree: tree.update({path: ["", 0o644]})),
                    (lambda: put(self.at(path), 0, text), lambda tree: tree[path].__setitem__(0, text))]

    def change_mode(self):
        if path := self.file():
            mode = self.chance.choice([0o600, 0o640, 0o755])
            return [(lambda: os.chmod(self.at(path), mode), lambda tree: tree[path].__setitem__(1, mode))]

    def touch(self):
        if path := self.file():
            return [(lambda: os.utime(self.at(path)), lambda tree: None)]

    def remove(self):
        if path := self.file():
            return [(lambda: os.unlink(self.at(path)), lambda tree: tree.pop(path))]

    def move(self):
        old, new = self.file(), self.new() or self.chance.choice(self.files() or [None])
        if old and new and old != new:
            self.last = new
            return [(lambda: os.rename(self.at(old), self.at(new)), lambda tree: tree.update({new: tree.pop(old)}))]

    def move_directory(self):
        old, new = self.directory_to_move()
        if old:
            self.follow(old, new)
            return [(lambda: os.rename(self.at(old), self.at(new)), lambda tree: self.moved(tree, old, new))]

    KINDS = [append, append, begin_anew, save, save, make, change_mode, touch, remove, move,
             move_directory, move_directory, move_directory]  # fmt: skip

    def step(self):
        while True:
            kind, before = self.chance.choice(self.KINDS), self.last
            if calls := kind(self):
                self.note(kind, before=before, after=self.last, count=self.count)
                return calls


class Theirs(Side):
    """Each step is done to the disk, which is looked at before. `owed`: the tokens that must stay."""

    def __init__(self, root, chance):
        super().__init__(root, chance, {})
        self.owed, self.steps = [], 0

    def lose(self, path):
        """The second writer takes away what a file has."""
        gone = TOKEN.findall(self.tree[path][0])
        self.owed = [token for token in self.owed if token not in gone]

    def owe(self, token):
        self.owed.append(token)
        return token

    def append(self):
        if path := self.file():
            put(self.at(path), os.O_APPEND, self.owe(self.token(ADDED)))

    def rewrite(self):
        if path := self.file():
            self.lose(path)
            put(self.at(path), os.O_TRUNC, self.owe(self.token(THEIRS)))

    def save(self):
        if path := self.file():
            self.lose(path)
            put(self.at(f"{path}.new"), os.O_CREAT | os.O_EXCL, self.owe(self.token(THEIRS)))
            os.rename(self.at(f"{path}.new"), self.at(path))

    def make(self):
        if path := self.new():
            put(self.at(path), os.O_CREAT | os.O_EXCL, self.owe(self.token(THEIRS)))

    def move_directory(self):
        old, new = self.directory_to_move()
        if old:
            self.follow(old, new)
            os.rename(self.at(old), self.at(new))

    KINDS = [append, rewrite, rewrite, rewrite, save, make, move_directory]

    def step(self):
        self.tree = tree_of(self.root)
        kind, before = self.chance.choice(self.KINDS), self.last
        kind(self)
        self.steps += 1
        self.note(kind, before=before, after=self.last, count=self.count)


def load(ledger):
    with open(ledger) as file:
        return json.load(file)


def keep(ledger, states, count, theirs):
    with open(ledger, "w") as file:
        json.dump({"states": states, "owed": theirs.owed, "steps": theirs.steps, "count": count,
                   "log": theirs.log}, file)


def copy_of(tree):
    return {path: list(node) for path, node in tree.items()}


def settle(mount):
    """Whether all was sent and nothing refused."""
    try:
        with open(f"{mount}/.sandbox/sync", "w") as sync:
            sync.write("1")
    except OSError:
        return False
    return True


def fill(root):
    """Returns the tree, which is known to both sides and pending nowhere."""
    tree = {path: [None, 0o755] for path in DIRECTORIES}
    side = Side(f"{root}/work", random.Random(0), tree)
    os.mkdir(side.root)
    for path in DIRECTORIES:
        os.mkdir(side.at(path), 0o755)
    for path in FILES:
        tree[path] = [side.token(OLD), 0o644]
        put(side.at(path), os.O_CREAT | os.O_EXCL, tree[path][0])
    if not settle(root):
        sys.exit("what both sides are to know was not sent")
    tree_of(root)
    return tree


def run(mount, store, ledger, pid, seed, *cut):
    chance, tree = random.Random(int(seed)), fill(mount)
    ours, theirs = Ours(f"{mount}/work", chance, tree), Theirs(f"{store}/work", chance)
    ours.log = theirs.log
    # Some second writers do nothing.
    share, count = chance.choice([0, 0.1, 0.3, 0.5]), 0
    subprocess.run(cut, check=True)
    kill_s = math.exp(chance.uniform(math.log(EARLIEST_KILL_S), math.log(LATEST_KILL_S)))
    threading.Timer(kill_s, os.kill, (int(pid), signal.SIGKILL)).start()
    states = None
    while not states:
        if share and chance.random() < share:
            theirs.step()
            continue
        for call, effect in ours.step():
            after = copy_of(tree)
            effect(after)
            try:
                call()
            except OSError as error:
                ours.log.append(f"  {error}")
                states = [tree, after]
                break
            ours.log.append("  done")
            tree.clear()
            tree.update(after)
            count += 1
    theirs.log.append("dead")
    for _ in range(chance.randrange(LATER_STEPS) if share else 0):
        theirs.step()
    keep(ledger, states, count, theirs)


def faults(known, tree, parked):
    """What is wrong with the tree that STORE has."""
    texts = {path: node[0] for path, node in tree.items() if node[0] is not None}
    found = Counter(token for text in texts.values() for token in set(TOKEN.findall(text)))
    wrong = [f"{token.strip()} of the second writer is lost" for token in known["owed"] if not found[token]]
    for path, text in texts.items():
        tokens = TOKEN.findall(text)
        if "".join(tokens) != text:
            wrong.append(f"{path}: {text!r} is in part")
        if len(set(tokens)) < len(tokens):
            wrong.append(f"{path}: {text!r} has a text twice")
        if any(OURS in token for token in tokens) and any(THEIRS in token for token in tokens):
            wrong.append(f"{path}: {text!r} is of both sides")
    if not known["steps"] and tree not in known["states"]:
        wrong.append(f"nobody else wrote, and there is {tree}, not {known['states']}")
    if not parked:
        acknowledged = [{token for node in state.values() for token in TOKEN.findall(node[0] or "") if OURS in token}
                        for state in known["states"]]
        wrong += [f"{token.strip()} of the mount is lost" for token in sorted(set.intersection(*acknowledged))
                  if not found[token]]
    return wrong


def differences(shown, there):
    return [f"{path}: shown is {shown.get(path)}, there is {there.get(path)}"
            for path in sorted({*shown, *there}) if shown.get(path) != there.get(path)]


def status(mount):
    with open(f"{mount}/.sandbox/status") as file:
        return json.load(file)


def check(mount, store, ledger):
    end_s, known = time.monotonic() + PATIENCE_S, load(ledger)
    while not settle(mount) and status(mount)["pending_changes"] and time.monotonic() < end_s:
        time.sleep(0.1)
    said, tree = status(mount), tree_of(f"{store}/work")
    parked = said["parked_changes"]
    wrong = ["not everything was sent"] if said["pending_changes"] else []
    wrong += faults(known, tree, parked) + differences(tree_of(f"{mount}/work"), tree)
    print(f"{parked} of {known['count']} changes were refused")
    if wrong:
        # The script shows the last lines alone.
        print(*known["log"], f"there is {tree}", f"acknowledged: {known['states'][0]}", *wrong, sep="\n")
        sys.exit(1)


if __name__ == "__main__":
    {"run": run, "check": check}[sys.argv[1]](*sys.argv[2:])
