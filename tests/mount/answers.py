"""What somebody in between answers in the sandbox's stead, by kind of answer and verb, on one mount.

answers.py MOUNT STORE VENDOR short|all|KIND,...: prints "KIND VERB RESULT SECONDS ASKED TOLD" a cell. ADMIN
and VENDOR_KEY are the test server's, RELAY and LINK the link to it, which may give no answer at all. RESULT: "ok", an errno, or what is wrong. ASKED: how many
requests got the odd answer; TOLD: whether .sandbox/status quotes it.
"""
import errno
import json
import os
import subprocess
import sys
import time
import urllib.request

MOUNT, STORE, VENDOR, FORM = sys.argv[1:]
# So many requests in a row get the odd answer.
TIMES = 1 if FORM == "short" else 2
PAGE = "<html><head><title>Odd</title></head><body><h1>%s</h1></body></html>"
OTHERS = {"error": {"code": 502, "message": "upstream", "status": "UNAVAILABLE"}}


HTML = {"Content-Type": "text/html; charset=utf-8"}


def status(number, body, **headers):
    return {"type": "status", "status": number, "body": body, "headers": headers}


def page(number, **headers):
    return status(number, PAGE % number, **HTML, **headers)


# Each with whether it is in the form of somebody else, which status quotes.
KINDS = {f"page_{n}": (page(n), True)
         for n in (400, 403, 404, 405, 407, 413, 451, 500, 502, 503, 504, 520)}
KINDS |= {
    "login_200": (page(200), True),
    "typeless_200": (status(200, PAGE % "Sign in"), True),
    "login_302": (page(302, Location="/login"), True),
    "text_404": (status(404, "404 page not found", **{"Content-Type": "text/plain"}), True),
    "json_404": (status(404, OTHERS), True),
    "json_502": (status(502, OTHERS), True),
    "empty_400": (status(400, ""), True),
    "empty_502": (status(502, ""), True),
    "page_429": (page(429), False),
    "another_type": ({"type": "content_type"}, False),
    "garbage": ({"type": "garbage"}, False),
    "truncated_0": ({"type": "truncate", "bytes": 0}, False),
    "truncated_3": ({"type": "truncate", "bytes": 3}, False),
    "truncated_60": ({"type": "truncate", "bytes": 60}, False),
    "reset": ({"type": "cut"}, False),
    "reset_3": ({"type": "cut_after", "bytes": 3}, False),
    "reset_60": ({"type": "cut_after", "bytes": 60}, False),
    "lost_page_502": ({"type": "lose_answer", "status": 502}, False),
}
if VENDOR == "modal":
    for number, name in ((2, "unknown"), (4, "late"), (8, "exhausted"), (13, "internal"), (14, "unavailable")):
        KINDS[f"grpc_{name}"] = ({"type": "grpc_status", "status": number, "message": "odd"}, number in (8, 14))
    KINDS["grpc_exhausted_wish"] = ({"type": "grpc_status", "status": 8, "retry_after": 0.2}, False)
    # A gateway of HTTP/1.1's kind, which ends the connection, has no such thing here.
    KINDS.pop("lost_page_502")
# No answer: nobody listens, nothing moves, all connections are dead and new ones work.
LINKS = {"refused": ["refuse 3", "cut"], "silent": ["stall 3"], "lost": ["lose"]}
KINDS |= {name: ({"link": commands}, False) for name, commands in LINKS.items()}
SHORT = ["login_200", "grpc_exhausted" if VENDOR == "modal" else "page_404"]


