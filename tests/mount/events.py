"""Reads .sandbox/events of a mount.

    events.py FILE wait COUNT     so many wait for something to read, until a signal ends them
    events.py FILE polls          nothing is there: poll(2) and a read that may not wait say so
    events.py FILE hears SCRIPT WORDS...   runs the script, prints "kind path" of what comes until a line has all the words
"""
import json
import os
import select
import subprocess
import sys
import threading
import time

WITHIN_S = 60


def wait(file, count):
    files = [os.open(file, os.O_RDONLY) for _ in range(int(count))]
    threads = [threading.Thread(target=os.read, args=(fd, 4096)) for fd in files]
    for thread in threads:
        thread.start()
    print("waiting", flush=True)
    for thread in threads:
        thread.join()


def polls(file):
    fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    assert poll.poll(0) == []
    try:
        os.read(fd, 4096)
    except BlockingIOError:
        print("nothing yet")


def lines(fd, until):
    poll, text = select.poll(), b""
    poll.register(fd, select.POLLIN)
    while (left := until - time.monotonic()) > 0:
        if poll.poll(left * 1000):
            text += os.read(fd, 4096)
        *whole, text = text.split(b"\n")
        yield from map(json.loads, whole)


def hears(file, script, *words):
    fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    subprocess.run(["sh", "-c", script], check=True, timeout=WITHIN_S)
    for event in lines(fd, time.monotonic() + WITHIN_S):
        assert abs(event["time"] - time.time()) < WITHIN_S, event
        said = f"{event['kind']} {event['path']}"
        print(said)
        if said == " ".join(words):
            return
    sys.exit("it did not come")


if __name__ == "__main__":
    {"wait": wait, "polls": polls, "hears": hears}[sys.argv[2]](sys.argv[1], *sys.argv[3:])
