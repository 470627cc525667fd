"""What the tests of sandboxctl exec and run do with its standard input and with signals.

ctl_input.py NAME [ARGUMENTS...] SANDBOXCTL WORDS...: the words are those before the command.
"""
import os
import pty
import resource
import select
import signal
import subprocess
import sys
import time

# A loaded machine is slow; what lasts longer hangs. Whoever is told to end has less.
SOON_S = 60
# How soon what runs in the sandbox is gone: a second is meant, and what it was is told. After five it would be KILL's doing.
GONE_S = 4


def start(ctl, command, **more):
    more.setdefault("stdin", subprocess.PIPE)
    return subprocess.Popen([*ctl, "--", command], stdout=subprocess.PIPE, bufsize=0, **more)


def says(stream, line):
    got = stream.readline()
    assert got == line, f"{got!r} instead of {line!r}"


def lines(ctl):
    p = start(ctl, 'echo ready; while read -r line; do echo "<$line>"; done; echo end; exit 3')
    says(p.stdout, b"ready\n")
    for word in (b"one", b"two", b"three"):
        p.stdin.write(word + b"\n")
        says(p.stdout, b"<%s>\n" % word)
    p.stdin.close()
    says(p.stdout, b"end\n")
    assert p.wait(SOON_S) == 3


def steady(ctl):
    """A line each millisecond, for as long as it takes to see one that came before the command began, and one after."""
    p = start(ctl, 'while read -r line; do echo "$line"; done')
    written, wanted = 0, [0]
    while wanted:
        written += 1
        p.stdin.write(b"%d\n" % written)
        if select.select([p.stdout], [], [], 0.001)[0] and int(p.stdout.readline()) >= wanted[0]:
            wanted = [written + 1] if wanted == [0] else []
    p.stdin.close()
    p.stdout.read()
    assert p.wait(SOON_S) == 0


def unneeded(ctl):
    p = start(ctl, "echo ran")
    says(p.stdout, b"ran\n")
    assert p.wait(SOON_S) == 0


def enough(ctl):
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as source:
        p = start(ctl, "head -n 1", stdin=source.stdout)
        source.stdout.close()
        says(p.stdout, b"y\n")
        assert p.wait(SOON_S) == 0


def status(end, *ctl):
    p = start(ctl, end)
    print(p.wait(SOON_S))


def much(ctl):
    p = start(ctl, "wc -c")
    piece = bytes(1 << 20)
    for _ in range(200):
        p.stdin.write(piece)
    p.stdin.close()
    says(p.stdout, b"%d\n" % (200 << 20))
    assert p.wait(SOON_S) == 0
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak < 64 << 10, f"{peak} KiB"


def typed(ctl):
    ours, theirs = pty.openpty()
    p = start(ctl, 'echo ready; while read -r line; do echo "<$line>"; done; echo end', stdin=theirs)
    os.close(theirs)
    says(p.stdout, b"ready\n")
    os.write(ours, b"one\n")
    says(p.stdout, b"<one>\n")
    os.write(ours, b"two\n\4")
    says(p.stdout, b"<two>\n")
    says(p.stdout, b"end\n")
    assert p.wait(SOON_S) == 0


def background(ctl):
    """A process group of its own in a session whose terminal is another's, with a line that is waiting."""
    session, terminal = pty.fork()
    if not session:
        select.select([0], [], [])
        child = os.fork()
        if not child:
            os.setpgid(0, 0)
            os.execv(ctl[0], [*ctl, "--", "exit 4"])
        _, how = os.waitpid(child, os.WUNTRACED)
        os._exit(0 if os.WIFEXITED(how) and os.WEXITSTATUS(how) == 4 else 1)
    os.write(terminal, b"a line\n")
    _, how = os.waitpid(session, 0)
    assert how == 0, how


# Nobody else's: how long it would last.
SLEEP = f"1000{os.getpid()}"


def left():
    return subprocess.run(["pgrep", "-fx", "sleep " + SLEEP], stdout=subprocess.PIPE, check=False).stdout.split()


def until(holds, seconds):
    begin = time.monotonic()
    while not holds() and time.monotonic() < begin + seconds:
        time.sleep(0.01)
    return time.monotonic() - begin


def ends(name, command, ctl, stdin):
    """Whoever runs the tests may ignore some signals."""

    def defaults():
        for other in ("HUP", "INT", "TERM"):
            signal.signal(getattr(signal, "SIG" + other), signal.SIG_DFL)

    # Something else may hold up a machine that is busy for as long, but not each time.
    last = time.monotonic() + 2 * SOON_S
    stays = [b"never tried"]
    while stays and time.monotonic() < last:
        p = start(ctl, command, stdin=stdin, preexec_fn=defaults)
        says(p.stdout, b"begun\n")
        until(lambda: len(left()) == 2, SOON_S)
        assert len(left()) == 2, left()
        p.send_signal(getattr(signal, "SIG" + name))
        begin = time.monotonic()
        gone_s = until(lambda: not left(), GONE_S)
        how, stays = p.wait(SOON_S), left()
        print(f"# {name}: gone after {gone_s:.2f} s, sandboxctl after {time.monotonic() - begin:.2f} s", file=sys.stderr)
        until(lambda: not left(), SOON_S)
    print(signal.Signals(-how).name[3:] if how < 0 else how)
    print(f"left: {stays}" if stays else "nothing is left")


def ended(name, given, *ctl):
    """The command ignores what a terminal sends."""
    command = f"echo begun; trap '' HUP INT; sleep {SLEEP} & sleep {SLEEP}; wait"
    ends(name, command, ctl, subprocess.PIPE if given == "open" else subprocess.DEVNULL)


def make(name, *ctl):
    ends(name, f"echo begun; make -s -j2 waits SECONDS={SLEEP}", ctl, subprocess.PIPE)


def main():
    name, *words = sys.argv[1:]
    if name in ("status", "ended", "make"):
        globals()[name](*words)
    else:
        globals()[name](words)


main()
