#!/usr/bin/env python3
"""run.py - plants the mistakes of tests/mutants/*.mutants, one at a time, and runs the tests that
should find each.

    make mutants                                        every mutant
    make mutants MUTANTS='--only cache_journal'         the tables whose name has this in it
    make mutants MUTANTS='--only cache_journal --line 12'   one: its block has this line
    make mutants MUTANTS='--copies 4 --unchecked'       four at a time, without the first step below

A table is text: blocks of `KEY: VALUE` separated by empty lines, `#` before a comment, a blank
before a continued value.

    file: cache/write/fail.c
    function: refuse_locked             or the name of a table of data
    before: if (is_pending)             a piece of one line, there exactly once within the function
    after: if (!is_pending)             nothing: the piece, or the statement, goes
    loses: The refusal of a write is never reported.
    found by: test-cache pending/* | mount e2b:tests/mount/e2b_barriers.t

A finder is `test-LAYER FILTER`, `contract:VENDOR` or `mount [VENDOR:]SCRIPT`; one that fails is
enough. In place of `found by`, `equivalent: REASON` says why the change makes no difference that
anybody can see.

The work is done in copies of the tree (build/mutants/1, 2, ...), which take the objects that are
there, so that a mutant costs one compilation and one link, or as many as a mount needs. Each finder
first runs on an unchanged copy: a test that fails there finds nothing.
"""
import argparse
import collections
import contextlib
import fcntl
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
COPIES = TOP / "build/mutants"
# Seconds of a finder, to which ten times what the finder took on the unchanged tree are added.
LIMIT = 60
# What a finder takes that did not run there (--unchecked).
UNCHECKED_S = 12
# To compile and link one change takes a third of the processor's time so. Of the helper programs
# only this machine's is made again.
MAKE_ARGUMENTS = ["--no-print-directory", "WARN=-w", "WERROR=", "CFLAGS=-O0",
                  "LDFLAGS=-Wl,-S" + " -fuse-ld=lld" * bool(shutil.which("ld.lld")),
                  f"HELPER_MACHINES={os.uname().machine}"]
KEYS = {"file", "function", "before", "after", "loses", "found by", "equivalent"}

printing = threading.Lock()


def say(text):
    with printing:
        print(text, flush=True)


class TableError(Exception):
    pass


# ---- The tables ----------------------------------------------------------------------------------


class Mutant:
    def __init__(self, table, first, last, fields):
        self.table, self.first, self.last, self.fields = table, first, last, fields
        self.finders = [f.strip() for f in fields.get("found by", "").split(" | ") if f.strip()]
        self.name = f"{table.name}:{first}: {fields.get('file')} {fields.get('function')}"
        self.log = f"{table.stem}-{first}"

    def units(self):
        return [f for f in self.finders if f.startswith("test-")]

    def check(self):
        wrong = self.fields.keys() - KEYS
        missing = {"file", "function", "before", "after", "loses"} - self.fields.keys()
        if wrong or missing:
            raise TableError(f"unknown: {sorted(wrong)}, missing: {sorted(missing)}")
        if bool(self.finders) == ("equivalent" in self.fields):
            raise TableError("either `found by` or `equivalent`")
        for finder in self.finders:
            finder_targets(finder, "")
        self.mutated((TOP / self.fields["file"]).read_text())

    def mutated(self, text):
        before, after = self.fields["before"], self.fields["after"]
        start, end = function_range(text, self.fields["function"])
        count = text.count(before, start, end) if before else 0
        if count != 1:
            raise TableError(f"`before` is there {count} times")
        if not after and before.endswith(";"):
            after = ";"
        at = text.index(before, start, end)
        return text[:at] + after + text[at + len(before) :]


def function_range(text, name):
    """From the definition's first line to the brace that ends it: both are in the first column."""
    begins = rf"^[A-Za-z][^\n;]*\b{re.escape(name)}(\(|\[| = )"
    for found in re.finditer(begins, text, re.MULTILINE):
        at = found.start()
        brace, semicolon, end = text.find("{\n", at), text.find(";\n", at), text.find("\n}", at)
        if brace >= 0 and end >= 0 and (semicolon < 0 or brace < semicolon):
            return at, end
    raise TableError(f"no definition of {name}")


