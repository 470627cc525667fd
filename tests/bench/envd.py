"""A sandbox of E2B spoken to without sandboxfs: one warm connection, files whole, commands as bare as its protocol allows."""
import base64
import http.client
import urllib.parse

from processes import Failure

ENDED = b"all of it was done"


def field(number, value):
    """One field of a protobuf message: a flag, or bytes."""
    if isinstance(value, bool):
        return bytes([number << 3, value])
    length, varint = len(value), b""
    while length > 0x7F:
        varint += bytes([length & 0x7F | 0x80])
        length >>= 7
    return bytes([number << 3 | 2]) + varint + bytes([length]) + value


def start_request(script):
    """process.StartRequest: /bin/sh -c, without standard input."""
    process = field(1, b"/bin/sh") + field(2, b"-c") + field(2, script)
    return field(1, process) + field(4, False)


class Envd:
    def __init__(self, url, sandbox, user):
        """`sandbox` as the control plane told of it."""
        where = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
        basic = base64.b64encode(f"{user}:".encode()).decode()
        self.headers = {"E2b-Sandbox-Id": sandbox["sandboxID"], "E2b-Sandbox-Port": "49983"}
        self.headers |= {"Authorization": f"Basic {basic}", "X-Access-Token": sandbox["envdAccessToken"]}
        # The link's way there and back for a new connection is over before anything is timed.
        self.ask("GET", "/health")

    def ask(self, method, path, body=None, **headers):
        self.connection.request(method, path, body, {**self.headers, **headers}, encode_chunked=bool(headers))
        answer = self.connection.getresponse()
        said = answer.read()
        if answer.status >= 300:
            raise Failure(f"{method} {path}: {answer.status}: {said[:200]}")
        return said

    def close(self):
        self.connection.close()

    def upload(self, path, pieces):
        """A file in one request, sent as its pieces come."""
        query = urllib.parse.urlencode({"path": path})
        kind = {"Content-Type": "application/octet-stream", "Transfer-Encoding": "chunked"}
        self.ask("POST", f"/files?{query}", pieces, **kind)

    def run(self, script):
        """A command, to its end; what it prints is received and dropped."""
        message = start_request(b"set -e\n" + script + b"\nprintf '" + ENDED + b"'")
        envelope = b"\0" + len(message).to_bytes(4, "big") + message
        headers = {**self.headers, "Content-Type": "application/connect+proto", "Connect-Protocol-Version": "1"}
        self.connection.request("POST", "/process.Process/Start", envelope, headers)
        said = self.connection.getresponse().read()
        if ENDED not in said:
            raise Failure(f"in the sandbox: {said[-200:]}")
