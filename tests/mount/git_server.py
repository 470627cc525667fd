"""git_server.py DIR FILE: serves files of DIR over HTTP on a free port, which it prints, to
x-access-token with the token in FILE alone. FILE.seen is made when the token is an argument of a
process that runs during a request."""
import base64
import functools
import http.server
import sys
from pathlib import Path

TOKEN = Path(sys.argv[2]).read_bytes().strip()


def arguments():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes()
        except OSError:  # the process has ended
            pass


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        wanted = "Basic " + base64.b64encode(b"x-access-token:" + TOKEN).decode()
        if any(TOKEN in one for one in arguments()):
            Path(sys.argv[2] + ".seen").touch()
        if self.headers.get("Authorization") == wanted:
            super().do_GET()
            return
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="git"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=sys.argv[1]))
print(server.server_address[1], flush=True)
server.serve_forever()