def read_table(path):
    fields, key, first = {}, None, 0
    for number, line in enumerate([*path.read_text().split("\n"), ""], 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            if fields:
                yield Mutant(path, first, number - 1, fields)
            fields, key, first = {}, None, 0
        elif line[0].isspace() and key:
            fields[key] += " " + line.strip()
        else:
            key, _, value = line.partition(":")
            first = first or number
            fields[key] = value.strip()


# ---- Finders -------------------------------------------------------------------------------------


def finder_targets(finder, build):
    kind, _, rest = finder.partition(" ")
    if kind == "mount" and re.fullmatch(r"(\w+:)?tests/\w+/[\w-]+\.t", rest):
        return ["mutant-mounts"]
    if re.fullmatch(r"contract:\w+", finder):
        return [f"{build}/test-providers", "test-servers"]
    if re.fullmatch(r"test-\w+", kind) and rest:
        return [f"{build}/{kind}", "test-servers"]
    raise TableError(f"no finder: {finder}")


def finder_command(finder, build):
    kind, _, rest = finder.partition(" ")
    if kind.startswith("test-"):
        return [f"{build}/{kind}", "--fail-fast", "--filter", rest]
    return ["tests/support/run-test", rest if kind == "mount" else finder]


class Copy:
    """A copy of the tree for one thread, and the scratch directory of all tests in that copy."""

    def __init__(self, number, build):
        self.top, self.build = COPIES / str(number), build
        # Short, because sockets are made below it; not below the tree, which other users may not be
        # able to reach.
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="mutant.", dir="/var/tmp"))
        self.scratch.chmod(0o1777)
        self.process, self.is_closed = None, False
        # The tests' environment names paths of this tree (tests/check.mk).
        of_make = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "PWD", "OLDPWD")
        self.env = {k: v.replace(str(TOP), str(self.top))
                    for k, v in os.environ.items() if k not in of_make}
        self.env.update(TMPDIR=str(self.scratch), MUTANT_SCRATCH=str(self.scratch))

    def refresh(self):
        """Objects are copied once, with their times; a source that differs gets a new one. Another
        version of this program may have left objects of other sources, so its copy goes."""
        runner = self.top / "tests/mutants/run.py"
        if self.top.exists() and not (runner.exists() and
                                      runner.read_bytes() == pathlib.Path(__file__).read_bytes()):
            shutil.rmtree(self.top)
        if not self.top.exists():
            self.top.mkdir(parents=True)
            names = [d for d in os.listdir(TOP) if d not in ("build", ".git")]
            objects = ["bin", "generated", "helper", "man", "servers", os.path.basename(self.build)]
            (self.top / "build").mkdir()
            for name in names + [f"build/{d}" for d in objects if (TOP / "build" / d).exists()]:
                subprocess.run(["cp", "-a", TOP / name, self.top / name], check=True)
        wanted = set(sources(TOP))
        for path in wanted:
            source, mine = TOP / path, self.top / path
            if source.is_symlink() or (mine.exists() and mine.read_bytes() == source.read_bytes()):
                continue
            mine.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, mine)
            shutil.copymode(source, mine)
        for path in set(sources(self.top)) - wanted:
            (self.top / path).unlink()

    def make_finders(self, finders, log):
        return self.make(sorted({t for f in finders for t in finder_targets(f, self.build)}), log)

    def make(self, targets, log):
        return self.build_by(["make", "-j2", *MAKE_ARGUMENTS, *targets], log)

    def build_by(self, command, log):
        with open(log, "a") as out:
            return subprocess.run(command, cwd=self.top, env=self.env, stdin=subprocess.DEVNULL,
                                  stdout=out, stderr=out).returncode == 0

    def make_helper(self, log):
        """The units of the next mutant, which make(1) does not build, carry it: without the last
        one's mistake."""
        if not self.make([f"{self.build}/providers/client/image.o"], log):
            raise RuntimeError(f"the helper does not build, see {log}")

    def learn(self, mutants):
        """The commands by which make(1) compiles what is planted and links the units."""
        units = {t for m in mutants for f in m.units() for t in finder_targets(f, self.build)}
        changed = [f"--what-if={m.fields['file']}" for m in mutants]
        said = subprocess.run(["make", "-n", "V=1", *MAKE_ARGUMENTS, *changed, *sorted(units)],
                              cwd=self.top, env=self.env, stdout=subprocess.PIPE, text=True)
        self.commands = {found[1]: line for line in said.stdout.splitlines()
                         if (found := re.search(r"^\S*cc\b.* -o (\S+)", line))}

    def build_units(self, mutant, log):
        """Compiles and links in place of make(1), which takes longer to look for what to do. The
        libraries are thin: what is compiled is in them."""
        programs = {finder_targets(f, self.build)[0] for f in mutant.units()}
        commands = [self.commands.get(name) for name in (self.object_of(mutant), *programs)]
        return all(commands) and self.build_by(["sh", "-ec", "\n".join(commands)], log)

    def run(self, finder, limit, log):
        """`passed`, `failed`, `hung` or `ran nothing`. A finder is ended at its first failure."""
        with open(log, "ab") as out:
            out.write(f"\n==== {finder}\n".encode())
            out.flush()
            if self.is_closed:
                raise InterruptedError(finder)
            self.process = subprocess.Popen(
                finder_command(finder, self.build), cwd=self.top, env=self.env,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=out,
                start_new_session=True)
            verdict = collections.deque(["passed"])
            reader = threading.Thread(target=self.follow, args=(out, verdict))
            reader.start()
            try:
                status = self.process.wait(limit)
            except subprocess.TimeoutExpired:
                verdict.append("hung")
                self.end()
                status = 1
            self.sweep()
            reader.join()
        if self.is_closed:
            raise InterruptedError(finder)
        said = pathlib.Path(log).read_text(errors="replace").rpartition("\n==== ")[2]
        if finder.startswith("test-") and "a test matches" in said:
            return "ran nothing"
        return verdict[-1] if verdict[-1] != "passed" or status == 0 else "failed"

    def follow(self, out, verdict):
        for line in self.process.stdout:
            out.write(line)
            out.flush()
            if line.startswith(b"1..0 # SKIP"):
                verdict.append("ran nothing")
            if line.startswith(b"not ok") and verdict[-1] == "passed":
                verdict.append("failed")
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGTERM)

    def end(self):
        """A script cleans up by itself, if it can; the rest is for `sweep`."""
        for number, limit in ((signal.SIGTERM, 10), (signal.SIGKILL, 60)):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(limit)
                return
            except subprocess.TimeoutExpired:
                pass
            except ProcessLookupError:
                return

    def sweep(self):
        """No process, mount or file of a finder outlives the finder."""
        mark = f"MUTANT_SCRATCH={self.scratch}".encode()
        for directory in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (directory / "environ").read_bytes().split(b"\0"):
                    os.kill(int(directory.name), signal.SIGKILL)
            except OSError:
                pass
        for _ in range(5):
            lines = pathlib.Path("/proc/self/mounts").read_text().splitlines()
            mounts = [line.split()[1] for line in lines if f" {self.scratch}/" in line]
            unmount = ["umount", "-l"] if os.getuid() == 0 else ["fusermount3", "-uz"]
            for directory in reversed(mounts):
                subprocess.run([*unmount, directory], stderr=subprocess.DEVNULL)
            if not mounts:
                subprocess.run(["find", self.scratch, "-xdev", "-mindepth", "1", "-delete"],
                               stderr=subprocess.DEVNULL)
                break

    def close(self):
        self.is_closed = True
        if self.process and self.process.poll() is None:
            self.end()
        self.sweep()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def object_of(self, mutant):
        path = pathlib.Path(mutant.fields["file"])
        return f"{self.build}/{path.with_suffix('.o')}" if path.suffix == ".c" else None

    def plant(self, mutant):
        """Returns what takes the mistake back.

        The object of the unchanged source is kept, and stands for that source again afterwards, so
        that a mutant costs one compilation. The source is put back before the object: all else that
        was made with the mistake, like the helper programs, is then older than the source and made
        again. The objects of a header are made again by the next run. No other object may be kept
        meanwhile, so headers come last.
        """
        source = self.top / mutant.fields["file"]
        name = self.object_of(mutant)
        old = source.read_bytes()
        if name:
            os.replace(self.top / name, self.top / f"{name}.kept")
        source.write_text(mutant.mutated(old.decode()))

        def restore():
            source.write_bytes(old)
            if name:
                os.utime(self.top / f"{name}.kept")
                os.replace(self.top / f"{name}.kept", self.top / name)

        return restore


