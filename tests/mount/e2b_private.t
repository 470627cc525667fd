#!/bin/sh
# What other users of this machine, and other processes of the same user, may see of a mount and of its key.
# shellcheck disable=SC2016
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node
[ "$(id -u)" -eq 0 ] || skip_all "needs root, to be two users"

# as_other COMMAND...: as a user who is neither root nor the mount's owner.
OTHER=65533
as_other() {
	$(tap_become $OTHER) "$@"
}

mount_sandbox demo allow_other
echo 'echo text; sleep 3600' >"$MNT/.sandbox/spawn"
job_runs() {
	grep -q '"state": "running"' "$MNT/.sandbox/jobs/1/status"
}
ok "a job runs" wait_until "$PATIENCE" job_runs
echo text >"$MNT/file"
chmod 644 "$MNT/file"
chmod 755 "$MNT"
is "another user is let in" "$(as_other cat "$MNT/file")" text

for file in id status stats jobs/1/status jobs/1/output ports/8000 events exec; do
	fails "another user does not read $file" as_other sh -c ': <"$1"' - "$MNT/.sandbox/$file"
	is "nobody but its owner may read $file" "$(stat -c %A "$MNT/.sandbox/$file" | cut -c 5,8)" --
done
for file in exec spawn sync jobs/1/stdin jobs/1/kill; do
	fails "another user does not write $file" as_other sh -c ': >>"$1"' - "$MNT/.sandbox/$file"
done
for file in id status stats jobs/1/status; do
	ok "its owner reads $file" sh -c '[ -n "$(cat "$1")" ]' - "$MNT/.sandbox/$file"
done

# ---- The daemon ------------------------------------------------------------------------------------

# Of an ordinary user, who might look at a process of the same user.
MOUNT_AS=$TEST_UID
mount_sandbox of_a_user
is "the tests have a key" "${E2B_API_KEY:+yes}" yes
guard=$(cat "/proc/$DAEMON"/task/*/children | awk '{print $1}')
# The test's own variable beside it has the key, too.
environment() { # PID
	tr '\0' '\n' <"/proc/$1/environ" | grep -v '^VENDOR_KEY='
}
for process in "$DAEMON" $guard; do
	name=$(cat "/proc/$process/comm")
	ok "$name was started with the key's variable" sh -c 'echo "$1" | grep -qx E2B_API_KEY=' - "$(environment "$process")"
	is "the key in $name's environment is overwritten" "$(environment "$process" | grep -cF "$E2B_API_KEY")" 0
	fails "its user does not read the environment of $name" as_owner cat "/proc/$process/environ"
	fails "nor the memory of $name" as_owner sh -c ': <"$1"' - "/proc/$process/mem"
	is "no core of $name is written" "$(sed -n 's/^Max core file size *\([0-9]*\) .*/\1/p' "/proc/$process/limits")" 0
done
as_owner sh -c 'echo changed >"$1"' - "$MNT/file"
ok "the key still works" as_owner sync "$MNT/file"
done_testing
