"""git_server.py DIR TOKEN: serves files of DIR over HTTP on a free port, which it prints, to x-access-token with TOKEN alone."""
import base64
import functools
import http.server
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        wanted = "Basic " + base64.b64encode(("x-access-token:" + sys.argv[2]).encode()).decode()
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
