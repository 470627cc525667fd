#!/bin/sh
# The disk of this machine is full, or the journal has what it may have: who writes is told, or waits; what was acknowledged
# arrives, and with room there is all goes on.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs_root
needs node python3

stall() {
	vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/process|files/","times":0},"action":{"type":"stall"}}' >/dev/null
}

# With all that is there known, so that names are decided here.
know() {
	settle
	ls -lR "$MNT" >/dev/null
}

mend() {
	vendor_request DELETE "$ADMIN/faults" >/dev/null
}

# So many files of 50 kB in $MNT/DIRECTORY, or until one fails: how many were written, and how it ended.
write_files() { # DIRECTORY COUNT
	deadline "$PATIENCE" python3 -c '
import errno, os, sys
done, ended = 0, "well"
try:
    for n in range(int(sys.argv[2])):
        with open(f"{sys.argv[1]}/f{n}", "wb", buffering=0) as file:
            if file.write(b"%05d" % n * 10000) < 50000:
                break
        done += 1
except OSError as error:
    ended = errno.errorcode[error.errno]
print(done, ended)' "$MNT/$1" "$2"
}

# Those are there whole.
has_files() { # DIRECTORY COUNT
	python3 -c '
import sys
for n in range(int(sys.argv[2])):
    with open(f"{sys.argv[1]}/f{n}", "rb") as file:
        assert file.read() == b"%05d" % n * 10000, n' "$@"
}

status() { # FIELD
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$MNT/.sandbox/status" "$1"
}

# ---- The disk --------------------------------------------------------------------------------------

vendor_sandbox demo
mkdir small
mount -t tmpfs -o size=3M,mode=700 none small 2>/dev/null || skip_all "no tmpfs can be mounted here"
trap 'tap_cleanup_small; tap_cleanup' EXIT
tap_cleanup_small() {
	tap_drop_mount "$MNT"
	umount -l "$SCRATCH/small"
}

mount_sandbox demo "journal=$SCRATCH/small"
expect_log '.*'
mkdir "$MNT/one" "$MNT/two" "$MNT/three"
know
stall
write_files one 200 >out
read -r count ended <out
is "a full disk is told" "$ended" ENOSPC
ok "after the $count files that it had room for" test "$count" -gt 20 -a "$count" -lt 60
ok "they can be read" has_files "$MNT/one" "$count"
mend
ok "what was acknowledged arrives" settle
is "all of it" "$(status pending_changes) $(status parked_changes)" "0 0"
ok "and is whole" has_files "$STORE/one" "$count"

# ---- The disk, filled by others --------------------------------------------------------------------

know
stall
echo owed >"$MNT/two/owed"
head -c 4M /dev/zero >small/others 2>/dev/null
write_files two 200 >out
read -r count ended <out
is "a disk that others fill is told" "$ended" ENOSPC
mend
ok "what was acknowledged arrives all the same" settle
is "and is whole" "$(cat "$STORE/two/owed")" owed
ok "with the $count files that it still had room for" has_files "$STORE/two" "$count"
rm small/others
write_files three 20 >out
is "with room there is all goes on" "$(cat out)" "20 well"
ok "and arrives" settle
ok "whole" has_files "$STORE/three" 20
unmount

# ---- The journal's limit ---------------------------------------------------------------------------

mount_sandbox demo "journal_size=1M"
mkdir "$MNT/four"
know
stall
write_files four 100 >out &
writer=$!
is_full() { [ "$(status pending_bytes)" -gt 600000 ]; }
ok "a journal fills up" wait_until "$PATIENCE" is_full
wait_until 2 false
ok "who writes more waits" alive $writer
mend
wait $writer
is "until there is room" "$? $(cat out)" "0 100 well"
ok "what was written arrives" settle
ok "whole" has_files "$STORE/four" 100
unmount
done_testing
