#!/bin/sh
# The journal of a sandbox: it has one mount, which is named to a second one, and it
# outlives a sandbox that is deleted.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3

# ---- A second mount ------------------------------------------------------------------------------

mount_sandbox demo
mkdir second
XDG_STATE_HOME=$SCRATCH/state.$MOUNT_AS deadline "$PATIENCE" "$SANDBOXFS" -f "$SOURCE" second 2>err
is "a second mount of the sandbox is refused" $? 32
ok "the line names the first one's process and directory" \
	grep -q "in use by process $DAEMON, mounted on $MNT: " err
unmount

# ---- Journals of two sandboxes change places, as in a backup that is restored ---------------------

stalls() {
	vendor_request POST "$ADMIN/faults" \
		'{"match":{"kind":"/process|files/","times":0},"action":{"type":"stall"}}' >/dev/null
}

# A mount of NAME that is killed while it owes a file of that name.
leave_owed() { # NAME
	mount_sandbox "$1"
	ls "$MNT" >/dev/null
	stalls
	echo "$1" >"$MNT/$1"
	kill -9 "$DAEMON"
	wait "$DAEMON" 2>/dev/null
	tap_drop_mount "$MNT"
	vendor_request DELETE "$ADMIN/faults" >/dev/null
	echo "$SCRATCH/state.$MOUNT_AS/sandboxfs/e2b-$SANDBOX"* >"$SCRATCH/journal.$1"
}

exchange() {
	mv "$(cat journal.one)" kept
	mv "$(cat journal.two)" "$(cat journal.one)"
	mv kept "$(cat journal.two)"
}

leave_owed one
leave_owed two
ok "each has a journal" test -d "$(cat journal.one)" -a -d "$(cat journal.two)"
exchange
XDG_STATE_HOME=$SCRATCH/state.$MOUNT_AS deadline "$PATIENCE" "$SANDBOXFS" -f "$SOURCE" second 2>err
is "with the journal of another sandbox a mount is refused" $? 32
is "by one line" "$(wc -l <err)" 1
ok "which names both, and the way out" grep -q \
	"^sandboxfs: $(cat journal.two) has changes of e2b:$(cat "$VENDOR_DIR/id.one"):.*: move it back" err
exchange
for name in one two; do
	mount_sandbox $name
	ok "in its place it is sent" settle
	is "whole" "$(cat "$STORE/$name")" $name
	is "and nothing else is" "$(find "$STORE" -name '*conflict*')" ""
	unmount
done

# ---- What a killed mount left is shown before it is sent ------------------------------------------

pending() {
	sed -n 's/.*"pending_changes": *\([0-9]*\).*/\1/p' "$MNT/.sandbox/status" | head -1
}

mount_sandbox many
mkdir "$STORE/d" "$STORE/other"
echo untouched >"$STORE/other/file"
# Only what is listed under the stream of changes can be changed without the sandbox.
is_live() { grep -q '"stream": {"state": "live"' "$MNT/.sandbox/status"; }
ls "$MNT/d" "$MNT/other" >/dev/null
ok "changes of the sandbox are reported" wait_until "$PATIENCE" is_live
ls "$MNT/d" "$MNT/other" >/dev/null
stalls
python3 -c 'import sys
for n in range(3000):
    with open("%s/%d" % (sys.argv[1], n), "w") as f:
        f.write("file %d\n" % n)' "$MNT/d"
kill -9 "$DAEMON"
wait "$DAEMON" 2>/dev/null
tap_drop_mount "$MNT"
vendor_request DELETE "$ADMIN/faults" >/dev/null
# What had left goes through, and nothing behind it.
vendor_request POST "$ADMIN/faults" \
	'{"match":{"kind":"/files/","after":1,"times":0},"action":{"type":"stall"}}' >/dev/null
mount_sandbox many
expect_log '.*'
is "all names are there" "$(find "$MNT/d" -type f | wc -l)" 3000
is "and the last file's contents" "$(cat "$MNT/d/2999")" "file 2999"
is "and what nobody touched" "$(cat "$MNT/other/file")" untouched
ok "though the sandbox does not have the file" test ! -e "$STORE/d/2999"
ok "and changes are pending" test "$(pending)" -gt 0
echo theirs >"$STORE/d/2999"
vendor_request DELETE "$ADMIN/faults" >/dev/null
fails "the next barrier tells that somebody else made one of the files, too" settle
is "whose contents stay" "$(cat "$STORE/d/2999")" theirs
is "and ours are beside it" "$(cat "$STORE/d/2999.sandboxfs-conflict")" "file 2999"
is "all others arrived" "$(cat "$STORE"/d/* | grep -c '^file ')" 3000
is "and nothing is pending" "$(pending)" 0
tap_umount "$MNT"
wait "$DAEMON"
is "the end of the mount tells that, too" $? 32

# ---- The sandbox is deleted ------------------------------------------------------------------------

status() { # FIELD
	python3 -c 'import json, sys; print(eval("status" + sys.argv[2], {"status": json.load(open(sys.argv[1]))}))' \
		"$MNT/.sandbox/status" "$1"
}

is_told_gone() {
	status '["last_errors"]' | grep -q 'is gone'
}

mount_sandbox doomed timeout=5
expect_log '.*'
mkdir "$MNT/dir"
echo sent >"$MNT/dir/file"
sync "$MNT/dir/file" "$MNT/dir"
ls -lR "$MNT" >/dev/null
vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/process|files/","times":0},"action":{"type":"stall"}}' >/dev/null
echo owed >>"$MNT/dir/file"
vendor_request DELETE "$E2B_API_URL/sandboxes/$SANDBOX" >/dev/null
vendor_request DELETE "$ADMIN/faults" >/dev/null
deadline "$PATIENCE" sync "$MNT/dir/file" 2>err
is "what waits for the sandbox fails" $? 1
ok "the status tells that it is gone" wait_until "$PATIENCE" is_told_gone
deadline "$PATIENCE" ls "$MNT/dir/absent/or/not" 2>err
is "what asks it fails" $? 2
is "the change is pending" "$(status '["pending_changes"] > 0')" True
journal=$(status '["journal"]["dir"]')
is "and the status tells where it is kept" "${journal%/*}" "$SCRATCH/state.$MOUNT_AS/sandboxfs"
tap_umount "$MNT"
ok "the process ends" wait_until "$PATIENCE" ended "$DAEMON"
wait "$DAEMON"
is "with the status of a failure" $? 32
ok "the last line says what is gone and where the change is kept" \
	sh -c 'tail -n 1 "$1" | grep -qF "; it is kept for the next mount, in $2" && tail -n 1 "$1" | grep -q "$3.* is gone"' \
	- "$LOG" "$journal" "$SANDBOX"
ok "there it is" test -s "$journal/segment-00000001"
done_testing
