"""Links to a server on this machine: the relay of tests/relay with a delay and a bandwidth."""
import contextlib
import json
import socket
from dataclasses import dataclass

from processes import ready_line, service


@dataclass(frozen=True)
class Link:
    round_trip_ms: float
    mbit: float  # 0: without limit

    def __str__(self):
        limit = f"{self.mbit:g} Mbit/s" if self.mbit else "no limit"
        return f"{self.round_trip_ms:g} ms, {limit}"


class Relay:
    """One port of a server, seen through a link."""

    def __init__(self, process, control):
        self.port = ready_line(process)["port"]
        self.control = control

    def tell(self, command):
        with socket.socket(socket.AF_UNIX) as relay:
            relay.settimeout(10)
            relay.connect(self.control)
            relay.sendall(command.encode() + b"\n")
            return json.loads(relay.makefile().readline())


@contextlib.contextmanager
def relay(program, link, port, scratch):
    control = f"{scratch}/relay.{port}"
    options = [f"--delay={link.round_trip_ms / 2}", f"--bandwidth={link.mbit}", f"--control={control}"]
    with service([program, *options, str(port)], f"{scratch}/relay.log") as process:
        yield Relay(process, control)
