#!/usr/bin/python3
"""
A control plane whose answers have millions of values: `large_answers.py SANDBOXCTL SANDBOXFS DIRECTORY` asks it for the list
of an account once for each shape, and prints what that took, as TAP. Then programs are ended by SIGTERM while one comes.
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
# Is there once an answer was sent whole.
SENT = sys.argv[3] + ".sent"
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
        if self.path.startswith("/most/"):
            return self.go_on()
        answer = SHAPES[self.path.split("/")[1]]()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        try:
            self.wfile.write(answer)
        except OSError:
            pass

    def go_on(self):
        """Nearly as much as is read, and then blanks for as long as anybody waits for more."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        try:
            self.wfile.write(b"[" + b'{"a":1},' * 20000 + b'"' + b"\\u20ac" * (TEXT // 12) + b'"]')
            while True:
                with open(SENT, "w"):
                    pass
                self.wfile.write(b" ")
                time.sleep(0.05)
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


def terminate(command, port):
    """Its exit status and the seconds that it took from SIGTERM, which comes when it has most of the answer."""
    env = dict(os.environ, E2B_API_URL="http://127.0.0.1:%d/most" % port, E2B_API_KEY="e2b_" + "0" * 40)
    if os.path.exists(SENT):
        os.unlink(SENT)
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE_S
    while not os.path.exists(SENT) and child.poll() is None and time.monotonic() < end:
        time.sleep(0.001)
    was_there = child.poll() is None
    began = time.monotonic()
    child.terminate()
    try:
        status = child.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        status = None
    return was_there, status, time.monotonic() - began


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
    programs = {"sandboxctl": [sys.argv[1], "list", "e2b"], "sandboxfs": [sys.argv[2], "-f", "e2b:iabc", sys.argv[3]]}
    for n, (name, command) in enumerate(programs.items()):
        was_there, status, seconds = terminate(command, server.server_address[1])
        good = was_there and status is not None and seconds < PATIENCE_S
        failed = failed or not good
        print("%s %d - %s ends by SIGTERM while a large answer comes" % ("ok" if good else "not ok", len(SHAPES) + n + 1, name))
        print("# exit status %s, %.2f s" % (status, seconds))
    print("1..%d" % (len(SHAPES) + len(programs)))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    sys.exit(failed)


main()
