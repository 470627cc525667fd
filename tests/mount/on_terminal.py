"""on_terminal.py FILE COMMAND...: runs it with a terminal as standard error, of which FILE gets all."""
import os
import pty
import subprocess
import sys

ours, theirs = pty.openpty()
process = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stderr=theirs)
os.close(theirs)
with open(sys.argv[1], "wb") as file:
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # nobody has the other end any more
            break
        if not piece:
            break
        file.write(piece)
sys.exit(process.wait())
