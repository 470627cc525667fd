#!/bin/sh
# A vendor whose clock is an hour ahead of this machine's, or behind it: how long a sandbox has left is what the vendor
# means by it, and a mount works.
# shellcheck disable=SC2034,SC2317
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs_vendor
needs node python3
LIFETIME=1200
TIME="--timeout $LIFETIME"
case $PROVIDER in
aio) skip_all "tells no end of a sandbox" ;;
# What counts there is when it was stopped.
langsmith) TIME="--delete-after $LIFETIME" ;;
esac

# What is left of JSON on standard input, the first of a list, is what a new sandbox has.
is_all_left() {
	python3 -c 'import json, sys
told, lifetime = json.load(sys.stdin), int(sys.argv[1])
left = (told[0] if isinstance(told, list) else told)["expires_s"]
print(left)
sys.exit(not lifetime / 2 < left <= lifetime)' "$LIFETIME"
}

told_by() { # COMMAND...
	"$@" | is_all_left
}

works() {
	mount_sandbox "skewed$1"
	echo "text $1" >"$MNT/file"
	ok "what was written arrives" settle
	is "and is read" "$(cat "$MNT/file")" "text $1"
	[ "$PROVIDER" = langsmith ] || ok "the mount's status says what is left" told_by cat "$MNT/.sandbox/status"
	unmount
}

for skew in 3600 -3600; do
	vendor_stop
	VENDOR_USER=
	VENDOR_OPTIONS="--skew=$skew"
	vendor_start
	tap_prefix="$skew s: "
	# shellcheck disable=SC2086 # two words
	name=$(ctl create "$PROVIDER" $TIME)
	[ "$PROVIDER" != langsmith ] || ctl pause "$name"
	ok "info says what is left" told_by ctl info "$name" --json
	ok "and the list" told_by ctl list "$PROVIDER" --json
	[ "$PROVIDER" != langsmith ] || ctl resume "$name"
	tap_id=${name#*:}
	echo "$tap_id" >"$VENDOR_DIR/id.skewed$skew"
	works "$skew"
	ctl delete "$name"
done
done_testing
