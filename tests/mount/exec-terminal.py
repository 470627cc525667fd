"""One trial of exec.t: the terminal of a process that exits, and waits in its exit for its command, goes away.

exec-terminal.py WANTED KIND. A session of its own on a terminal: its leader starts the writer, which is

    foreground  in the foreground of the terminal
    background  in its background
    ignores     in the foreground, and ignores HUP
    nohup       in the foreground, and the leader ignores HUP and stays

The command creates the file `started` in its working directory, and goes on until there is `go`.
"""
import json
import os
import pty
import select
import signal
import sys
import time

wanted, kind = sys.argv[1:]
path, store = os.environ["EXEC"], os.environ["STORE"]
started, go = store + "/started", store + "/go"
COMMAND = b"touch started; until [ -e go ]; do sleep 0.05; done; rm go; echo done"


def wait_until(what, condition):
    end = time.monotonic() + 180
    while not condition():
        if time.monotonic() > end:
            sys.exit("waited in vain for " + what)
        time.sleep(0.02)


def write():
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    if kind != "background":
        os.tcsetpgrp(0, os.getpid())
    for name in ("HUP", "INT", "QUIT", "TERM"):
        signal.signal(getattr(signal, "SIG" + name), signal.SIG_DFL)
    if kind == "ignores":
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, COMMAND)
    os._exit(3)


def lead(told):
    signal.signal(signal.SIGHUP, signal.SIG_IGN if kind == "nohup" else signal.SIG_DFL)
    writer = os.fork()
    if not writer:
        write()
    os.write(told, b"%d" % writer)
    os.waitpid(writer, 0)
    os._exit(0)


def has_terminal(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rpartition(")")[2].split()[4] != "0"


if os.path.exists(started):
    os.unlink(started)
told, tells = os.pipe()
leader, terminal = pty.fork()
if not leader:
    lead(tells)
writer = int(os.read(told, 20))
ended = os.pidfd_open(writer)
wait_until("the command", lambda: os.path.exists(started))
os.close(terminal)
wait_until("the terminal to go", lambda: not has_terminal(writer))
if kind != "nohup":
    os.waitpid(leader, 0)
if kind != "foreground":
    time.sleep(1)  # it is looked at in the meantime, and found to be no reason
    with open(go, "w"):
        pass
if not select.select([ended], [], [], 180)[0]:
    sys.exit("waited in vain for the writer to end")
if kind == "nohup":
    os.waitpid(leader, 0)
os.unlink(started)
with open(path) as f:
    response = json.load(f)
if not eval(wanted, {}, response):
    sys.exit("not %s: %r" % (wanted, response))
