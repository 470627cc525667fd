#!/bin/sh
# The example that serves a mount to those who want a sandbox as three calls, held to what they expect.
# shellcheck source=tests/support/tap.sh disable=SC2317
. "${0%/*}/../support/tap.sh"

needs_mount
needs python3

holds() {
	may_all=no
	[ "$MOUNT_AS" -ne 0 ] || may_all=yes
	mount_sandbox "backend$MOUNT_AS"
	as_owner python3 "$TOP/tests/mount/backend.py" "$MNT" "$may_all" >results 2>&1
	ok "all calls were made" grep -q '^1\.\.[1-9]' results
	sed -n "s/^ok [0-9]* - //p" results >names
	while read -r name; do
		ok "$name" true
	done <names
	is "what is not so" "$(grep -A 2 '^not ok' results)" ""
	unmount
}
for_each_user holds

done_testing
