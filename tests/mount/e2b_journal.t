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
