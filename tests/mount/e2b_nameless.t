#!/bin/sh
# What was made and removed before the sandbox heard of it may still be open: no call on it waits for what never comes.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
needs_mount
needs python3

# What each call on an open directory, or file, that has no name any more says.
on_nameless() { # dir|file
	deadline "$PATIENCE" python3 -c '
import errno, os, sys
os.chdir(sys.argv[1])
if sys.argv[2] == "dir":
    os.mkdir("d")
    fd = os.open("d", os.O_RDONLY)
    os.rmdir("d")
else:
    fd = os.open("f", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    os.unlink("f")
def say(what, call):
    try:
        call()
        print(what, "ok")
    except OSError as e:
        print(what, errno.errorcode[e.errno])
say("setxattr", lambda: os.setxattr(fd, "user.a", b"1"))
say("getxattr", lambda: os.getxattr(fd, "user.a"))
say("listxattr", lambda: os.listxattr(fd))
say("removexattr", lambda: os.removexattr(fd, "user.a"))
say("chmod", lambda: os.fchmod(fd, 0o700))
say("fsync", lambda: os.fsync(fd))
say("stat", lambda: os.fstat(fd))
' "$1" "$2"
}

mount_sandbox nameless
ls -lR "$MNT" >/dev/null
mkdir "$SCRATCH/plain"
is "a file: as on a local disk" "$(on_nameless "$MNT" file)" "$(on_nameless "$SCRATCH/plain" file)"
is "a directory: but for its extended attributes" "$(on_nameless "$MNT" dir)" "setxattr ESTALE
getxattr ENODATA
listxattr ok
removexattr ESTALE
chmod ok
fsync ok
stat ok"
unmount
done_testing
