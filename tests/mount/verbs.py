#!/usr/bin/env python3
"""What users do to a mount, all of it at once, each in a directory of its own; *_faults.t look at how it ends.

verbs.py prepare DIRECTORY...   made in the sandbox, with the files that are read, renamed and removed
verbs.py run DIRECTORY          says `ready`, waits for a line, and prints one for each: VERB RESULT MILLISECONDS;
                                    RESULT is `ok` or an errno's name
verbs.py exec MOUNT WORD        the same, `exec` being open, for a command, which appends the line WORD to MOUNT/log
"""
import errno
import json
import os
import sys
import threading
import time

LARGE = 2 << 20
SMALL = 10000


def pattern(size):
    return bytes(i * i % 251 for i in range(1000)) * (size // 1000 + 1)


def put(path, size, sync=False):
    with open(path, "wb", buffering=0) as file:
        for start in range(0, size, 1 << 20):
            file.write(pattern(size)[start:min(size, start + (1 << 20))])
        if sync:
            os.fsync(file.fileno())


def read(where):
    with open(f"{where}/read", "rb", buffering=0) as file:
        if file.readall() != pattern(LARGE)[:LARGE]:
            raise AssertionError("other bytes")


VERBS = {
    "stat": lambda where: os.stat(f"{where}/list/file"),
    "list": lambda where: os.listdir(f"{where}/list"),
    "read": read,
    "write-10kB": lambda where: put(f"{where}/small", SMALL),
    "write-2MB": lambda where: put(f"{where}/large", LARGE),
    "overwrite": lambda where: put(f"{where}/over", SMALL),
    "fsync": lambda where: put(f"{where}/synced", SMALL, sync=True),
    "create": lambda where: put(f"{where}/empty", 0),
    "mkdir": lambda where: os.mkdir(f"{where}/dir"),
    "rename": lambda where: os.rename(f"{where}/old", f"{where}/new"),
    "unlink": lambda where: os.unlink(f"{where}/gone"),
    "statfs": os.statvfs,
}


def prepare(*places):
    for place in places:
        for verb in VERBS:
            where = f"{place}/{verb}"
            os.makedirs(f"{where}/list")
            for name in ("list/file", "old", "gone", "over"):
                put(f"{where}/{name}", 1)
        put(f"{place}/read/read", LARGE)


# ---- Doing it ------------------------------------------------------------------------------------


def report(verb, work):
    began = time.monotonic()
    try:
        work()
        result = "ok"
    except OSError as error:
        result = errno.errorcode[error.errno]
    except (AssertionError, ValueError) as error:
        result = f"wrong:{error}".replace(" ", "_")[:300]
    sys.stdout.write(f"{verb} {result} {int((time.monotonic() - began) * 1000)}\n")


def wait_for_line():
    print("ready", flush=True)
    sys.stdin.readline()


def run(place):
    """The way to the directories is behind us: the kernel would let those who look up one name wait for each other."""
    threads = []
    for verb, work in VERBS.items():
        where = f"/proc/self/fd/{os.open(f'{place}/{verb}', os.O_PATH)}"
        threads.append(threading.Thread(target=report, args=(verb, lambda work=work, where=where: work(where))))
    wait_for_line()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def execute(mount, word):
    with open(f"{mount}/.sandbox/exec", "r+", buffering=1, encoding="utf-8") as file:
        wait_for_line()
        file.write(f"echo {word} >>log; echo done\n")
        answer = json.loads(file.read())
    if answer["exit_code"] is None and answer["error"]:
        raise OSError(errno.EIO, answer["error"])
    if (answer["exit_code"], answer["output"]) != (0, "done\n"):
        raise AssertionError(f"another answer: {answer}")


COMMANDS = {
    "prepare": prepare,
    "run": run,
    "exec": lambda mount, word: report("exec", lambda: execute(mount, word)),
}
COMMANDS[sys.argv[1]](*sys.argv[2:])
