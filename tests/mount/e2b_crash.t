#!/bin/sh
# The mount's process is killed at any moment, again and again: what was acknowledged is in the sandbox after the next mount,
# once and whole.
#
#	CRASHES      how often (6)
#	CRASH_SEED   the first seed (1)
#	CRASH_OPEN   how many files that were written to are open then (3)
#
# The same over ssh:, docker: and kubernetes:, whose programs and helper outlive the process for a moment.
case ${PROVIDER:-} in ssh | docker | kubernetes) ;; *) PROVIDER=e2b ;; esac
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"

needs_mount
needs python3
CRASH=$TOP/tests/mount/crash.py

# Takes away what was mounted last, whose process is dead.
bury() {
	wait "$DAEMON" 2>/dev/null
	tap_drop_mount "$MNT"
}

# What the sandbox does not have, and what it refused.
owed() {
	python3 -c '
import json, sys
status = json.load(open(sys.argv[1]))
print(status["pending_changes"], status["parked_changes"], *status["journal"]["parked"])' "$MNT/.sandbox/status"
}

# Until the next mount, which shows what there is of files that were never closed.
stop_watching() {
	kill "$WATCHER" 2>/dev/null
	wait "$WATCHER" 2>/dev/null
}

# A thousand crashes take longer than an hour.
VENDOR_OPTIONS="--max-seconds 86400"
vendor_sandbox crash
mkdir "$STORE/work"
seed=${CRASH_SEED:-1}
last=$((seed + ${CRASHES:-6} - 1))
while [ "$seed" -le "$last" ]; do
	mount_sandbox crash
	python3 "$CRASH" watch "$STORE/work" >half 2>&1 &
	WATCHER=$!
	tap_daemons="$tap_daemons $WATCHER"
	diag "seed $seed: $(deadline "$PATIENCE" python3 "$CRASH" run "$MNT/work" model "$DAEMON" "$seed" \
		"${CRASH_OPEN:-3}")"
	bury
	stop_watching
	is "seed $seed: no new file was ever there in part" "$(cat half)" ""
	mount_sandbox crash
	ok "seed $seed: the next mount sends what is left" settle
	is "seed $seed: and all of it" "$(owed)" "0 0"
	ok "seed $seed: the sandbox has what was acknowledged, once and whole" python3 "$CRASH" check "$STORE/work" model
	ok "seed $seed: and so has the mount" python3 "$CRASH" check "$MNT/work" model
	tap_umount "$MNT"
	wait_until "$PATIENCE" ended "$DAEMON"
	seed=$((seed + 1))
done

[ "$PROVIDER" = e2b ] || done_testing

# What came with the attach is from before that: nobody is shown it.
python3 -c '
import os, sys
for name in sys.argv[2:]:
    os.mkdir(f"{sys.argv[1]}/{name}")
    for n in range(1800):
        open(f"{sys.argv[1]}/{name}/{n}", "x").close()
' "$STORE" before zz
mount_sandbox crash
ls -R "$MNT" >/dev/null
vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/process|files/","times":0},"action":{"type":"stall"}}' >/dev/null
echo acknowledged >"$MNT/work/late"
kill -9 "$DAEMON"
bury
vendor_request DELETE "$ADMIN/faults" >/dev/null
lay_link crash
tell_relay link bandwidth 1
mount_sandbox crash
echo 'cat work/late; echo of a command >>work/late; mkdir work/made' >"$MNT/.sandbox/exec"
is "a command behind the next mount has what was left" "$(field_of output <"$MNT/.sandbox/exec")" acknowledged
is "and what was left and what it did are shown" "$(cat "$MNT/work/late" && ls -d "$MNT/work/made")" "acknowledged
of a command
$MNT/work/made"
unmount
done_testing