def admin(method, path, body=None):
    request = urllib.request.Request(
        os.environ["ADMIN"] + path, json.dumps(body).encode() if body is not None else None,
        {"X-API-Key": os.environ["VENDOR_KEY"], "Content-Type": "application/json"}, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return json.loads(opener.open(request, timeout=60).read().decode() or "null")


def give(action):
    for command in action.get("link", ()):
        subprocess.run([os.environ["RELAY"], f"--tell={os.environ['LINK']}", *command.split()],
                       check=True, timeout=60, stdout=subprocess.DEVNULL)
    if "link" not in action:
        admin("POST", "/faults", {"match": {"kind": "/./", "times": TIMES}, "action": action})


def told():
    with open(f"{MOUNT}/.sandbox/status") as file:
        return json.load(file)


def run(command):
    fd = os.open(f"{MOUNT}/.sandbox/exec", os.O_RDWR)
    try:
        os.write(fd, command.encode())
        answer = b""
        while piece := os.read(fd, 1 << 20):
            answer += piece
    finally:
        os.close(fd)
    return json.loads(answer)


def contents(cell):
    return (cell * 40).encode()


def put(path, data):
    with open(path, "wb") as file:
        file.write(data)


def get(path):
    with open(path, "rb") as file:
        return file.read()


# ---- The verbs: what is prepared before the answers turn odd, and what is done then --------------------

def prepare_read(cell):
    os.makedirs(f"{STORE}/{cell}")
    put(f"{STORE}/{cell}/f", contents(cell))
    run("true")
    os.stat(f"{MOUNT}/{cell}/f")


def do_read(cell):
    return get(f"{MOUNT}/{cell}/f") == contents(cell)


def prepare_list(cell):
    os.makedirs(f"{STORE}/{cell}")
    put(f"{STORE}/{cell}/there", b"x")
    run("true")


def do_list(cell):
    return os.listdir(f"{MOUNT}/{cell}") == ["there"]


def do_save(cell):
    fd = os.open(f"{MOUNT}/{cell}", os.O_CREAT | os.O_WRONLY)
    os.write(fd, contents(cell))
    os.fsync(fd)
    os.close(fd)
    return get(f"{STORE}/{cell}") == contents(cell)


def prepare_batch(cell):
    os.mkdir(f"{MOUNT}/{cell}")
    put(f"{MOUNT}/{cell}/old", b"old contents")
    put(f"{MOUNT}/{cell}/removed", b"x")
    sync()
    os.listdir(f"{MOUNT}/{cell}")


def sync():
    fd = os.open(f"{MOUNT}/.sandbox/sync", os.O_WRONLY)
    os.write(fd, b"\n")
    os.close(fd)


# What is acknowledged at once, and then waited for.
def do_batch(cell):
    here = f"{MOUNT}/{cell}"
    put(f"{here}/new", b"new")
    with open(f"{here}/old", "r+b") as file:
        file.write(b"NEW")
    os.mkdir(f"{here}/dir")
    os.unlink(f"{here}/removed")
    os.rename(f"{here}/old", f"{here}/renamed")
    sync()
    there = f"{STORE}/{cell}"
    return sorted(os.listdir(there)) == ["dir", "new", "renamed"] and get(f"{there}/renamed") == b"NEW contents"


def do_exec(cell):
    said = run(f"echo {cell} >>{cell}; echo done")
    return said["exit_code"] == 0 and said["output"] == "done\n" and get(f"{STORE}/{cell}") == f"{cell}\n".encode()


VERBS = {"read": (prepare_read, do_read), "list": (prepare_list, do_list), "save": (None, do_save),
         "batch": (prepare_batch, do_batch), "exec": (None, do_exec)}


def attempt(do, cell):
    try:
        return "ok" if do(cell) else "wrong"
    except OSError as error:
        return errno.errorcode[error.errno]


def one(kind, verb):
    action, is_foreign = KINDS[kind]
    prepare, do = VERBS[verb]
    cell = f"{verb}.{kind}"
    if prepare:
        prepare(cell)
    before = told()["foreign_answers"]["count"]
    give(action)
    began = time.monotonic()
    result = attempt(do, cell)
    seconds = time.monotonic() - began
    asked = admin("DELETE", "/faults")["taken"]
    after = told()
    if after["parked_changes"]:
        result = f"{result},parked"
    is_told = after["foreign_answers"]["count"] > before
    word = "told" if is_told else "untold" if is_foreign and asked else "-"
    print(kind, verb, result, f"{seconds:.1f}", asked, word, flush=True)


for one_kind in {"short": SHORT, "all": KINDS}.get(FORM) or FORM.split(","):
    for one_verb in VERBS:
        one(one_kind, one_verb)
