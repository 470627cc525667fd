"""backend.py MOUNT ROOT_FILES [PROGRAM...]: what users of sandboxes expect of the three calls of tools/examples/sandbox_backend.py, as TAP.

ROOT_FILES: "yes" where whoever runs this may read and write every file, which tells nothing of permissions.
PROGRAM: another one that answers the same lines of JSON; the calls are then made through it.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys
import threading

EXAMPLES = pathlib.Path(__file__).parents[2] / "tools" / "examples"
sys.dont_write_bytecode = True
sys.path.insert(0, str(EXAMPLES))
import sandbox_backend  # noqa: E402

count = 0


def check(name, got, wanted):
    global count
    count += 1
    print(f"{'ok' if got == wanted else 'not ok'} {count} - {name}")
    if got != wanted:
        print(f"# got:    {got!r}\n# wanted: {wanted!r}")


class ProgramBackend:
    """The calls through a program: one of its own for each thread."""

    def __init__(self, mount, program):
        served = sandbox_backend.MountBackend(mount)
        self.mount, self.program, self.id, self.root = mount, program, served.id, served.root
        self.own = threading.local()

    def _ask(self, **request):
        if not hasattr(self.own, "program"):
            self.own.program = subprocess.Popen([*self.program, self.mount], text=True, stdin=subprocess.PIPE,
                                                stdout=subprocess.PIPE)
        print(json.dumps(request), file=self.own.program.stdin, flush=True)
        return json.loads(self.own.program.stdout.readline())

    @staticmethod
    def _result(fields):
        content = fields["content"]
        return sandbox_backend.FileResult(fields["path"], fields["error"],
                                          content if content is None else base64.b64decode(content))

    def upload_files(self, files):
        files = [[path, base64.b64encode(content).decode()] for path, content in files]
        return [self._result(fields) for fields in self._ask(call="upload_files", files=files)]

    def download_files(self, paths):
        return [self._result(fields) for fields in self._ask(call="download_files", paths=paths)]

    def execute(self, command, timeout=None):
        return sandbox_backend.ExecuteResult(**self._ask(call="execute", command=command, timeout=timeout))


mount, all_may = sys.argv[1], sys.argv[2] == "yes"
program = sys.argv[3:] or [sys.executable, str(EXAMPLES / "sandbox_backend.py")]
backend = ProgramBackend(mount, program) if sys.argv[3:] else sandbox_backend.MountBackend(mount)
root = backend.root


def at(name):
    return f"{root}/{name}"


def errors(results):
    return [result.error for result in results]


def upload(*files):
    return errors(backend.upload_files([(at(name), content) for name, content in files]))


def download(*names):
    return [(result.content, result.error) for result in backend.download_files([at(name) for name in names])]


def run(command, **more):
    result = backend.execute(command, **more)
    return result.output, result.exit_code, result.truncated


# ---- Files ----

check("the id is not empty", bool(backend.id), True)
everything = bytes(range(256)) * 5000
check("files are stored, their parents made", upload(("one", b"1\n"), ("a/b/c/deep", everything), ("empty", b"")), [None] * 3)
check("and loaded as they were", download("one", "a/b/c/deep", "empty"), [(b"1\n", None), (everything, None), (b"", None)])
check("a command sees them", run("cat one; wc -c < a/b/c/deep"), ("1\n1280000\n", 0, False))
check("what is there is replaced", (upload(("one", b"new")), download("one")), ([None], [(b"new", None)]))
check("what a command writes is loaded", (run("echo made > made")[1], download("made")), (0, [(b"made\n", None)]))
check("and what it changes", (run("echo again > made")[1], download("made")), (0, [(b"again\n", None)]))
odd = ["with blanks", "[brackets]", "it's", 'a "quote"', "ünïcode ☃", "$HOME", "line\nbreak", "-dash"]
check("any name will do", upload(*((name, name.encode()) for name in odd)), [None] * len(odd))
check("and is found again", download(*odd), [(name.encode(), None) for name in odd])
check("slashes may be too many", download("//one", "a//b/c/../c/deep")[0], (b"new", None))
check("no files, no results", (backend.upload_files([]), backend.download_files([])), ([], []))
check("a name may come twice", upload(("twice", b"1"), ("twice", b"2")), [None, None])

# ---- Errors, each for its own file ----

os.mkdir(os.path.join(mount, "folder"))
check("a missing file", download("missing"), [(None, "file_not_found")])
check("a directory is not loaded", download("folder"), [(None, "is_directory")])
check("nor replaced", upload(("folder", b"")), ["is_directory"])
check("a relative path is invalid", errors(backend.download_files(["one"]) + backend.upload_files([("one", b"")])),
      ["invalid_path"] * 2)
check("so is one with a NUL", (download("a\0b"), upload(("a\0b", b""))), ([(None, "invalid_path")], ["invalid_path"]))
check("and one whose parent is a file", (download("one/x"), upload(("one/x", b""), ("one/x/y", b""))),
      ([(None, "invalid_path")], ["invalid_path"] * 2))
check("and one that is too long", upload(("x" * 300, b"")), ["invalid_path"])
check("nothing leads out of the mount", errors(backend.download_files([at("../../../../../../etc/passwd"), ""])),
      ["invalid_path"] * 2)
run("echo secret > closed; chmod 000 closed; mkdir locked; chmod 500 locked")
if not all_may:
    check("what may not be read", download("closed"), [(None, "permission_denied")])
    check("and what may not be written", upload(("closed", b""), ("locked/new", b"")), ["permission_denied"] * 2)
check("each of a batch has its own result", download("one", "missing", "folder", "twice"),
      [(b"new", None), (None, "file_not_found"), (None, "is_directory"), (b"2", None)])
check("also when stored", upload(("good", b""), ("folder", b""), ("one/x", b""), ("better", b"")),
      [None, "is_directory", "invalid_path", None])

# ---- Commands ----

check("an exit code is no error", run("echo out; exit 3"), ("out\n", 3, False))
check("both streams are told", sorted(run("echo out; echo err >&2")[0].split()), ["err", "out"])
check("the text is the shell's, whole", run("x='a b'; for i in 1 2; do echo \"$x$i\"; done | sort -r"), ("a b2\na b1\n", 0, False))
check("a command that is not found", run("no-such-program-here")[1], 127)
check("standard input is empty", run("cat; echo done"), ("done\n", 0, False))
check("its time is limited", run("sleep 60", timeout=0.5)[1], 124)
check("and not touched when it is enough", run("echo 'quick \"one\"'", timeout=60), ('quick "one"\n', 0, False))
check("much output is not cut", [len(run("head -c 500000 /dev/zero | tr '\\0' x")[0]), run("true")[2]], [500000, False])

answers = [None] * 5


def run_one(number):
    answers[number] = run(f"echo {number}; exit {number}")


threads = [threading.Thread(target=run_one, args=(number,)) for number in range(5)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
check("commands at the same time have their own answers", answers, [(f"{n}\n", n, False) for n in range(5)])

# ---- As a program ----

requests = [
    {"call": "upload_files", "files": [[at("served"), base64.b64encode(b"\0\xff").decode()], ["relative", ""]]},
    {"call": "execute", "command": "wc -c < served"},
    {"call": "download_files", "paths": [at("served"), at("missing")]},
]
served = subprocess.run([*program, mount], text=True, capture_output=True, check=False,
                        input="".join(json.dumps(request) + "\n" for request in requests))
check("lines of JSON are answered", [json.loads(line) for line in served.stdout.splitlines()], [
    [{"path": at("served"), "error": None, "content": None}, {"path": "relative", "error": "invalid_path", "content": None}],
    {"output": "2\n", "exit_code": 0, "truncated": False},
    [{"path": at("served"), "error": None, "content": "AP8="}, {"path": at("missing"), "error": "file_not_found", "content": None}],
])
print(f"1..{count}")
