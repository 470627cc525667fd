#!/usr/bin/env python3
"""silent_mount.py DIR UID: a mount of UID's that takes every request and answers none, until DIR is unmounted.

Who waits for such an answer cannot be killed, as for that of a daemon that hangs in its midst.
"""
import ctypes
import os
import struct
import sys

FUSE_INIT = 26
MS_NOSUID, MS_NODEV = 2, 4


def mount(fuse, directory, uid):
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={fuse},rootmode=40000,user_id={uid},group_id={uid}"
    if libc.mount(b"local:silent", directory.encode(), b"fuse.sandboxfs", MS_NOSUID | MS_NODEV, options.encode()):
        sys.exit(f"{directory}: {os.strerror(ctypes.get_errno())}")


def main():
    fuse = os.open("/dev/fuse", os.O_RDWR)
    mount(fuse, sys.argv[1], int(sys.argv[2]))
    while True:
        try:
            request = os.read(fuse, 1 << 20)
        except OSError:
            return
        _, opcode, unique = struct.unpack_from("=IIQ", request)
        if opcode == FUSE_INIT:
            out = struct.pack("=IIIIHHIIHHI7I", 7, 31, 0, 0, 1, 1, 4096, 1, 1, 0, 0, *[0] * 7)
            os.write(fuse, struct.pack("=IiQ", 16 + len(out), 0, unique) + out)


main()
