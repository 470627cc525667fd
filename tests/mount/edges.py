#!/usr/bin/env python3
"""Everyday work on a mount whose sandbox is behind an edge; edges.t looks at what it left.

edges.py MOUNT COMMANDS     works in MOUNT and prints a line for all that went wrong
"""
import json
import os
import subprocess
import sys
import threading

CALL_S = 300
LARGE = 8 << 20
SMALL = 40
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]


def say(what):
    print(what, flush=True)


def pattern(size):
    return bytes(i * i % 251 for i in range(1000)) * (size // 1000 + 1)


def command(mount, line):
    with open(f"{mount}/.sandbox/exec", "r+", buffering=1, encoding="utf-8") as file:
        file.write(line + "\n")
        return json.loads(file.read())


def commands(mount, first, count):
    for n in range(first, first + count):
        answer = command(mount, f"echo {n} >>log; echo {n}")
        if answer["exit_code"] != 0 or answer["output"] != f"{n}\n":
            say(f"command {n}: {answer}")


def files(mount):
    for n in range(SMALL):
        with open(f"{mount}/small{n}", "w", encoding="utf-8") as file:
            file.write(f"{n}\n")
            file.flush()
            os.fsync(file.fileno())
    for n in range(SMALL):
        with open(f"{mount}/there/{n}", encoding="utf-8") as file:
            if file.read() != f"{n}\n":
                say(f"there/{n}: other contents")


def upload(mount):
    with open(f"{mount}/large", "wb", buffering=0) as file:
        for start in range(0, LARGE, 1 << 20):
            file.write(pattern(LARGE)[start:start + (1 << 20)])
        os.fsync(file.fileno())


def git(mount):
    tree = f"{mount}/git"
    subprocess.run([*GIT, "init", "-q", tree], check=True, timeout=CALL_S)
    for n in range(3):
        for name in range(5):
            with open(f"{tree}/f{name}", "w", encoding="utf-8") as file:
                file.write(f"{n} {name}\n")
        subprocess.run([*GIT, "-C", tree, "add", "."], check=True, timeout=CALL_S)
        subprocess.run([*GIT, "-C", tree, "commit", "-qm", f"{n}"], check=True, timeout=CALL_S)


def told(work, *arguments):
    try:
        work(*arguments)
    except Exception as why:  # whatever it is, it is what the test looks for
        say(f"{work.__name__}: {why}")


def main(mount, count):
    half = int(count) // 2
    works = [(files, mount), (upload, mount), (git, mount), (commands, mount, 0, half), (commands, mount, half, half)]
    threads = [threading.Thread(target=told, args=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main(*sys.argv[1:])