def sources(top):
    for directory, names, files in os.walk(top):
        if pathlib.Path(directory) == top:
            names[:] = [n for n in names if n not in ("build", ".git")]
        for name in files:
            if directory != str(top) or name != ".git":
                yield os.path.relpath(os.path.join(directory, name), top)


# ---- The run -------------------------------------------------------------------------------------


def in_copies(copies, work, items):
    """work(COPY, ITEM, LABEL) for each, one thread a copy."""
    waiting = queue.SimpleQueue()
    for number, item in enumerate(items, 1):
        waiting.put((item, f"[{number}/{len(items)}]"))

    def worker(copy):
        while True:
            try:
                item, label = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                work(copy, item, label)
            except InterruptedError:
                return
            except Exception as e:  # the others go on, and the run fails
                failures.append(str(item))
                say(f"{label} error: {e!r}")

    threads = [threading.Thread(target=worker, args=(copy,), daemon=True) for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


failures = []
passed = []
took = {}
broken = set()


def make_unchanged(copy, mutants):
    log = COPIES / "logs" / f"unchanged-{copy.top.name}.log"
    log.unlink(missing_ok=True)
    objects = {copy.object_of(m) for m in mutants} - {None}
    finders = {t for m in mutants for f in m.finders for t in finder_targets(f, copy.build)}
    if not copy.make(sorted(objects | finders), log):
        sys.exit(f"run.py: does not build unchanged, see {log}")
    copy.learn(mutants)


def try_finder(copy, finder, label):
    log = COPIES / "logs" / ("finder-" + re.sub(r"\W+", "-", finder) + ".log")
    log.unlink(missing_ok=True)
    began = time.monotonic()
    verdict = copy.run(finder, 1200, log)
    took[finder] = time.monotonic() - began
    if verdict != "passed":
        failures.append(finder)
        broken.add(finder)
        say(f"{label} error: {finder}: {verdict} on the unchanged tree, see {log}")
    else:
        say(f"{label} {finder}: passes unchanged, {took[finder]:.1f} s")


def try_mutant(copy, mutant, label):
    log = COPIES / "logs" / f"{mutant.log}.log"
    log.unlink(missing_ok=True)
    began = time.monotonic()
    restore = copy.plant(mutant)
    is_everywhere = False
    try:
        found = copy.build_units(mutant, log) and find(copy, mutant.units(), log)
        # All else is made only for what units have not found: the programs and the helper.
        is_everywhere = not found
        if not found and not copy.make_finders(mutant.finders, log):
            failures.append(mutant.name)
            say(f"{label} {mutant.name}: error: does not build, see {log}")
            return
        found = found or find(copy, mutant.finders, log)
    finally:
        restore()
        if is_everywhere:
            copy.make_helper(log)
    seconds = time.monotonic() - began
    if found:
        passed.append(mutant.name)
        say(f"{label} {mutant.name}: found by {found} after {seconds:.1f} s")
    else:
        failures.append(mutant.name)
        say(f"{label} {mutant.name}: SURVIVED, see {log}\n\tloses: {mutant.fields['loses']}")


def find(copy, finders, log):
    for finder in finders:
        verdict = copy.run(finder, LIMIT + 10 * took.get(finder, UNCHECKED_S), log)
        if verdict in ("failed", "hung"):
            return finder + ", which hung," * (verdict == "hung")
    return None


def main():
    options = argparse.ArgumentParser(prog="run.py", description="Runs tests on planted mistakes.")
    options.add_argument("--only", metavar="NAME", help="the tables whose name has this in it")
    options.add_argument("--line", type=int, action="append",
                         help="the mutants whose block has this line of the table")
    options.add_argument("--finder", metavar="TEXT",
                         help="the mutants whose first finder has this in it (mount, test-fs)")
    options.add_argument("--copies", type=int, default=2, metavar="N",
                         help="how many copies of the tree are worked in at once (2)")
    options.add_argument("--build", default="build/gcc-plain", help="the folder of the objects")
    options.add_argument("--unchecked", action="store_true",
                         help="the finders do not run on the unchanged tree first")
    options.add_argument("--list", action="store_true", help="check the tables and run nothing")
    chosen = options.parse_args()

    tables = sorted((TOP / "tests/mutants").glob("*.mutants"))
    mutants = [m for t in tables if (chosen.only or "") in t.stem for m in read_table(t)]
    if chosen.line:
        mutants = [m for m in mutants if any(m.first <= n <= m.last for n in chosen.line)]
    if chosen.finder:
        mutants = [m for m in mutants if m.finders and chosen.finder in m.finders[0]]
    if not mutants:
        sys.exit("run.py: no mutant is chosen")
    sound = []
    for mutant in mutants:
        try:
            mutant.check()
            sound.append(mutant)
        except (TableError, OSError) as e:
            failures.append(mutant.name)
            say(f"{mutant.name}: error of the table: {e}")
    run = sorted((m for m in sound if m.finders), key=lambda m: m.fields["file"].endswith(".h"))
    if not chosen.list:
        run_all(run, chosen)
    count = len({m.table for m in mutants})
    say(f"{len(sound)} mutants in {count} tables, {len(sound) - len(run)} equivalent")
    if failures:
        say("failed:\n\t" + "\n\t".join(failures))
    say(f"{len(passed)} passed, {len(failures)} failed")
    sys.exit(bool(failures))


def run_all(run, chosen):
    (COPIES / "logs").mkdir(parents=True, exist_ok=True)
    lock = open(COPIES / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"run.py: another run works in {COPIES}")
    finders = list(dict.fromkeys(f for m in run for f in m.finders))
    count = max(1, min(chosen.copies, len(run)))
    copies = [Copy(number, chosen.build) for number in range(1, count + 1)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        for copy in copies:
            copy.refresh()
            make_unchanged(copy, run)
        if not chosen.unchecked:
            in_copies(copies, try_finder, finders)
        in_copies(copies, try_mutant, [m for m in run if broken.isdisjoint(m.finders)])
    finally:
        for copy in copies:
            copy.close()


if __name__ == "__main__":
    main()
