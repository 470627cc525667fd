"""One trial of exec.t: signals for a process that waits for its command.

exec-signal.py WANTED SETUP SIGNALS COMMAND. The command creates the file `started` in its working directory.
"""
import json
import os
import signal
import subprocess
import sys
import time

wanted, setup, signals, command = sys.argv[1:]
path = os.environ["EXEC"]
started = os.environ["STORE"] + "/started"

WRITER = """
import errno, os, signal, sys
# Whoever runs the tests may ignore some: under nohup, in the background.
for name in ("HUP", "INT", "QUIT", "TERM"):
    signal.signal(getattr(signal, "SIG" + name), signal.SIG_DFL)
exec(sys.argv[1])
fd = os.open(sys.argv[2], os.O_WRONLY)
os.write(fd, sys.argv[3].encode())
try:
    os.close(fd)
    print("closed")
except OSError as e:
    print(errno.errorcode[e.errno])
"""


def wait_until(what, condition):
    end = time.monotonic() + 180
    while not condition():
        if time.monotonic() > end:
            sys.exit("waited in vain for " + what)
        time.sleep(0.02)


if os.path.exists(started):
    os.unlink(started)
writer = subprocess.Popen(
    [sys.executable, "-c", WRITER, setup, path, command], stdout=subprocess.PIPE, text=True
)
wait_until("the command", lambda: os.path.exists(started))
for i, name in enumerate(signals.split()):
    if i:  # the one before shall have been looked at, and found to be no reason
        time.sleep(0.4)
    writer.send_signal(getattr(signal, "SIG" + name))
said = writer.communicate(timeout=180)[0].strip()
status = writer.returncode
os.unlink(started)
with open(path) as f:
    response = json.load(f)
seen = dict(response, said=said, status=status)
if not eval(wanted, {}, seen):
    sys.exit("not %s: %r" % (wanted, seen))
