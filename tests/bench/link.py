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
    up_mbit: float = None  # None: as down
    stall_every_s: float = 0  # so often nothing moves for a second; 0: never
    forget_s: float = 0  # idle for so long, a connection is dead; 0: never
    dies: bool = False  # all connections die once in each work
    tls: bool = False  # and HTTP/2, where the protocol is HTTP

    def __str__(self):
        limit = f"{self.mbit:g} Mbit/s" if self.mbit else "no limit"
        if self.up_mbit:
            limit = f"{self.up_mbit:g} up and {self.mbit:g} Mbit/s down"
        return f"{self.round_trip_ms:g} ms, {limit}"

    @property
    def options(self):
        """The relay's."""
        up = self.mbit if self.up_mbit is None else self.up_mbit
        rates = [f"--down={self.mbit}", f"--up={up}"]
        return [f"--delay={self.round_trip_ms / 2}", *rates, f"--forget={self.forget_s}"]


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
    with service([program, *link.options, f"--control={control}", str(port)], f"{scratch}/relay.log") as process:
        yield Relay(process, control)
