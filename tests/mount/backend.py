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
is_local = json.loads(pathlib.Path(mount, ".sandbox/status").read_text(encoding="utf-8"))["provider"] == "local"
# Where all of the sandbox is shown, /tmp is what everybody may write to; sandboxes of one machine may share it.
tag = f"/tmp/test_backend.{os.getpid()}"
base = root if root != "/" else f"{tag}.d"
there = os.path.join(mount, os.path.relpath(base, root))


def at(name):
    return f"{base}/{name}"


def errors(results):
    return [result.error for result in results]


def upload(*files):
    return errors(backend.upload_files([(at(name), content) for name, content in files]))


def download(*names):
    return [(result.content, result.error) for result in backend.download_files([at(name) for name in names])]


def run(command, **more):
    result = backend.execute(command if base == root else f"cd {base}; {command}", **more)
    return result.output, result.exit_code, result.truncated


if base != root:
    backend.execute(f"rm -rf {base}; mkdir {base}")

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

os.mkdir(os.path.join(there, "folder"))
check("a missing file", download("missing"), [(None, "file_not_found")])
check("a directory is not loaded", download("folder"), [(None, "is_directory")])
check("nor replaced", upload(("folder", b"")), ["is_directory"])
check("a relative path is invalid", errors(backend.download_files(["one"]) + backend.upload_files([("one", b"")])),
      ["invalid_path"] * 2)
check("so is one with a NUL", (download("a\0b"), upload(("a\0b", b""))), ([(None, "invalid_path")], ["invalid_path"]))
check("and one whose parent is a file", (download("one/x"), upload(("one/x", b""), ("one/x/y", b""))),
      ([(None, "invalid_path")], ["invalid_path"] * 2))
check("and one that is too long", upload(("x" * 300, b"")), ["invalid_path"])
outside = errors(backend.download_files([at("../../../../../../etc/passwd"), ""]))
check("nothing leads out of the mount", outside, ["invalid_path" if root != "/" else None, "invalid_path"])
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

# ---- What agents do with absolute paths: the suites of sandboxes expect /tmp and the sandbox's own system ----

if root == "/":
    mine = f"{tag}.agent"
    backend.execute(f"rm -rf {mine}; mkdir -p {mine}")

    def shown(path):
        return pathlib.Path(mount + path)

    def said(command):
        return backend.execute(command).output

    def stored(*names):
        return errors(backend.upload_files([(f"{mine}/{name}", name.encode()) for name in names]))

    special = b"special: \n\t\r\x00\xff"
    check("a file of /tmp comes back as it was sent",
          (errors(backend.upload_files([(f"{tag}.bin", special)])),
           backend.download_files([f"{tag}.bin"])[0].content), ([None], special))
    check("the order of a batch stays", [result.path for result in backend.upload_files(
        [(f"{tag}_{n}.txt", b"x") for n in (3, 1, 2)])], [f"{tag}_{n}.txt" for n in (3, 1, 2)])
    check("missing directories are made", errors(backend.upload_files([(f"{mine}/new/deep/er/file", b"")])), [None])
    check("a batch fails in parts", [(r.content, r.error) for r in backend.download_files(
        [f"{tag}_1.txt", f"{mine}/none", mine, "tmp/relative", "/etc/passwd/x"])],
        [(b"x", None), (None, "file_not_found"), (None, "is_directory"), (None, "invalid_path"), (None, "invalid_path")])
    check("the system is read", backend.download_files(["/etc/os-release"])[0].content,
          said("cat /etc/os-release").encode())
    if is_local:
        check("and not changed", errors(backend.upload_files([("/usr/x", b""), ("/etc/os-release", b"")])),
              ["permission_denied"] * 2)
    check("a command starts at /", said("pwd"), "/\n")
    check("what is written is seen at once", (stored("a.py", "b.txt", ".hidden"), said(f"ls -A {mine}")),
          ([None] * 3, ".hidden\na.py\nb.txt\nnew\n"))
    check("a list is that of the sandbox", sorted(os.listdir(shown(mine))), said(f"ls -A {mine}").split())
    shown(f"{mine}/edited").write_text("Hello world\nGoodbye world\n", encoding="utf-8")
    check("an edit is seen", said(f"sed -i s/Goodbye/Farewell/ {mine}/edited; cat {mine}/edited"),
          shown(f"{mine}/edited").read_text(encoding="utf-8"))
    check("a pattern finds names there as here", said(f"cd {mine}; find . -name '*.py'"),
          "".join(f"./{path.relative_to(shown(mine))}\n" for path in shown(mine).glob("**/*.py")))
    check("text is found", (errors(backend.upload_files([(f"{mine}/grep.txt", "a (b)\nstr | int\nünïcode ☃\n".encode())])),
                            said(f"grep -rnF 'str | int' {mine}"), said(f"grep -rlF 'ünïcode ☃' {mine}")),
          ([None], f"{mine}/grep.txt:2:str | int\n", f"{mine}/grep.txt\n"))
    check("many lines are read from anywhere", (backend.execute(f"seq 20000 > {mine}/lines").exit_code,
          shown(f"{mine}/lines").read_text(encoding="ascii").splitlines()[9999]), (0, "10000"))
    check("a large directory is whole", (backend.execute(f"mkdir {mine}/many; cd {mine}/many; seq 300 | xargs touch").exit_code,
                                         len(os.listdir(shown(f"{mine}/many")))), (0, 300))
    check("a variable of a command is its own", said("export MINE=1; echo $MINE"), "1\n")
    check("a link to a file is that file", (backend.execute(f"ln -s a.py {mine}/link; ln -s /tmp {mine}/tmp").exit_code,
          [r.error for r in backend.download_files([f"{mine}/link", f"{mine}/tmp/{tag[5:]}.bin"])]), (0, [None, None]))
    check("what is removed is gone", (backend.execute(f"rm -r {mine} {tag}.bin {tag}_?.txt").exit_code,
                                      errors(backend.download_files([f"{mine}/a.py"]))), (0, ["file_not_found"]))

# ---- As a program ----

requests = [
    {"call": "upload_files", "files": [[at("served"), base64.b64encode(b"\0\xff").decode()], ["relative", ""]]},
    {"call": "execute", "command": f"wc -c < {at('served')}"},
    {"call": "download_files", "paths": [at("served"), at("missing")]},
]
served = subprocess.run([*program, mount], text=True, capture_output=True, check=False,
                        input="".join(json.dumps(request) + "\n" for request in requests))
check("lines of JSON are answered", [json.loads(line) for line in served.stdout.splitlines()], [
    [{"path": at("served"), "error": None, "content": None}, {"path": "relative", "error": "invalid_path", "content": None}],
    {"output": "2\n", "exit_code": 0, "truncated": False},
    [{"path": at("served"), "error": None, "content": "AP8="}, {"path": at("missing"), "error": "file_not_found", "content": None}],
])
if base != root:
    backend.execute(f"chmod -R u+rwx {base}; rm -rf {base}")
print(f"1..{count}")
