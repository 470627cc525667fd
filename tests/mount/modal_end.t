#!/bin/sh
# A sandbox that gets no more time ends under its mount, which says so without being asked for a file.
# shellcheck disable=SC2317
PROVIDER=modal
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs node python3

told() { # FIELD
	field_of "$1" <"$MNT/.sandbox/status"
}

is_gone() {
	[ "$(told state)" = gone ]
}

vendor_start
SOURCE=$(ctl create modal --timeout 20)
MNT=$SCRATCH/mnt.ending LOG=$SCRATCH/log.ending
as_owner mkdir -p "$MNT"
"$SANDBOXFS" -f "$SOURCE" "$MNT" >"$LOG" 2>&1 &
DAEMON=$!
tap_daemons="$tap_daemons $DAEMON"
tap_mounts="$tap_mounts $MNT"
wait_until "$PATIENCE" tap_answers_or_ended
is "it runs" "$(told state)" running
ok "its end is known" sh -c '[ "$1" -gt 0 ] && [ "$1" -le 20 ]' - "$(told expires_s)"
ok "when that comes its status says so" wait_until "$PATIENCE" is_gone
is "and that nothing is left of its life" "$(told expires_s)" 0
like "sandboxctl status has a line of it" "$(ctl status)" "^$MNT: the sandbox is gone\$"
expect_log 'the sandbox.s time could not be extended'
expect_log 'is gone|has ended|ended:'
unmount
done_testing
