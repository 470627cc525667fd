#!/usr/bin/env python3
"""Every operation of a mount, all of it at once, each in a directory of its own; e2b_deadline.t looks at how long each takes.

deadline.py prepare DIRECTORY       made in the sandbox, with what the operations are done to
deadline.py run MOUNT NAME GO       opens what is needed below MOUNT/NAME, says `ready`, waits until the file GO exists, and
                                        prints a line for each operation, which is one system call: NAME RESULT
                                        MILLISECONDS; RESULT is `ok` or an errno's name
deadline.py controls MOUNT NAME GO  the same of `.sandbox` alone: nothing is changed, so nothing is pending
"""
import ctypes
import errno
import mmap
import os
import stat
import sys
import threading
import time

SIZE = 1 << 20
LIBC = ctypes.CDLL(None, use_errno=True)


def tree(where):
    """What each operation finds in its directory."""
    os.makedirs(f"{where}/sub/empty")
    os.makedirs(f"{where}/gone")
    os.symlink("file", f"{where}/link")
    for name in ("file", "other", "sub/file"):
        with open(f"{where}/{name}", "wb") as file:
            file.write(bytes(SIZE))


def opened(name, flags):
    return lambda where: os.open(f"{where}/{name}", flags)


def changed(where):
    """Something is pending of it."""
    file = os.open(f"{where}/file", os.O_RDWR)
    os.pwrite(file, b"changed", 100)
    return file


def made(where):
    file = os.open(f"{where}/made", os.O_RDWR | os.O_CREAT)
    os.write(file, b"made")
    return file


def two(where):
    return os.open(f"{where}/file", os.O_RDONLY), os.open(f"{where}/other", os.O_RDWR)


def direct(where):
    """The kernel asks for a page several times before it gives up: without its pages it asks once."""
    return os.open(f"{where}/file", os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4096)


def renameat2(where, old, new, flags):
    if LIBC.renameat2(-100, f"{where}/{old}".encode(), -100, f"{where}/{new}".encode(), flags):
        raise OSError(ctypes.get_errno(), "renameat2")


def changed_direct(where):
    os.close(changed(where))
    return direct(where)


def changed_and_closed(where):
    os.close(changed(where))


def made_and_closed(where):
    os.close(made(where))


def nothing(where):
    return None


