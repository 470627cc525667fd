#!/usr/bin/python3
"""
A control plane whose answers have millions of values: `large_answers.py SANDBOXCTL` asks it for the list of an account once
for each shape, and prints what that took, as TAP.
"""
import http.server
import os
import signal
import subprocess
import sys
import threading
import time

TEXT = 12 * 1024 * 1024
# What is read without a bound takes gigabytes.
PEAK_KB = 128 * 1024
PATIENCE_S = 60
SHAPES = {
    "objects": lambda: b"[" + b"{}," * (TEXT // 3) + b"{}]",
    "lists": lambda: b"[" + b"[]," * (TEXT // 3) + b"[]]",
    "keys": lambda: b"{" + b"".join(b'"k%d":1,' % n for n in range(1000000)) + b'"a":1}',
    "numbers": lambda: b"[" + b"1," * (TEXT // 2) + b"1]",
    "digits": lambda: b"1" * TEXT,
    "nested": lambda: b"[" * TEXT,
    "quotes": lambda: b"['\"'," + b"{}," * (TEXT // 3) + b"'\"']",
}


class Plane(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        answer = SHAPES[self.path.split("/")[1]]()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        try:
            self.wfile.write(answer)
        except OSError:
            pass

    def log_message(self, *_):
        pass


def ask(program, port, shape):
    """Its exit status, the seconds that it took, and the most memory that it had."""
    env = dict(os.environ, E2B_API_URL="http://127.0.0.1:%d/%s" % (port, shape), E2B_API_KEY="e2b_" + "0" * 40)
    began = time.monotonic()
    child = subprocess.Popen([program, "list", "e2b"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    timer = threading.Timer(PATIENCE_S, child.kill)
    timer.start()
    _, status, usage = os.wait4(child.pid, 0)
    timer.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, time.monotonic() - began, usage.ru_maxrss


def serve(server):
    """In a process of its own: what one has taken before exec(2) counts as its program's, and what its parent has."""
    child = os.fork()
    if not child:
        server.serve_forever()
    return child


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Plane)
    child = serve(server)
    failed = False
    for n, name in enumerate(SHAPES):
        status, seconds, peak_kb = ask(sys.argv[1], server.server_address[1], name)
        good = status > 0 and peak_kb <= PEAK_KB
        failed = failed or not good
        print("%s %d - an answer of %s is refused and takes little memory" % ("ok" if good else "not ok", n + 1, name))
        print("# %s: exit status %d, %.1f s, %d KiB" % (name, status, seconds, peak_kb))
    print("1..%d" % len(SHAPES))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    sys.exit(failed)


main()
