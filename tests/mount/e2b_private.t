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
done_testing