# What is opened or changed before, and the call itself, which gets the directory and what the first has returned.
# One rename alone leads into another directory: the kernel makes such renames one after the other.
OPERATIONS = {
    "lookup": (nothing, lambda w, _: os.lstat(f"{w}/sub/file")),
    "lookup-nothing": (nothing, lambda w, _: os.path.exists(f"{w}/sub/none")),
    "getattr": (opened("file", os.O_RDONLY), lambda w, f: os.fstat(f)),
    "chmod": (nothing, lambda w, _: os.chmod(f"{w}/file", 0o600)),
    "utimens": (nothing, lambda w, _: os.utime(f"{w}/file", (1, 1))),
    "truncate": (nothing, lambda w, _: os.truncate(f"{w}/file", 10)),
    "readlink": (nothing, lambda w, _: os.readlink(f"{w}/link")),
    "access": (nothing, lambda w, _: os.access(f"{w}/file", os.W_OK)),
    "statfs": (nothing, lambda w, _: os.statvfs(w)),
    "mknod": (nothing, lambda w, _: os.mknod(f"{w}/pipe", stat.S_IFIFO | 0o600)),
    "mkdir": (nothing, lambda w, _: os.mkdir(f"{w}/dir")),
    "symlink": (nothing, lambda w, _: os.symlink("file", f"{w}/new-link")),
    "link": (nothing, lambda w, _: os.link(f"{w}/file", f"{w}/second")),
    "unlink": (nothing, lambda w, _: os.unlink(f"{w}/file")),
    "unlink-open": (opened("file", os.O_RDONLY), lambda w, _: os.unlink(f"{w}/file")),
    "rmdir": (nothing, lambda w, _: os.rmdir(f"{w}/gone")),
    "rename": (nothing, lambda w, _: os.rename(f"{w}/file", f"{w}/sub/moved")),
    "rename-over": (nothing, lambda w, _: os.rename(f"{w}/file", f"{w}/other")),
    "rename-dir": (nothing, lambda w, _: os.rename(f"{w}/sub", f"{w}/moved")),
    "rename-made": (made_and_closed, lambda w, _: os.rename(f"{w}/made", f"{w}/moved")),
    "rename-changed": (changed_and_closed, lambda w, _: os.rename(f"{w}/file", f"{w}/moved")),
    "exchange": (nothing, lambda w, _: renameat2(w, "file", "other", 2)),
    "noreplace": (nothing, lambda w, _: renameat2(w, "file", "free", 1)),
    "create": (nothing, lambda w, _: os.open(f"{w}/new", os.O_WRONLY | os.O_CREAT)),
    "create-excl": (nothing, lambda w, _: os.open(f"{w}/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)),
    "tmpfile": (nothing, lambda w, _: os.open(w, os.O_WRONLY | os.O_TMPFILE)),
    "open": (nothing, lambda w, _: os.open(f"{w}/file", os.O_RDONLY)),
    "open-trunc": (nothing, lambda w, _: os.open(f"{w}/file", os.O_WRONLY | os.O_TRUNC)),
    "read": (direct, lambda w, f: os.preadv(f[0], [f[1]], 8192)),
    "read-changed": (changed_direct, lambda w, f: os.preadv(f[0], [f[1]], 0)),
    "write": (opened("file", os.O_WRONLY), lambda w, f: os.write(f, b"new")),
    "write-sync": (opened("file", os.O_WRONLY | os.O_SYNC), lambda w, f: os.write(f, b"new")),
    "append": (opened("file", os.O_WRONLY | os.O_APPEND), lambda w, f: os.write(f, b"new")),
    "close": (changed, lambda w, f: os.close(f)),
    "fsync": (changed, lambda w, f: os.fsync(f)),
    "fsync-made": (made, lambda w, f: os.fsync(f)),
    "fallocate": (opened("file", os.O_WRONLY), lambda w, f: os.posix_fallocate(f, 0, 2 * SIZE)),
    "copy": (two, lambda w, f: os.copy_file_range(f[0], f[1], 1000)),
    "seek-hole": (opened("file", os.O_RDONLY), lambda w, f: os.lseek(f, 0, os.SEEK_HOLE)),
    "readdir": (nothing, lambda w, _: os.listdir(f"{w}/sub")),
    "fsyncdir": (opened(".", os.O_RDONLY), lambda w, f: os.fsync(f)),
    "getxattr": (nothing, lambda w, _: os.getxattr(f"{w}/file", "user.none")),
    "listxattr": (nothing, lambda w, _: os.listxattr(f"{w}/file")),
    "setxattr": (nothing, lambda w, _: os.setxattr(f"{w}/file", "user.new", b"1")),
}


def written(name):
    def call(control):
        file = os.open(f"{control}/{name}", os.O_RDWR if name == "exec" else os.O_WRONLY)
        os.write(file, b"true\n")
        return file

    return call


# The same of `.sandbox`; what is written takes effect when it is closed.
CONTROLS = {
    "exec": (written("exec"), lambda w, f: os.close(f)),
    "spawn": (written("spawn"), lambda w, f: os.close(f)),
    "sync": (written("sync"), lambda w, f: os.close(f)),
    "status": (opened("status", os.O_RDONLY), lambda w, f: os.read(f, 100)),
    "stats": (opened("stats", os.O_RDONLY), lambda w, f: os.read(f, 100)),
    "id": (opened("id", os.O_RDONLY), lambda w, f: os.read(f, 100)),
    "jobs": (nothing, lambda w, _: os.listdir(f"{w}/jobs")),
    "port": (nothing, lambda w, _: os.open(f"{w}/ports/80", os.O_RDONLY)),
}


def prepare(place):
    for name in OPERATIONS:
        tree(f"{place}/{name}")


def report(name, act, where, state):
    began = time.monotonic()
    try:
        act(where, state)
        result = "ok"
    except OSError as error:
        result = errno.errorcode[error.errno]
    sys.stdout.write(f"{name} {result} {int((time.monotonic() - began) * 1000)}\n")


def run(mount, place, go, tables=(OPERATIONS, CONTROLS)):
    """The way to the directories is behind us: the kernel would let those who look up one name wait for each other."""
    threads = []
    for table in tables:
        for name, (begin, act) in table.items():
            path = f"{mount}/.sandbox" if table is CONTROLS else f"{mount}/{place}/{name}"
            where = f"/proc/self/fd/{os.open(path, os.O_PATH)}"
            threads.append(threading.Thread(target=report, args=(name, act, where, begin(where))))
    print("ready", flush=True)
    while not os.path.exists(go):
        time.sleep(0.01)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def controls(mount, place, go):
    run(mount, place, go, (CONTROLS,))


COMMANDS = {"prepare": prepare, "run": run, "controls": controls}
COMMANDS[sys.argv[1]](*sys.argv[2:])
