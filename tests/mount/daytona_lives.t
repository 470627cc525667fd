#!/bin/sh
# The states and ends of a sandbox besides running and stopped: broken, recovered, paused for want of use, destroyed in time.
# shellcheck disable=SC2016,SC2317
PROVIDER=daytona
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs node python3 curl

told() { # FIELD
	ctl info "$SOURCE" --json | field_of "$1"
}

control() { # METHOD PATH [BODY]
	curl -sS --fail --noproxy '*' --max-time "$PATIENCE" -K - -X "$1" ${3:+--data-binary "$3"} "$DAYTONA_API_URL$2" <<-END
		header = "Authorization: Bearer $DAYTONA_API_KEY"
		header = "Content-Type: application/json"
	END
}

is_state() { # WORD
	[ "$(told state 2>&1)" = "$1" ]
}

is_gone() {
	! ctl info "$SOURCE" >/dev/null 2>&1
}

# ---- Broken --------------------------------------------------------------------------------------

a_sandbox broken
echo kept >"$STORE/file"
vendor_request POST "$ADMIN/fail/$SANDBOX?why=no+space+left&recoverable=1" >/dev/null
is "a broken sandbox is shown as that" "$(told state)" error
is "in the list, too" "$(ctl list daytona --json | python3 -c 'import json, sys; print(*[one["state"] for one in json.load(sys.stdin)])')" error
is "info says why, and the way out" "$(told warning)" "no space left; sandboxctl resume recovers the sandbox"
MNT=$SCRATCH/mnt.broken
as_owner mkdir -p "$MNT"
like "it is not mounted, and the way out is named" "$(deadline "$PATIENCE" "$SANDBOXFS" "$SOURCE" "$MNT" 2>&1)" \
	"^sandboxfs: sandbox $SOURCE is in the state 'error': no space left; sandboxctl resume recovers the sandbox\$"
says "it is recovered" 0 "" ctl resume "$SOURCE"
is "then it runs" "$(told state)" running
is "and has its files" "$(ctl exec "$SOURCE" cat file </dev/null)" kept
vendor_request POST "$ADMIN/fail/$SANDBOX?why=disk+lost" >/dev/null
like "one that cannot be recovered says so" "$(ctl resume "$SOURCE" 2>&1)" "is in the state 'error': disk lost\$"

# ---- Evicted -------------------------------------------------------------------------------------

a_sandbox spot
vendor_request POST "$ADMIN/evict/$SANDBOX" >/dev/null
ok "an evicted sandbox is gone" wait_until "$PATIENCE" is_gone
like "and why is said" "$(ctl info "$SOURCE" 2>&1)" "destroyed because others need its GPU: it was a spot sandbox"

# ---- gc knows a sandbox by each of its names -----------------------------------------------------

vendor_start
SANDBOX=$(control POST /sandbox '{"name":"byname","labels":{"gc":"yes"}}' | field_of id)
SOURCE=daytona:byname
MNT=$SCRATCH/mnt.byname
as_owner mkdir -p "$MNT"
ok "a sandbox is mounted by its name" as_owner deadline "$PATIENCE" "$SANDBOXFS" "$SOURCE" "$MNT" -o journal=off
says "gc keeps it, though the list has its ID" 0 "daytona:$SANDBOX: kept: mounted on $MNT" ctl gc -l gc daytona
ok "and it works" touch "$MNT/f"
ok "it is unmounted" tap_umount "$MNT"

# ---- Paused for want of use ----------------------------------------------------------------------

vendor_start
SANDBOX=$(control POST /sandbox '{"snapshot":"daytona-vm-small","autoPauseInterval":10}' | field_of id)
SOURCE=daytona:$SANDBOX
ok "what pauses by itself has an end" sh -c '[ "$1" -gt 500 ] && [ "$1" -le 600 ]' - "$(told expires_s)"
ok "its interval is raised" ctl extend -t 1800 "$SOURCE"
is "and is that of pausing" "$(control GET "/sandbox/$SANDBOX" | field_of autoPauseInterval)" 30
control POST "/sandbox/$SANDBOX/pause" '{}' >/dev/null
ok "a paused sandbox is shown as that" wait_until "$PATIENCE" is_state paused
says "and is resumed" 0 "" ctl resume "$SOURCE"
is "then it runs again" "$(told state)" running

# ---- Destroyed in time ---------------------------------------------------------------------------

a_sandbox mortal
control POST "/sandbox/$SANDBOX/ttl/10" '{}' >/dev/null
ok "what is destroyed in time has an end" sh -c '[ "$1" -gt 500 ] && [ "$1" -le 600 ]' - "$(told expires_s)"
vendor_request POST "$ADMIN/stop/$SANDBOX" >/dev/null
ok "also while it is stopped" sh -c '[ "$1" -gt 400 ] && [ "$1" -le 600 ]' - "$(told expires_s)"
mount_sandbox mortal attr_timeout=0,entry_timeout=0
destroyed_at=$(control GET "/sandbox/$SANDBOX" | field_of autoDestroyAt)
like "the mount says so" "$(cat "$LOG")" "^sandboxfs: $SOURCE: the sandbox is destroyed at $destroyed_at, also when it rests"
is "its status, too" "$(field_of warning <"$MNT/.sandbox/status")" "$(told warning)"
echo written >"$MNT/file"
vendor_request POST "$ADMIN/ttl/$SANDBOX?minutes=0.05" >/dev/null
ok "it is destroyed at its time" wait_until "$PATIENCE" is_gone
expect_log 'is gone$'
expect_log 'was deleted$'
unmount

# Half of what is left, 15 s, passes first.
a_sandbox kept
vendor_request POST "$ADMIN/ttl/$SANDBOX?minutes=0.5" >/dev/null
mount_sandbox kept lifetime=120,attr_timeout=0,entry_timeout=0
first=$(control GET "/sandbox/$SANDBOX" | field_of autoDestroyAt)
is_put_off() {
	ls "$MNT" >/dev/null && [ "$(control GET "/sandbox/$SANDBOX" | field_of autoDestroyAt)" != "$first" ]
}
ok "a mount in use puts the end off" wait_until "$PATIENCE" is_put_off
unmount
done_testing
