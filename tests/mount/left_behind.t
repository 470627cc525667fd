#!/bin/sh
# What works on a sandbox leaves nothing in it: after a mount and after each program the sandbox's staging directory is as
# it was before. What a command printed, say, is a secret, and fills a disk.
. "${0%/*}/../support/tap.sh"

[ "$TARGET" = mount ] || skip_all "a plain directory has no staging"
needs find seq

staged() {
	find "$STAGING" -mindepth 1 -printf '%P\n' | sort
}

# The helper is stored by the first mount ever, and stays.
mount_sandbox left
unmount
before=$(staged)

is_as_before() { # WHAT
	is "$1 leaves nothing" "$(staged)" "$before"
}

has_exited() { # JOB
	grep -q '"state": "exited"' "$MNT/.sandbox/jobs/$1/status"
}

# ---- A mount ---------------------------------------------------------------------------------------

mount_sandbox left
mkdir "$MNT/dir"
for name in $(seq 20); do
	echo "$name" >"$MNT/dir/$name"
done
settle
(set -C && echo new >"$MNT/new")
echo more >>"$MNT/new"
mv "$MNT/dir/1" "$MNT/dir/one"
head -c 3000000 /dev/urandom >"$MNT/large"
settle
unmount
is_as_before "a mount that changed something"

mount_sandbox left
is "what was written is read" "$(wc -c <"$MNT/large")" 3000000
ok "to the end" cat "$MNT/large"
unmount
is_as_before "a mount that read something"

mount_sandbox left
echo 'seq 100000; echo secret >&2' >"$MNT/.sandbox/exec"
ok "a command ran" grep -q secret "$MNT/.sandbox/exec"
echo 'echo second' >"$MNT/.sandbox/exec"
ok "and a second one" grep -q second "$MNT/.sandbox/exec"
unmount
is_as_before "a mount that ran commands"

mount_sandbox left
echo 'echo secret; exit 3' >"$MNT/.sandbox/spawn"
ok "a job ended" wait_until "$PATIENCE" has_exited 1
is "and printed" "$(cat "$MNT/.sandbox/jobs/1/output")" secret
echo 'cat' >"$MNT/.sandbox/spawn"
echo input >"$MNT/.sandbox/jobs/2/stdin"
ok "another one read its input" wait_until "$PATIENCE" has_exited 2
unmount
is_as_before "a mount with jobs that ended"

mount_sandbox left
echo 'while [ ! -e go ]; do sleep 0.1; done; echo secret; echo done >went' >"$MNT/.sandbox/spawn"
grep -q running "$MNT/.sandbox/jobs/1/status"
unmount
is_as_before "a mount with a job that goes on"
if [ "$PROVIDER" != local ]; then
	echo go >"$STORE/go"
	ok "the job ends later" wait_until "$PATIENCE" test -s "$STORE/went"
	ok "and leaves nothing then" wait_until "$PATIENCE" sh -c '! ls "$1" | grep -q "^job-"' - "$STAGING"
fi

# ---- Programs without a mount ----------------------------------------------------------------------

for number in 1 2 3; do
	is "a command runs without a mount" "$("$SANDBOXCTL" exec "$SOURCE" 'echo secret')" secret
done
is_as_before "sandboxctl exec"
is "with input" "$(echo input | "$SANDBOXCTL" exec "$SOURCE" cat)" input
is_as_before "its input"
seq 300000 >pushed
ok "a file is pushed" "$SANDBOXCTL" push pushed "$SOURCE"
is_as_before "sandboxctl push"
ok "and pulled" "$SANDBOXCTL" pull "$SOURCE:pushed" pulled
is_as_before "sandboxctl pull"
done_testing
