#!/bin/sh
# How many requests to a sandbox of E2B a job takes: one to start it, one for each look, and none while nobody looks.
# shellcheck disable=SC2016
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_counters.sh
. "$TOP/tests/support/tap_counters.sh"

needs_mount
needs node python3

state() { # JOB
	python3 -c 'import json, sys; print(json.load(sys.stdin)["state"])' <"$MNT/.sandbox/jobs/$1/status"
}

vendor_sandbox jobs
mount_sandbox jobs attr_timeout=60,entry_timeout=60
ls "$MNT" >/dev/null

reset
printf 'echo ready; read -r line; echo "$line"' >"$MNT/.sandbox/spawn"
is "a job is started" "$(cat "$MNT/.sandbox/spawn")" 1
at_most "to start it and read its number" 1
is "it runs" "$(state 1)" running
at_most "one more to see how it is" 2
ls -l "$MNT/.sandbox/jobs" >/dev/null
at_most "none to list" 2
reset
echo hello >"$MNT/.sandbox/jobs/1/stdin"
ok "it ends" wait_until "$PATIENCE" grep -q exited "$MNT/.sandbox/jobs/1/status"
reset
is "and has ended" "$(state 1; stat -c %s "$MNT/.sandbox/jobs/1/output")" "exited
12"
at_most "none once its end is known" 0
is "it has printed" "$(cat "$MNT/.sandbox/jobs/1/output")" "ready
hello"
at_most "one to read what it printed" 1

# ---- A connection that breaks ----------------------------------------------------------------------------

for bytes in 0 10; do
	vendor_request POST "$ADMIN/faults" \
		'{"match":{"kind":"process.Process/Start"},"action":{"type":"cut_after","bytes":'$bytes'}}' >/dev/null
	printf 'echo once >>ran; read -r line; exit 5' >"$MNT/.sandbox/spawn"
	job=$(cat "$MNT/.sandbox/spawn")
	is "cut after $bytes bytes of the answer, a job runs" "$(state "$job")" running
	echo >"$MNT/.sandbox/jobs/$job/stdin"
	ok "and is heard of to its end" wait_until "$PATIENCE" grep -q '"exit_code": 5' "$MNT/.sandbox/jobs/$job/status"
done
is "each was started once" "$(cat "$STORE/ran")" "once
once"
unmount
done_testing
