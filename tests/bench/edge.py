"""An edge as vendors have one before a server on this machine: HAProxy, which speaks TLS, and HTTP/2 where it is asked to."""
import contextlib
import os
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

from processes import run, service, wait_until

CONFIG = """\
defaults
    mode http
    timeout connect 60s
    timeout client 600s
    timeout server 600s
    timeout http-keep-alive 600s
frontend edge
    bind fd@{fd} ssl crt {certificate} alpn h2,http/1.1
    default_backend server
backend server
    server server 127.0.0.1:{port}
"""
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


@dataclass
class Edge:
    port: int
    authority: Path  # the certificate to be trusted


def certificates(folder):
    """An authority's, and with its key that of this machine; made once for a folder."""
    authority, certificate = folder / "ca.pem", folder / "edge.pem"
    if certificate.exists():
        return authority, certificate
    of_authority = ["-subj", "/CN=authority", "-addext", "basicConstraints=critical,CA:TRUE", "-days", "2"]
    run(["openssl", "req", "-x509", *KEY, "-keyout", folder / "ca.key", "-out", authority, *of_authority], 60)
    run(["openssl", "req", *KEY, "-keyout", folder / "edge.key", "-out", folder / "edge.csr", "-subj", "/CN=edge"], 60)
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    signed = ["-CA", authority, "-CAkey", folder / "ca.key", "-CAcreateserial", "-days", "2", "-extfile", folder / "names"]
    run(["openssl", "x509", "-req", "-in", folder / "edge.csr", "-out", folder / "edge.crt", *signed], 60)
    certificate.write_text((folder / "edge.crt").read_text() + (folder / "edge.key").read_text())
    return authority, certificate


def accepts(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


@contextlib.contextmanager
def edge(folder, port):
    """Between clients and that port."""
    authority, certificate = certificates(folder)
    haproxy = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
    with socket.create_server(("127.0.0.1", 0)) as server:
        config = folder / f"edge.{port}.cfg"
        config.write_text(CONFIG.format(fd=server.fileno(), certificate=certificate, port=port))
        os.set_inheritable(server.fileno(), True)
        with service([haproxy, "-db", "-f", config], folder / "edge.log", keeps=[server.fileno()]):
            own = server.getsockname()[1]
            wait_until("haproxy", 20, accepts, own)
            yield Edge(own, authority)
