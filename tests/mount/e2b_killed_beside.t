#!/bin/sh
# The link is down, a second writer in the sandbox changes what the mount changes, both move directories, and the mount's
# process is killed: nothing of the second writer's is overwritten, and what the mount acknowledged arrives or is reported.
#
#	KILLS        how often (6)
#	CRASH_SEED   the first seed (1)
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"

needs_mount
needs node python3 curl
BESIDE=$TOP/tests/mount/beside.py
VENDOR_OPTIONS="--max-seconds 86400"

tell() { # COMMAND...
	tell_relay to_control "$@" && tell_relay to_data "$@"
}

# Takes away what was mounted last, whose process is dead.
bury() {
	kill -KILL "$DAEMON" 2>/dev/null
	wait "$DAEMON" 2>/dev/null
	tap_drop_mount "$MNT"
}

# What the link held up never arrives: a batch that is only late is as if it came at once, and the last writer wins. The
# seed says whether the next mount is killed, too.
die_and_return() {
	ok "$what: both sides change the same files" deadline "$PATIENCE" \
		python3 "$BESIDE" run "$MNT" "$STORE" ledger "$DAEMON" "$seed" sh -c \
		"'$RELAY' --tell='$SCRATCH/to_control' stall 0 && '$RELAY' --tell='$SCRATCH/to_data' stall 0"
	bury
	tell cut && tell resume
	if [ $((seed % 3)) -eq 0 ]; then
		start_mount "$box"
		wait_until "$PATIENCE" tap_answers_or_ended
		bury
	fi
	mount_sandbox "$box"
}

vendor_start
start_relay to_control "$E2B_API_URL"
start_relay to_data "$E2B_SANDBOX_URL"
E2B_API_URL=$(relay_url to_control)
E2B_SANDBOX_URL=$(relay_url to_data)
expect_log '.*'
seed=${CRASH_SEED:-1}
last=$((seed + ${KILLS:-6} - 1))
while [ "$seed" -le "$last" ]; do
	what="seed $seed"
	box=crash.$seed
	mount_sandbox "$box" timeout=60
	die_and_return
	ok "$what: nothing of the second writer's is lost, nor what was acknowledged and not refused" \
		deadline "$((2 * PATIENCE))" python3 "$BESIDE" check "$MNT" "$STORE" ledger ||
		diag "$(grep -m 5 ' warn: ' "$LOG")"
	diag "$what: $(printf '%s\n' "$tap_said" | head -n 1)"
	tap_umount "$MNT"
	wait_until "$PATIENCE" ended "$DAEMON"
	# With what watches there on behalf of mounts that were killed.
	vendor_request DELETE "$E2B_API_URL/sandboxes/$SANDBOX" >/dev/null
	seed=$((seed + 1))
done
done_testing
