#!/usr/bin/python3
"""A server behind the relay, and what a client sees through it.

    relay-peer.py serve              prints its port; answers each line: `echo N` with the N bytes that follow,
                                     `send N` with N bytes, `take N` with a line when N bytes have come, `hello` first
    relay-peer.py CHECK PORT ...     one of the functions below; prints what is wrong, if anything, and fails then

Lower bounds are exact, because a link cannot be faster than it says. What takes longer than the link says is measured
again, since a loaded machine may be late; a link that is always late fails.
"""
import fcntl
import json
import selectors
import socket
import socketserver
import subprocess
import sys
import termios
import time

DEADLINE = 60
SLACK = 2.0


# ---- The server ----


class Server(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            verb, count = line.split()
            getattr(self, verb.decode())(int(count))

    def echo(self, count):
        self.wfile.write(self.rfile.read(count))

    def send(self, count):
        self.wfile.write(bytes(count))

    def take(self, count):
        self.rfile.read(count)
        self.wfile.write(b"taken\n")


class Listener(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """Resets are what is tested."""


def serve():
    with Listener(("127.0.0.1", 0), Server) as listener:
        print(listener.server_address[1], flush=True)
        listener.serve_forever()


# ---- The client ----


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", int(port)), timeout=DEADLINE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, line, payload=b""):
        self.socket.sendall(line.encode() + b"\n" + payload)

    def read(self, count):
        """Up to `count` bytes: fewer if the connection ends before."""
        got = 0
        while got < count:
            some = self.socket.recv(min(count - got, 1 << 16))
            if not some:
                break
            got += len(some)
        return got

    def read_until_reset(self):
        got = 0
        try:
            while some := self.socket.recv(1 << 16):
                got += len(some)
        except ConnectionResetError:
            return got
        raise AssertionError(f"ended after {got} bytes without a reset")

    def echo(self, count=64):
        self.ask(f"echo {count}", bytes(count))
        assert self.read(count) == count, "the connection ended"

    def is_silent(self, seconds):
        self.socket.settimeout(seconds)
        try:
            self.socket.recv(1)
        except socket.timeout:
            return True
        finally:
            self.socket.settimeout(DEADLINE)
        return False

    def unacknowledged(self):
        """Bytes, as the kernel here knows."""
        left = bytearray(4)
        fcntl.ioctl(self.socket, termios.TIOCOUTQ, left)
        return int.from_bytes(left, sys.byteorder)


def seconds(action, *arguments):
    start = time.monotonic()
    action(*arguments)
    return time.monotonic() - start


def between(what, least, measure, *arguments):
    end = time.monotonic() + 2 * DEADLINE
    while True:
        took = measure(*arguments)
        assert least <= took, f"{what} took {took:.4f} s, less than {least:.4f}"
        if took <= least + SLACK:
            return
        assert time.monotonic() < end, f"{what} took {took:.4f} s, {least:.4f} are enough"


def round_trip(port, delay_ms):
    client = Client(port)
    client.echo()
    between("a round trip", 2 * float(delay_ms) / 1e3, lambda: min(seconds(client.echo) for _ in range(5)))


def first_answer(port, delay_ms, round_trips):
    between("the first answer", 2 * float(delay_ms) / 1e3 * float(round_trips), seconds, lambda: Client(port).echo())


def least_seconds(count, mbit, delay_ms):
    return count * 8 / (float(mbit) * 1e6) + 2 * float(delay_ms) / 1e3


def down(client, count):
    client.ask(f"send {count}")
    assert client.read(count) == count


def up(client, count):
    client.ask(f"take {count}", bytes(count))
    assert client.read(6) == 6


def transfers(port, count):
    client = Client(port)
    client.echo()
    down(client, int(count))
    up(client, int(count))


def bandwidth(port, delay_ms, mbit, count):
    """`count` bytes down, and up; each needs a round trip besides."""
    least = least_seconds(int(count), mbit, delay_ms)
    client = Client(port)
    client.echo()
    for way in down, up:
        between(f"{count} bytes {way.__name__}", least, seconds, way, client, int(count))


def ways(port, delay_ms, up_mbit, down_mbit, count):
    """As many bytes each way, each as fast as its way is."""
    client = Client(port)
    client.echo()
    for way, mbit in (down, down_mbit), (up, up_mbit):
        least = least_seconds(int(count), mbit, delay_ms)
        between(f"{count} bytes {way.__name__}", least, seconds, way, client, int(count))


def forget(port, idle):
    """A connection that is used stays, one that was idle for so many seconds is silent."""
    client = Client(port)
    wait, used = float(idle) / 4, time.monotonic()
    while wait < DEADLINE:
        time.sleep(wait)
        asked = time.monotonic()
        client.ask("echo 1", b"x")
        if client.is_silent(5):
            break
        wait, used = wait * 2, asked
    assert wait < DEADLINE, "it was never forgotten"
    assert time.monotonic() - 5 - used >= float(idle) / 2, "it was forgotten early"
    Client(port).echo()


def shared_bandwidth(port, delay_ms, mbit, count):
    """Two downloads at once get half of it each, and end together."""
    count = int(count)
    least = least_seconds(2 * count, mbit, delay_ms)

    def both():
        clients = [Client(port), Client(port)]
        start = time.monotonic()
        for client in clients:
            client.ask(f"send {count}")
        alone = time.monotonic() - start
        ends = read_all(clients, count)
        # The one that asked first had all of the link until then.
        first = min(ends) - start + alone
        assert first >= 0.75 * least, f"one was done after {first:.3f} s of {least:.3f}"
        return max(ends) - start

    between("both", least, both)


def read_all(clients, count):
    """When each of them has read its `count` bytes."""
    selector = selectors.DefaultSelector()
    left = {client: count for client in clients}
    ends = []
    for client in clients:
        selector.register(client.socket, selectors.EVENT_READ, client)
    while selector.get_map():
        ready = selector.select(DEADLINE)
        assert ready, "no more bytes"
        for key, _ in ready:
            left[key.data] -= len(key.data.socket.recv(1 << 16))
            if left[key.data] <= 0:
                ends.append(time.monotonic())
                selector.unregister(key.fileobj)
    return ends


def slow_start(port, delay_ms, count, round_trips):
    """Beyond the request's own round trip, which carries the first ten segments."""
    def on_a_new_connection():
        client = Client(port)
        client.echo()
        return seconds(down, client, int(count))

    between("a download", 2 * float(delay_ms) / 1e3 * float(round_trips), on_a_new_connection)


def half_close(port):
    """What was asked before the client ended its direction is still answered."""
    client = Client(port)
    client.ask("send 100000")
    client.socket.shutdown(socket.SHUT_WR)
    assert client.read(100001) == 100000


def many_at_once(port, count):
    clients = [Client(port) for _ in range(int(count))]
    for client in clients:
        client.ask("echo 1000", bytes(1000))
    for client in clients:
        assert client.read(1000) == 1000


def held_back(port, limit, relay, control):
    """A receiver that does not read holds up its sender, and nobody else."""
    lazy, busy = Client(port), Client(port)
    lazy.ask(f"send {100 << 20}")
    taken = -1
    while (now := json.loads(tell(relay, control, "counters"))["bytes_to_client"]) > taken + 64:
        taken = now
        busy.echo()
    assert taken < int(limit), f"{taken} bytes were taken"


# ---- Faults: RELAY and CONTROL are the program and its socket ----


def tell(relay, control, *words):
    return subprocess.run(
        [relay, f"--tell={control}", *map(str, words)], check=True, timeout=DEADLINE, capture_output=True, text=True
    ).stdout


def is_refused(port):
    try:
        Client(port)
    except ConnectionRefusedError:
        return True
    return False


def cut(port, relay, control):
    client = Client(port)
    client.echo()
    tell(relay, control, "cut")
    assert client.read_until_reset() == 0
    Client(port).echo()


def refuse(port, relay, control):
    client = Client(port)
    client.echo()

    def refusal():
        start = time.monotonic()
        tell(relay, control, "refuse", 1)
        was_refused = is_refused(port)
        # A busy machine may come to it when the refusal is over.
        assert was_refused or time.monotonic() - start >= 1, "a new connection was accepted"
        client.echo()
        while is_refused(port):
            assert time.monotonic() - start < DEADLINE, "refused for ever"
        return time.monotonic() - start

    between("the refusal", 1, refusal)
    Client(port).echo()


def stall(port, relay, control):
    client = Client(port)
    client.echo()

    def held_answer():
        start = time.monotonic()
        tell(relay, control, "stall", 1)
        client.echo()
        return time.monotonic() - start

    between("an answer held back", 1, held_answer)


def stall_until_resumed(port, relay, control):
    client = Client(port)
    client.echo()
    tell(relay, control, "stall", 0)
    client.ask("echo 1", b"x")
    assert client.is_silent(0.3), "something moved"
    tell(relay, control, "resume")
    assert client.read(1) == 1


def ghost(port, relay, control):
    client = Client(port)
    client.echo()
    tell(relay, control, "ghost")
    client.ask("echo 1", b"x")
    assert client.is_silent(0.3), "it still answers"
    Client(port).echo()


def lose(port, relay, control):
    client = Client(port)
    client.echo()
    tell(relay, control, "lose")
    end = time.monotonic() + DEADLINE
    while not client.unacknowledged() and time.monotonic() < end:
        client.ask("echo 1", b"x")
    assert client.is_silent(0.3), "it still answers"
    assert client.unacknowledged() > 0, "what was sent was acknowledged"
    Client(port).echo()


def reset_after(port, relay, control):
    """A request of 12 bytes and an endless answer: the 5000 of both directions leave 4988 for it."""
    tell(relay, control, "reset-after", 5000)
    client = Client(port)
    client.ask("send 1000000")
    got = client.read_until_reset()
    tell(relay, control, "reset-after", 0)
    assert got == 5000 - len("send 1000000\n"), f"{got} bytes came"
    Client(port).echo(10000)


def reset_after_from_server(port, relay, control):
    tell(relay, control, "reset-after-from-server", 5000)
    client = Client(port)
    client.ask("take 20000", bytes(20000))
    assert client.read(6) == 6, "what the client sends was counted"
    client.ask("send 1000000")
    got = client.read_until_reset()
    tell(relay, control, "reset-after-from-server", 0)
    assert got == 5000 - 6, f"{got} bytes came"


def server_is_gone(port):
    try:
        client = Client(port)
    except ConnectionResetError:
        return  # before connect(2) had looked at its answer
    assert client.read_until_reset() == 0


if __name__ == "__main__":
    try:
        globals()[sys.argv[1]](*sys.argv[2:])
    except AssertionError as wrong:
        sys.exit(f"{sys.argv[1]}: {wrong}")
