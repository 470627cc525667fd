#!/bin/sh
# A sandbox that its owner pauses stays paused until somebody uses the mount, however soon after the last use that is.
#
#	PAUSE_AFTER     so many seconds after it (0 3)
# shellcheck disable=SC2317
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs_vendor
needs node python3
case $PROVIDER in
aio | modal) skip_all "has sandboxes that cannot be paused" ;;
esac
# What goes on by itself comes soon: a request that the pause cut off is sent again at once.
STAYS_S=5

state() {
	ctl info "$SOURCE" --json | field_of state
}

# Not running, whenever it is asked.
stays_paused() {
	stays_until=$(($(date +%s) + STAYS_S))
	while [ "$(date +%s)" -lt $stays_until ]; do
		[ "$(state)" != running ] || return 1
	done
}

mount_sandbox sleeper
for after in ${PAUSE_AFTER:-0 3}; do
	echo "text $after" >"$MNT/file"
	ls -l "$MNT" >/dev/null
	sleep "$after"
	ok "paused $after s after use" ctl pause "$SOURCE"
	ok "it stays so" stays_paused
	is "until it is used" "$(deadline "$PATIENCE" cat "$MNT/file" 2>&1)" "text $after"
	echo 1 >"$MNT/.sandbox/sync"
	is "then it runs" "$(state)" running
	is "and has what was written" "$(cat "$STORE/file")" "text $after"
done
# What the test server starts again keeps a copy of the mount, as long as it runs: the process ends with the script.
ok "it is unmounted" tap_umount "$MNT"

# Any request wakes such a sandbox, also one that nobody asked for.
if [ "$PROVIDER" = e2b ]; then
	tap_prefix="resumed by requests: "
	SOURCE=e2b:$(vendor_request POST "$E2B_API_URL/v2/sandboxes" \
		'{"templateID":"base","autoPause":true,"autoResume":{"enabled":true}}' | field_of sandboxID)
	ok "it is mounted" "$SANDBOXFS" "$SOURCE" "$MNT"
	echo text >"$MNT/file"
	ok "paused right after use" ctl pause "$SOURCE"
	ok "it stays so" stays_paused
	is "until it is used" "$(deadline "$PATIENCE" cat "$MNT/file" 2>&1)" text
	echo 1 >"$MNT/.sandbox/sync"
	is "then it runs" "$(state)" running
	ok "it is unmounted" tap_umount "$MNT"
	ctl delete "$SOURCE"
fi
done_testing
