#!/usr/bin/env python3
"""sandbox_backend.py MOUNT - serves a mount of sandboxfs to those who want a sandbox as three calls.

    backend = MountBackend("/mnt/sbx")
    backend.upload_files([("/home/user/src/a.py", b"print(1)")])    # one result for each file, in their order
    backend.download_files(["/home/user/src/a.py"])
    backend.execute("python3 src/a.py")

Paths are those of the sandbox, absolute; what is not below the directory that the mount shows is an invalid path. A file
that failed has an `error`: file_not_found, permission_denied, is_directory, invalid_path, or what else went wrong in words.

As a program it answers on standard output, a line of JSON each, the lines that it reads on standard input, contents in base64:

    {"call": "execute", "command": "ls", "timeout": 60}
    {"call": "upload_files", "files": [["/home/user/a", "aGVsbG8="]]}
    {"call": "download_files", "paths": ["/home/user/a"]}

A standard library of Python is all it needs: the mount does the rest.
"""
import base64
import dataclasses
import errno
import json
import os
import posixpath
import shlex
import sys

PIECE = 1 << 20

ERROR_CODES = {
    errno.ENOENT: "file_not_found",
    errno.EACCES: "permission_denied",
    errno.EPERM: "permission_denied",
    errno.EROFS: "permission_denied",
    errno.EISDIR: "is_directory",
    errno.EINVAL: "invalid_path",
    errno.ENOTDIR: "invalid_path",
    errno.EEXIST: "invalid_path",  # a parent is a file
    errno.ENAMETOOLONG: "invalid_path",
}


@dataclasses.dataclass
class FileResult:
    path: str
    error: str = None
    content: bytes = None  # of a download that has no error


@dataclasses.dataclass
class ExecuteResult:
    output: str
    exit_code: int  # None: it could not be determined
    truncated: bool = False


def error_code(error):
    return ERROR_CODES.get(error.errno) or error.strerror or str(error)


class MountBackend:
    def __init__(self, mount):
        self.mount = os.path.abspath(mount)
        with open(self._control("id"), encoding="ascii") as file:
            self.id = file.read().rstrip("\n")
        with open(self._control("status"), encoding="utf-8") as file:
            self.root = json.load(file)["root"]

    def upload_files(self, files):
        """The sandbox has what has no error when this returns: all leave together, and are waited for once."""
        written = [self._try(path, self._write, content) for path, content in files]
        if self._sync():
            return written
        return [result if result.error else self._try(result.path, self._arrived) for result in written]

    def download_files(self, paths):
        return [self._try(path, self._load) for path in paths]

    def execute(self, command, timeout=None):
        """A whole text for the sandbox's shell. `timeout` in seconds, then its exit code is 124; 0 or None: the mount's own."""
        if timeout:
            command = f'timeout -k 5 {timeout:g} "$0" -c {shlex.quote(command)}'
        try:
            answer = json.loads(self._run(command))
        except OSError as error:
            return ExecuteResult(f"the command did not run: {error.strerror}", None)
        return ExecuteResult(answer["output"] or answer["error"] or "", answer["exit_code"], answer["truncated"])

    def _control(self, name):
        return os.path.join(self.mount, ".sandbox", name)

    def _sync(self):
        """Whether the sandbox has everything."""
        try:
            with open(self._control("sync"), "wb", buffering=0) as sync:
                sync.write(b"1")
            return True
        except OSError:
            return False

    def _run(self, command):
        """What was written runs at the first read, and what is read on the same handle is its own response."""
        handle = os.open(self._control("exec"), os.O_RDWR)
        try:
            rest = command.encode()
            while rest:
                rest = rest[os.write(handle, rest):]
            return b"".join(iter(lambda: os.read(handle, PIECE), b""))
        finally:
            os.close(handle)

    def _try(self, path, act, *arguments):
        try:
            return FileResult(path, content=act(self._local(path), *arguments))
        except OSError as error:
            return FileResult(path, error_code(error))

    def _local(self, path):
        """Where the mount has it. `..` is taken away here: nothing may lead out of the mount."""
        whole = posixpath.normpath(path)
        below = posixpath.relpath(whole, self.root)
        if not path.startswith("/") or "\0" in path or below == ".." or below.startswith("../"):
            raise OSError(errno.EINVAL, "not a path of the sandbox")
        return os.path.join(self.mount, below)

    @staticmethod
    def _write(local, content):
        os.makedirs(os.path.dirname(local), exist_ok=True)
        with open(local, "wb") as file:
            file.write(content)

    @staticmethod
    def _arrived(local):
        """An error is this file's."""
        with open(local, "rb") as file:
            os.fsync(file.fileno())

    @staticmethod
    def _load(local):
        with open(local, "rb") as file:
            return file.read()


# ---- As a program ----

def plain(result):
    """For JSON, which has no bytes."""
    fields = dataclasses.asdict(result)
    if fields.get("content") is not None:
        fields["content"] = base64.b64encode(fields["content"]).decode()
    return fields


def answer(backend, request):
    if request["call"] == "execute":
        return plain(backend.execute(request["command"], request.get("timeout")))
    if request["call"] == "upload_files":
        files = [(path, base64.b64decode(content)) for path, content in request["files"]]
        return [plain(result) for result in backend.upload_files(files)]
    if request["call"] == "download_files":
        return [plain(result) for result in backend.download_files(request["paths"])]
    return {"error": f"no such call: {request['call']}"}


def main():
    backend = MountBackend(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(answer(backend, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
