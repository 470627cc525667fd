#!/usr/bin/env python3
"""What git, tar and SQLite do on a mount, all of it at once; tap_works.sh looks at what is left of it.

works.py run DIRECTORY ARCHIVE             works in DIRECTORY and prints for each: WORK COUNT RESULT; COUNT is how many steps or
                                           rows it was told are done, RESULT `ok` or what went wrong
works.py one WORK DIRECTORY ARCHIVE        does one of them
works.py check DIRECTORY ARCHIVE REPORT [refused]
                                           whether all that is whole there; refused: the sandbox refused some of what nobody
                                           waited for, so that this may be missing
"""
import glob
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

CALL_S = 120
FILES = 8
ROWS = 8
WORKS = "git", "tar", "delete", "wal"
STEP = "step"
# As git is set up where a power cut must lose nothing that it said is done.
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.fsync=all", "-c", "gc.auto=0",
       "-c", "init.defaultBranch=main"]  # fmt: skip


class Failed(Exception):
    pass


def call(*command, **more):
    done = subprocess.run(command, timeout=CALL_S, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)  # fmt: skip
    if done.returncode:
        raise Failed(f"{command[-1]}: {done.stdout[-300:]}")
    return done.stdout


# ---- Working -------------------------------------------------------------------------------------


def write_files(directory, text):
    for n in range(FILES):
        with open(f"{directory}/f{n}", "w") as file:
            file.write(f"{text} {n}\n" * 100)


def git_steps(place):
    tree = f"{place}/git"
    git = lambda *words: call(*GIT, "-C", tree, *words)
    return [lambda: call(*GIT, "init", "-q", tree),
            lambda: write_files(tree, "one"),
            lambda: git("add", "."),
            lambda: git("commit", "-qm", "one"),
            lambda: git("checkout", "-qb", "other"),
            lambda: write_files(tree, "two"),
            lambda: git("commit", "-qam", "two"),
            lambda: git("checkout", "-q", "main"),
            lambda: git("gc", "-q"),
            lambda: git("checkout", "-q", "other"),
            lambda: call(*GIT, "clone", "-q", "--no-local", tree, f"{place}/clone")]  # fmt: skip


def tar_steps(place, archive):
    return [lambda: os.mkdir(f"{place}/tar"), lambda: call("tar", "-C", f"{place}/tar", "-xf", archive)]


def sqlite_steps(place, mode):
    opened = []

    def begin():
        base = sqlite3.connect(f"{place}/{mode}.db", timeout=30, isolation_level=None, check_same_thread=False)
        opened.append(base)
        base.execute(f"pragma journal_mode={mode}")
        base.execute("pragma synchronous=extra")
        base.execute("create table t (n integer primary key, text blob)")

    def add(row):
        opened[0].execute("begin")
        opened[0].execute("insert into t values (?, randomblob(5000))", (row,))
        opened[0].execute("commit")

    return [begin, *[lambda row=row: add(row) for row in range(ROWS)], lambda: opened[0].close()]


def steps_of(name, place, archive):
    if name == "git":
        return git_steps(place)
    return tar_steps(place, archive) if name == "tar" else sqlite_steps(place, name)


def one(name, place, archive):
    """A line for each step, then the result."""
    try:
        for step in steps_of(name, place, archive):
            step()
            print(STEP, flush=True)
        print("ok")
    except (OSError, Failed, sqlite3.Error, subprocess.TimeoutExpired) as error:
        print(f"{type(error).__name__}: {error}".replace("\n", " ")[:300])


def run(place, archive):
    """Each as a process of its own: a page of a mapping that cannot be read ends it with SIGBUS."""
    os.mkdir(place)
    works = {name: subprocess.Popen([sys.executable, "-B", __file__, "one", name, place, archive], text=True,
                                    stdout=subprocess.PIPE) for name in WORKS}  # fmt: skip
    for name, process in works.items():
        lines = process.communicate()[0].splitlines()
        result = lines[-1] if lines and lines[-1] != STEP else f"ended with {process.returncode}"
        print(name, lines.count(STEP), result)


# ---- Checking ------------------------------------------------------------------------------------


def check_git(place, done, is_whole):
    # The first commit is told to be there.
    if done >= 4:
        said = call(*GIT, "-C", f"{place}/git", "fsck", "--full")
        assert "missing" not in said and "broken" not in said, said
    if done >= 7:
        assert len(call(*GIT, "-C", f"{place}/git", "log", "--format=%h", "other").split()) == 2
    if is_whole:
        # Which would write the index anew, after the look at what has arrived.
        for tree in "git", "clone":
            assert not call(*GIT, "--no-optional-locks", "-C", f"{place}/{tree}", "status", "--porcelain")
        call(*GIT, "-C", f"{place}/clone", "fsck", "--full")


def check_tar(place, archive, is_whole):
    if is_whole:
        call("tar", "-C", f"{place}/tar", "-df", archive)


# On a copy: whoever opens it may have something to put right.
def check_sqlite(place, mode, done):
    with tempfile.TemporaryDirectory() as copy:
        for file in glob.glob(f"{place}/{mode}.db*"):
            if not file.endswith("-shm"):
                shutil.copy(file, copy)
        base = sqlite3.connect(f"{copy}/{mode}.db")
        assert base.execute("pragma integrity_check").fetchall() == [("ok",)]
        if done:
            rows = [row for row, in base.execute("select n from t order by n")]
            assert rows[:done - 1] == list(range(min(done - 1, ROWS))) and len(rows) <= done, (done, rows)
        base.close()


def check(place, archive, report, *refused):
    with open(report) as file:
        results = {name: (int(done), result == "ok") for name, done, result in
                   (line.strip().split(" ", 2) for line in file)}  # fmt: skip
    done, is_ok = results["git"]
    check_git(place, done, is_ok and not refused)
    check_tar(place, archive, results["tar"][1] and not refused)
    for mode in "delete", "wal":
        check_sqlite(place, mode, results[mode][0])


if __name__ == "__main__":
    {"run": run, "one": one, "check": check}[sys.argv[1]](*sys.argv[2:])
