#!/bin/sh
# What works on a sandbox leaves nothing in it: after a mount and after each program the sandbox's staging directory is as
# it was before. What a command printed, say, is a secret, and fills a disk. After a mount that was killed it is so when the
# next one has ended. What refuses late copies of changes stays for an hour, and so does what a killed program had under way.
# shellcheck disable=SC2317
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

# ---- What is cut off -------------------------------------------------------------------------------

expect_log '.*'

later() { # WHAT
	staged | grep -vxF "$before"
}

# What is left is as old as it will be an hour from now; and somebody attaches.
an_hour_passes() {
	later | while read -r name; do
		touch -h -d "@$(($(stat -c %Y "$STAGING/$name") - 3900))" "$STAGING/$name"
	done
	"$SANDBOXCTL" exec "$SOURCE" true
}

is_as_before_in_an_hour() { # WHAT
	is "$1 leaves nothing but what goes in an hour" "$(later | grep -vE '^(seq|fence|once|command)-')" ""
	ok "an hour passes" an_hour_passes
	is_as_before "then $1"
}

is_unanswered() {
	grep '^sandboxfs_calls_total{verb="apply"' "$MNT/.sandbox/stats" | grep -v '"OK"' | grep -q ' [1-9]'
}

if [ "$PROVIDER" != local ]; then
	mount_sandbox left
	echo text >"$MNT/first"
	settle
	vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/./","times":0},"action":{"type":"cut_after","bytes":0}}' >/dev/null
	echo text >"$MNT/second"
	ok "a change is not answered" wait_until "$PATIENCE" is_unanswered
	vendor_request DELETE "$ADMIN/faults" >/dev/null
	ok "and is done later" wait_until "$PATIENCE" settle
	unmount
	is "what refuses a copy of it stays" "$(later | grep -c '^seq-')" 1
	is_as_before_in_an_hour "a mount with a change that was not answered"
fi

mount_sandbox left
echo removed >"$MNT/removed"
exec 5<"$MNT/removed"
rm "$MNT/removed"
settle
echo 'echo secret; echo begun >begun; sleep 1000' >"$MNT/.sandbox/spawn"
ok "a job is under way" wait_until "$PATIENCE" test -s "$STORE/begun"
echo pending >"$MNT/pending"
kill -KILL "$DAEMON"
wait "$DAEMON"
exec 5<&-
tap_drop_mount "$MNT"
is "a mount that is killed leaves what it had open and its job" \
	"$(later | grep -c '^u-') $(later | grep -cE '^job-.*[.]out$')" "1 1"
mount_sandbox left
settle
is "the next one sends what was pending" "$(cat "$STORE/pending")" pending
unmount
if [ "$PROVIDER" = local ]; then
	is_as_before "the next one"
else
	is_as_before_in_an_hour "the next one"
fi

if [ "$PROVIDER" = local ]; then
	mkfifo input
	exec 6<>input
	"$SANDBOXCTL" exec "$SOURCE" 'cat >fed' <input &
	program=$!
	echo text >&6
	ok "a command is fed" wait_until "$PATIENCE" test -s "$STORE/fed"
	kill -KILL $program
	wait $program
	exec 6<&-
	mount_sandbox left
	unmount
	is_as_before "sandboxctl exec with input, which was killed, after the next mount"
fi
done_testing
