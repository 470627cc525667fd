#!/bin/sh
# A change that the sandbox refused later: which close, fsync and barrier reports the refusal, and which does not.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3

stall() {
	vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/process|files/","times":0},"action":{"type":"stall"}}' >/dev/null
}

mend() {
	vendor_request DELETE "$ADMIN/faults" >/dev/null
}

is_refused() { # COUNT: so many changes are refused, and none is pending
	python3 -c 'import json, sys
status = json.load(open(sys.argv[1]))
sys.exit(status["pending_changes"] != 0 or status["parked_changes"] < int(sys.argv[2]))' "$MNT/.sandbox/status" "$1"
}

# told STEP: the holder does it; how that ended.
told() {
	echo "$1" >&8
	read -r tap_told <&9
	echo "$tap_told"
}

# Holds a file open for writing and for reading, and does what it is asked, a line for each: OK or the name of the errno.
holder='import errno, os, sys
path = sys.argv[1]
writer = os.open(path, os.O_WRONLY)
reader = os.open(path, os.O_RDONLY)
steps = {
    "write": lambda: os.write(writer, b"refused"),
    "close-reader": lambda: os.close(reader),
    "read": lambda: os.read(reader, 100),
    "close-copy": lambda: os.close(os.dup(writer)),
    "fsync": lambda: os.fsync(writer),
    "close-writer": lambda: os.close(writer),
}
for line in sys.stdin:
    try:
        steps[line.strip()]()
        print("OK", flush=True)
    except OSError as error:
        print(errno.errorcode[error.errno], flush=True)'

# refuse NAME: its first write is refused by the sandbox, and no change is pending any more.
refuse() {
	mkdir "$MNT/$1"
	echo base >"$MNT/$1/file"
	sync "$MNT/$1/file" "$MNT/$1"
	ls -lR "$MNT" >/dev/null
	deadline "$PATIENCE" python3 -c "$holder" "$MNT/$1/file" <ask >answers &
	holding=$!
	exec 8>ask 9<answers
	stall
	is "$1: a write is acknowledged" "$(told write)" OK
	rm -r "${STORE:?}/$1"
	mend
	refusals=$((refusals + 1))
	ok "$1: the sandbox refuses the change" wait_until "$PATIENCE" is_refused $refusals
}

let_go() {
	exec 8>&- 9<&-
	wait $holding
}

mkfifo ask answers
refusals=0
mount_sandbox refused timeout=15
expect_log '.*'

refuse closed
is "the close of a handle for reading does not report the refusal" "$(told close-reader)" OK
is "the close of the handle for writing does" "$(told close-writer)" ENOENT
ok "and no barrier once more" settle
let_go

refuse synced
is "the close of a handle for reading does not report the refusal" "$(told close-reader)" OK
is "fsync of the handle for writing does" "$(told fsync)" ENOENT
is "once" "$(told close-copy)" OK
ok "and no barrier once more" settle
let_go

refuse barrier
fails "a barrier reports the refusal when nothing is pending any more" settle
ok "once" settle
is "the close of a handle for reading does not" "$(told close-reader)" OK
is "the close of the handle for writing does" "$(told close-writer)" ENOENT
let_go
refused=$(grep -o '"parked_changes": *[0-9]*' "$MNT/.sandbox/status" | grep -o '[0-9]*$')
unmount
like "the end of the mount says how many, once more, in one line" "$(tail -n 1 "$LOG")" \
	"the sandbox refused $refused changes, kept in "

# ---- Of an earlier mount -------------------------------------------------------------------------

# Takes away what was mounted last, whose process is dead.
bury() {
	wait "$DAEMON" 2>/dev/null
	tap_drop_mount "$MNT"
}

syncer='import os, sys
os.fsync(os.open(sys.argv[1], os.O_RDWR))'

mount_sandbox inherited timeout=15
for file in one two; do
	echo base >"$MNT/$file"
done
sync "$MNT/one" "$MNT/two"
ls -lR "$MNT" >/dev/null
stall
echo more >>"$MNT/one"
for file in one two; do
	echo theirs >"$STORE/$file"
done
kill -9 "$DAEMON"
bury
mend
mount_sandbox inherited timeout=15
wait_until "$PATIENCE" grep -q "of an earlier mount, the first" "$LOG"
like "the next mount says in one line what the sandbox refused" "$(cat "$LOG")" \
	'the sandbox refused (1 change|2 changes) of an earlier mount, the first: one: was changed in the sandbox'
ok "fsync of another file does not report that" python3 -c "$syncer" "$MNT/two"
fails "fsync of the file does" python3 -c "$syncer" "$MNT/one"
ok "once" python3 -c "$syncer" "$MNT/one"
fails "and so does a barrier" settle
ok "once" settle
tap_umount "$MNT"
wait_until "$PATIENCE" ended "$DAEMON"
wait "$DAEMON"
is "the end of the mount tells that, too" $? 32
like "in one line" "$(tail -n 1 "$LOG")" 'the sandbox refused (1 change|2 changes) of an earlier mount; what is not done is kept in'
done_testing
