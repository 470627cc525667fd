"""The programs of pods, for kubernetes-server: .../pods/POD/exec as kubectl(1) asks for it from 1.30 on, a WebSocket of
v5.channel.k8s.io, in each of whose messages the first byte says which stream the others belong to.

A program is one of this machine, and its user is the owner of the container's directory. It goes on when its client goes,
and reads the end of its input: so do those of a kubelet.
"""
import base64
import hashlib
import json
import os
import subprocess
import threading

PROTOCOL = "v5.channel.k8s.io"
# RFC 6455, sections 1.3 and 5.2.
KEY_END = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
FIN, MASKED, OPCODE = 0x80, 0x80, 0x0F
CONTINUED, BINARY, CLOSE, PING, PONG = 0, 2, 8, 9, 10
STDIN, STDOUT, STDERR, ERROR, END_OF = 0, 1, 2, 3, 255


class Socket:
    def __init__(self, request):
        self.request, self.lock = request, threading.Lock()
        accepted = hashlib.sha1((request.headers["Sec-WebSocket-Key"] + KEY_END).encode()).digest()
        request.send_response(101)
        request.send_header("Upgrade", "websocket")
        request.send_header("Connection", "Upgrade")
        request.send_header("Sec-WebSocket-Accept", base64.b64encode(accepted).decode())
        request.send_header("Sec-WebSocket-Protocol", PROTOCOL)
        request.end_headers()
        request.close_connection = True

    def send(self, opcode, payload):
        size = len(payload)
        head = bytes([FIN | opcode, size]) if size < 126 else bytes([FIN | opcode, 126]) + size.to_bytes(2, "big")
        with self.lock:
            self.request.wfile.write(head + payload)

    def read(self, size):
        data = self.request.rfile.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def frame(self):
        first, second = self.read(2)
        size = second & ~MASKED
        if size > 125:
            size = int.from_bytes(self.read(2 if size == 126 else 8), "big")
        if not second & MASKED:
            raise ValueError("a client masks what it sends")
        mask, data = self.read(4), self.read(size)
        masks = int.from_bytes((mask * (size // 4 + 1))[:size], "little")
        return first, (int.from_bytes(data, "little") ^ masks).to_bytes(size, "little")

    def messages(self):
        """Those of streams, until the client goes."""
        message = b""
        while True:
            first, data = self.frame()
            if first & OPCODE == CLOSE:
                return
            if first & OPCODE == PING:
                self.send(PONG, data)
            elif first & OPCODE in (CONTINUED, BINARY):
                message += data
                if first & FIN:
                    yield message
                    message = b""


def feed(socket, program):
    try:
        for message in socket.messages():
            if message == bytes([END_OF, STDIN]):
                break
            if message[0] == STDIN:
                program.stdin.write(message[1:])
    except (EOFError, OSError):
        pass
    program.stdin.close()


def drain(socket, source, channel):
    """To its end, also where the client has gone: the program does not notice."""
    while piece := os.read(source.fileno(), 32768):
        try:
            socket.send(BINARY, bytes([channel]) + piece)
        except OSError:
            pass


def status_of(code):
    if not code:
        return {"metadata": {}, "status": "Success"}
    causes = [{"reason": "ExitCode", "message": str(code if code > 0 else 128 - code)}]
    return failure("NonZeroExitCode", f"command terminated with non-zero exit code: exit status {causes[0]['message']}", causes)


def failure(reason, message, causes=()):
    return {"metadata": {}, "status": "Failure", "reason": reason, "message": message, "details": {"causes": list(causes)}}


def start(place, command):
    env = {"PATH": os.environ["PATH"], "HOME": place["dir"], "LC_ALL": "C.UTF-8", **place.get("env", {})}
    owner = os.stat(place["dir"])
    user = {} if os.geteuid() else {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=place["dir"], env=env, bufsize=0, start_new_session=True, **pipes, **user)


def run(socket, place, command):
    """The status with which the program ended."""
    if not place["shell"]:
        return failure("InternalError", "Internal error occurred: error executing command in container: failed to exec in "
                       f'container: exec: "{command[0]}": stat {command[0]}: no such file or directory: unknown')  # fmt: skip
    with start(place, command) as program:
        threading.Thread(target=feed, args=(socket, program), daemon=True).start()
        outputs = [threading.Thread(target=drain, args=(socket, source, channel))
                   for source, channel in ((program.stdout, STDOUT), (program.stderr, STDERR))]  # fmt: skip
        for output in outputs:
            output.start()
        for output in outputs:
            output.join()
        return status_of(program.wait())


def serve(request, place, command):
    socket = Socket(request)
    try:
        socket.send(BINARY, bytes([ERROR]) + json.dumps(run(socket, place, command)).encode())
        socket.send(CLOSE, (1000).to_bytes(2, "big"))
    except OSError:
        pass
