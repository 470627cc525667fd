#!/usr/bin/python3
"""frames.py LOG PROGRAM WORDS... - a program that reaches a sandbox (ssh, docker), and a line in LOG for each request.

A session that the program begins is a request, and so is each frame from here that asks for something
(providers/helper/wire.h): pieces of one that goes on, cancellations and reports of what was received are none. `bytes N` is
for what passed either way. Requests are sought behind the text with which a helper is found, stored and started.
"""
import os
import struct
import subprocess
import sys
import threading

HEADER = struct.Struct("<4sIB3sI")
MAGIC = b"SbX"
HELLO = 2
ASKING = {HELLO: "hello", 3: "list", 4: "fetch", 5: "apply", 6: "watch", 10: "command", 11: "stop"}
PIECE = 1 << 18


class Requests:
    """Finds the frames in a stream of bytes that comes in pieces."""

    def __init__(self, tell):
        self.tell, self.rest, self.payload, self.has_begun = tell, b"", 0, False

    def take(self, data):
        data = self.rest + data[self.skipped(data):]
        while len(data) >= HEADER.size:
            magic, _, kind, zeros, length = HEADER.unpack_from(data)
            if magic[:3] == MAGIC and zeros == bytes(3) and (self.has_begun or (kind, length) == (HELLO, 0)):
                self.has_begun = True
                if kind in ASKING:
                    self.tell(ASKING[kind])
                self.payload = length
                data = data[HEADER.size:]
                data = data[self.skipped(data):]
            elif self.has_begun:
                sys.exit("frames.py: what follows a frame is none")
            else:
                at = data.find(MAGIC, 1)
                data = data[at:] if at > 0 else data[1 - len(MAGIC):]
        self.rest = data

    def skipped(self, data):
        """How much of it belongs to the frame before."""
        count = min(self.payload, len(data))
        self.payload -= count
        return count


def pump(source, target, see):
    while piece := os.read(source, PIECE):
        see(piece)
        while piece:
            piece = piece[os.write(target, piece):]


def follow(source, target, see, end):
    try:
        pump(source, target, see)
    except OSError:
        pass  # one of the two has ended
    finally:
        end()


def main(log, *words):
    out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    tell = lambda what: os.write(out, f"{what}\n".encode())  # noqa: E731
    tell("session")
    requests = Requests(tell)

    def see(piece):
        tell(f"bytes {len(piece)}")
        requests.take(piece)

    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as program:
        feeding = (0, program.stdin.fileno(), see, program.stdin.close)
        threading.Thread(target=follow, args=feeding, daemon=True).start()
        follow(program.stdout.fileno(), 1, lambda piece: tell(f"bytes {len(piece)}"), lambda: None)
        # Nobody reads any more, or its output has ended; its input ends with this process.
        sys.stdout.flush()
        status = program.wait()
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main(*sys.argv[1:])
