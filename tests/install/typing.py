"""typing.py SHELL SETUP KEYS: types into an interactive shell, on a terminal of its own, and prints what it was asked for.

SETUP is a command that is typed first; then KEYS, in which \\t is the tabulator, and a new line. What is printed is what the
line's program says after "GOT ", or all of the screen where it does not within a minute.
"""
import os
import pty
import re
import select
import signal
import sys
import time

DEADLINE_S = 60
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}


class Terminal:
    def __init__(self, shell):
        self.screen = b""
        self.end = time.monotonic() + DEADLINE_S
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "dumb"
            os.execvp(SHELLS[shell][0], SHELLS[shell])

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self):
        """What comes next; nothing when time is up or the shell has ended."""
        ready, _, _ = select.select([self.fd], [], [], max(0, self.end - time.monotonic()))
        try:
            return os.read(self.fd, 65536) if ready else b""
        except OSError:
            return b""

    def wait_for(self, pattern):
        """The part of the screen that matches; else all of it."""
        while not (found := re.search(pattern, self.screen)):
            more = self.read()
            if not more:
                return self.screen
            self.screen += more
        return found.group(1)

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def main():
    shell, setup, keys = sys.argv[1:]
    terminal = Terminal(shell)
    try:
        # What is typed is on the screen, too: its answer is another text.
        terminal.type(setup + "; expr 41000 + 1\n")
        terminal.wait_for(rb"(41001)")
        terminal.type(keys.replace("\\t", "\t") + "\n")
        print(terminal.wait_for(rb"GOT ([^\r\n]*)").decode(errors="replace"))
    finally:
        terminal.close()


main()
