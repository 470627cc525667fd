#!/bin/sh
# The service's locks and time limits, which its own client waits out: a command, a mount and a write pass them. Its notices
# that it will suspend a devbox.
# shellcheck disable=SC2317
PROVIDER=runloop
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs node python3 curl

lock() { # STATUS TIMES KIND [MORE]
	vendor_request POST "$ADMIN/faults" \
		"{\"match\":{\"kind\":\"$3\",\"times\":$2},\"action\":{\"type\":\"status\",\"status\":$1,\"body\":{\"message\":\"lock timeout\"}${4:-}}}" \
		>/dev/null
}

taken() {
	vendor_request DELETE "$ADMIN/faults" | field_of taken
}

a_sandbox locked
EXECUTE='POST /v1/devboxes/{id}/execute'
lock 409 2 "$EXECUTE"
says "a command waits for a lock" 0 said ctl exec "$SOURCE" 'echo said; echo once >>ran' </dev/null
is "which was in its way" "$(taken)" 2
is "and runs once" "$(cat "$STORE/ran")" once
lock 409 5 "$EXECUTE" ',"headers":{"retry-after-ms":"20"}'
says "five times" 0 said ctl exec "$SOURCE" 'echo said' </dev/null
is "as often as the service's own client" "$(taken)" 5
lock 409 9 "$EXECUTE" ',"headers":{"retry-after-ms":"20"}'
like "and no more" "$(ctl exec "$SOURCE" 'echo said' 2>&1 </dev/null)" 'lock timeout'
is "than that" "$(taken)" 6

mount_sandbox locked
lock 409 2 '/.*/'
lock 408 1 'GET /v1/devboxes/{id}'
echo written >"$MNT/file"
ok "a write passes as well" sh -c 'echo 1 >"$1/.sandbox/sync"' - "$MNT"
is "and is there" "$(cat "$STORE/file")" written
unmount

# A quarter of 40 s passes first.
SOURCE=$(ctl create runloop --idle 40)
MNT=$SCRATCH/mnt.evicted
mkdir "$MNT"
"$SANDBOXFS" -f "$SOURCE" "$MNT" 2>evicted.log &
daemon=$!
ok "a mount of what is suspended soon without use" wait_until "$PATIENCE" test -e "$MNT/.sandbox/status"
vendor_request POST "$ADMIN/evict/${SOURCE#*:}?in_ms=600000" >/dev/null
is_warned() {
	field_of warning <"$MNT/.sandbox/status" | grep -q '^the service needs the machine and will suspend the devbox at '
}
ok "its status says that the devbox is evicted" wait_until "$PATIENCE" is_warned
is "its log too, once" "$(grep -c 'warn: .* will suspend the devbox in 5[0-9]* s$' evicted.log)" 1
fusermount3 -u "$MNT"
wait $daemon
done_testing
