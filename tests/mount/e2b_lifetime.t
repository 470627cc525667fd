#!/bin/sh
# A sandbox's time by the clock: once it is over every call says so at once; a mount that is used has it prolonged.
# shellcheck disable=SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3

# What the control plane says of the sandbox: nothing where there is none.
told() { # FIELD
	vendor_request GET "$E2B_API_URL/sandboxes/$SANDBOX" 2>/dev/null |
		python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1" 2>/dev/null
}

is_over() {
	[ -z "$(told state)" ]
}

# How each of these calls ends. The mount's deadline is ten minutes: who waited for it would not be back within one.
calls() {
	deadline 60 python3 - "$MNT" <<'END'
import errno, os, sys

root = sys.argv[1]
calls = {
    "stat": lambda: os.stat(root + "/dir"),
    "stat of a new name": lambda: os.stat(root + "/absent"),
    "readdir": lambda: os.listdir(root + "/dir"),
    "mkdir": lambda: os.mkdir(root + "/new"),
    "truncate": lambda: os.truncate(root + "/file", 0),
    "rename": lambda: os.rename(root + "/file", root + "/other"),
}
for name, call in calls.items():
    try:
        call()
        print(name, "ok")
    except OSError as failure:
        print(name, errno.errorcode[failure.errno])
END
}

# ---- It ends -------------------------------------------------------------------------------------

# The mount was told of an hour, so it renews nothing before the end, which is then set nearer.
mount_sandbox ending timeout=600,attr_timeout=0,entry_timeout=0
mkdir "$MNT/dir"
echo contents >"$MNT/file"
is "before the end" "$(cat "$MNT/file")" contents
vendor_request POST "$E2B_API_URL/sandboxes/$SANDBOX/timeout" '{"timeout":1}' >/dev/null
ok "the sandbox ends by itself" wait_until "$PATIENCE" is_over
is "after the end" "$(calls)" "stat ENOTCONN
stat of a new name ENOTCONN
readdir ENOTCONN
mkdir ENOTCONN
truncate ENOTCONN
rename ENOTCONN"
expect_log 'is gone$'
unmount

# ---- It is prolonged, whatever the clock of the service says -------------------------------------

LIFETIME=4

# A sandbox of its own, which so has LIFETIME from the beginning.
mount_new() {
	MNT=$SCRATCH/mnt.new LOG=$SCRATCH/log.new$1
	as_owner mkdir -p "$MNT"
	"$SANDBOXFS" -f -o "lifetime=$LIFETIME,attr_timeout=0,entry_timeout=0" e2b: "$MNT" >"$LOG" 2>&1 &
	DAEMON=$!
	tap_daemons="$tap_daemons $DAEMON"
	tap_mounts="$tap_mounts $MNT"
	wait_until "$PATIENCE" tap_answers_or_ended
	SANDBOX=$(sed -n 's/.*made e2b:\([a-z0-9]*\).*/\1/p' "$LOG")
}

renewals() {
	vendor_request GET "$ADMIN/counters" | python3 -c '
import json, sys
kinds = json.load(sys.stdin)["kinds"]
print(kinds.get("POST /sandboxes/{id}/refreshes", {}).get("requests", 0))'
}

# Each look is a use.
has_been_used_for_long() {
	ls "$MNT" >/dev/null && [ "$(renewals)" -ge 2 ] && [ "$(date +%s)" -gt $((began + 3 * LIFETIME)) ]
}

for skew in 0 3600 -3600; do
	vendor_stop
	VENDOR_USER=
	VENDOR_OPTIONS="--skew=$skew"
	vendor_start
	tap_prefix="its clock $skew s ahead: "
	began=$(date +%s)
	mount_new "$skew"
	echo contents >"$MNT/file"
	ok "a mount in use renews again and again" wait_until "$PATIENCE" has_been_used_for_long
	is "after three lifetimes it runs" "$(told state)" running
	is "and has what was written" "$(cat "$MNT/file")" contents
	unmount
	ok "a sandbox that the mount made goes with it" is_over
done
done_testing
