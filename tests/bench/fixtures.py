"""The files that the workloads work on; the same on every machine with the same git.

    project/      a git repository with one commit: N files of text in N/10 directories, some of them links
    big.bin       100 MB that do not compress
    new.bin       100 MB more, with other contents
    small.tar     200 files of 1 to 12 kB in 20 directories
    branches/     a git repository whose two branches, `main` and `other`, differ in all of its 500 files
    facts.json    what the workloads compare with
"""
import fcntl
import hashlib
import io
import json
import os
import random
import shutil
import subprocess
import tarfile
from pathlib import Path
from string import ascii_lowercase

STAMP = 1700000000
SUFFIXES = ["c", "h", "py", "ts", "js", "md", "json", "rs", "txt", "yaml"]
NEEDLE = "NEEDLE_9f3a"
NEEDLE_EVERY = 37
LINKS = 10
BIG = 100_000_000
SMALL_DIRECTORIES, SMALL_FILES_EACH = 20, 10
BRANCH_DIRECTORIES, BRANCH_FILES_EACH = 25, 20


class Text:
    """Text that compresses about as source code does."""

    def __init__(self, chance):
        self.chance = chance
        self.words = ["".join(chance.choices(ascii_lowercase, k=chance.randint(2, 10))) for _ in range(3000)]
        self.words += "return if static const { } = == ; import def".split() * 60

    def line(self):
        words = (self.frequent_word() for _ in range(self.chance.randint(3, 11)))
        return "    " * self.chance.randint(0, 3) + " ".join(words) + "\n"

    def frequent_word(self):
        """Some are much more frequent than others."""
        return self.words[int(self.chance.random() ** 2 * len(self.words))]

    def make(self, size):
        lines, length = [], 0
        while length < size:
            lines.append(self.line())
            length += len(lines[-1])
        return "".join(lines)[: size - 1] + "\n"

    def word(self):
        return self.chance.choice(self.words[:2000])


def directories(text, count):
    """A random tree, up to six deep; the first is its root."""
    paths = [Path()]
    while len(paths) <= count:
        parent = text.chance.choice(paths)
        if len(parent.parts) < 6:
            paths.append(parent / f"d{len(paths):03}_{text.word()}")
    return paths


def write_project(root, files):
    """How many files have the needle."""
    text = Text(random.Random(42))
    folders = directories(text, max(1, files // 10))
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for i in range(files):
        # No directory stays empty, since git would not keep it.
        folder = root / (folders[1 + i] if i < len(folders) - 1 else text.chance.choice(folders))
        size = int(min(300000, max(20, text.chance.lognormvariate(8.2, 1.25))))
        path = folder / f"f{i:04}_{text.word()}.{SUFFIXES[i % len(SUFFIXES)]}"
        path.write_text((NEEDLE + "\n" if i % NEEDLE_EVERY == 0 else "") + text.make(size))
        path.chmod(0o755 if i % 50 == 0 else 0o644)
        if i < LINKS:
            (folder / f"link{i}").symlink_to(path.name)
    return (files + NEEDLE_EVERY - 1) // NEEDLE_EVERY


def set_times(root):
    for folder, _, names in os.walk(root, topdown=False):
        for path in [os.path.join(folder, name) for name in names] + [folder]:
            os.utime(path, (STAMP, STAMP), follow_symlinks=False)


def git(root, *commands):
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "bench"), ("EMAIL", "bench@localhost"), ("DATE", f"{STAMP} +0000"))}
    env = {**os.environ, **who, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    for command in commands:
        subprocess.run(["git", "-c", "gc.auto=0", *command.split()], cwd=root, env=env, check=True, timeout=120)


def commit(root):
    git(root, "init -q -b main", "add -A", "commit -q -m all", "repack -adq")


def write_branch(root, seed):
    text = Text(random.Random(seed))
    for d in range(BRANCH_DIRECTORIES):
        (root / f"d{d:02}").mkdir(parents=True, exist_ok=True)
        for f in range(BRANCH_FILES_EACH):
            (root / f"d{d:02}/f{f:02}.c").write_text(text.make(text.chance.randint(500, 12000)))


def write_branches(root):
    write_branch(root, 44)
    git(root, "init -q -b main", "add -A", "commit -q -m main", "checkout -q -b other")
    write_branch(root, 45)
    git(root, "commit -q -a -m other", "checkout -q main", "repack -adq")


def write_random(path, seed):
    """Its SHA-256."""
    chance, digest = random.Random(seed), hashlib.sha256()
    with open(path, "wb") as file:
        for _ in range(BIG // 1_000_000):
            block = chance.randbytes(1_000_000)
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def member(name, **fields):
    info = tarfile.TarInfo(name)
    info.mtime = STAMP
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def write_archive(path):
    text = Text(random.Random(43))
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for d in range(SMALL_DIRECTORIES):
            archive.addfile(member(f"small/p{d:02}", type=tarfile.DIRTYPE, mode=0o755))
            for f in range(SMALL_FILES_EACH):
                data = text.make(text.chance.randint(1000, 12000)).encode()
                archive.addfile(member(f"small/p{d:02}/s{f}.txt", size=len(data), mode=0o644), io.BytesIO(data))


def make(root, files):
    """The directory with the fixtures, and their facts; made only once for each number of files, by the first who asks."""
    os.makedirs(root, exist_ok=True)
    with open(Path(root) / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return make_locked(Path(root) / f"fixtures.{files}", files)


def make_locked(root, files):
    if (root / "facts.json").exists():
        return root, json.loads((root / "facts.json").read_text())
    shutil.rmtree(root, ignore_errors=True)
    (root / "project").mkdir(parents=True)
    facts = {"files": files, "needles": write_project(root / "project", files)}
    set_times(root / "project")
    commit(root / "project")
    write_branches(root / "branches")
    facts["big"] = write_random(root / "big.bin", 7)
    facts["new"] = write_random(root / "new.bin", 8)
    write_archive(root / "small.tar")
    (root / "facts.json").write_text(json.dumps(facts))
    return root, facts
