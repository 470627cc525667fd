#!/bin/sh
# A file that is in use here is renamed in the sandbox: writes and reads go on with it, as on a local
# file system.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs python3

# Opens a file below the mount, renames it in the sandbox and goes on; `looked`: the names were
# looked up here meanwhile. Prints what each step says.
rotate() { # STEM [looked]
	python3 -B - "$MNT" "$STORE" "$@" <<'END'
import os, sys, time
shown, inside, stem = sys.argv[1:4]
looked = len(sys.argv) > 4
old, new = stem, stem + ".1"
fd = os.open(f"{shown}/{old}", os.O_RDWR | os.O_CREAT | os.O_APPEND)
def step(name, action):
    try:
        action()
        print(name, "done")
    except OSError as e:
        print(name, os.strerror(e.errno))
def sees():
    end = time.monotonic() + 60
    while os.path.exists(f"{shown}/{old}") or not os.path.exists(f"{shown}/{new}"):
        assert time.monotonic() < end
        time.sleep(0.01)
step("write", lambda: os.write(fd, b"one\n"))
step("fsync", lambda: os.fsync(fd))
os.rename(f"{inside}/{old}", f"{inside}/{new}")
if looked:
    sees()
step("write", lambda: os.write(fd, b"two\n"))
step("fsync", lambda: os.fsync(fd))
with open(f"{inside}/{old}", "w") as file:
    file.write("theirs\n")
step("write", lambda: os.write(fd, b"three\n"))
step("fsync", lambda: os.fsync(fd))
step("chmod", lambda: os.fchmod(fd, 0o640))
print("read", os.pread(fd, 100, 0))
step("close", lambda: os.close(fd))
for name in (new, old):
    with open(f"{inside}/{name}") as file:
        mode = oct(os.stat(f"{inside}/{name}").st_mode & 0o777)
        print(name.split("/")[-1], repr(file.read()), mode)
END
}
rotated="write done
fsync done
write done
fsync done
write done
fsync done
chmod done
read b'one\ntwo\nthree\n'
close done
log.1 'one\ntwo\nthree\n' 0o640
log 'theirs\n' 0o644"

# On layers no time of birth lasts, and by its number alone no file is looked for: there it is found
# once its new name is known here.
IS_LAYERED=$LAYERS
[ "$PROVIDER" != docker ] || IS_LAYERED=1
learn() { # FILE
	[ -z "$IS_LAYERED" ] || wait_until "$PATIENCE" test -e "$MNT/$1"
}

mount_sandbox renamed
for how in "" looked; do
	[ -n "$how" ] || [ -z "$IS_LAYERED" ] || continue
	mkdir "$MNT/logs$how"
	settle
	# shellcheck disable=SC2086 # nothing, or a word
	is "a log that is rotated in the sandbox${how:+, and looked at here}" \
		"$(rotate "logs$how/log" $how 2>&1)" "$rotated"
	is "nothing is parked" \
		"$(sed -n 's/.*"parked_changes": *\([0-9]*\).*/\1/p' "$MNT/.sandbox/status")" 0
done

# ---- Another directory ---------------------------------------------------------------------------

mkdir -p "$MNT/a/b" "$MNT/archive"
echo text >"$MNT/a/b/file"
settle
exec 5>>"$MNT/a/b/file"
mv "$STORE/a/b/file" "$STORE/archive/kept"
learn archive/kept
echo more >&5
ok "a file that is moved to another directory is written to" sync "$MNT/archive"
exec 5>&-
settle
is "where it is" "$(cat "$STORE/archive/kept")" "text
more"

unmount
done_testing
