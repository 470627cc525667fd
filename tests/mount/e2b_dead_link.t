#!/bin/sh
# Every connection to the sandbox dies without a word, and new ones work: the network changed, a NAT
# forgot them, the machine slept. Nothing waits for the time limit, and no command runs twice.
# shellcheck disable=SC2016
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"
# shellcheck source=tests/support/tap_edge.sh
. "$TOP/tests/support/tap_edge.sh"
# Of the mount, in seconds, and of what is done here: a call that waits for the first fails.
TIMEOUT=300

run() { # COMMAND
	deadline "$PATIENCE" python3 -c '
import json, sys
with open(sys.argv[1] + "/.sandbox/exec", "r+", buffering=1, encoding="utf-8") as file:
    file.write(sys.argv[2] + "\n")
    print(json.loads(file.read())["exit_code"])' "$MNT" "$1"
}

vendor_start
start_edge edge "$E2B_SANDBOX_URL"
start_relay link "$(edge_url edge)"
E2B_SANDBOX_URL=https://127.0.0.1:$(relay_port link)
mount_sandbox dead timeout=$TIMEOUT
mkdir "$STORE/d"
echo "what is read" >"$STORE/d/file"
sees d
ls -l "$MNT/d" >/dev/null

tell_relay link ghost
is "a cold file is read" "$(deadline "$PATIENCE" cat "$MNT/d/file")" "what is read"
tell_relay link ghost
is "a command runs" "$(run "echo >>log")" 0
is "once" "$(wc -l <"$STORE/log")" 1
echo new >"$MNT/new"
tell_relay link ghost
# That a batch of changes had no answer is told.
expect_log '.*its connection is dead'
ok "a new file is saved" deadline "$PATIENCE" sync "$MNT/new"
is "it is there" "$(cat "$STORE/new")" new
unmount
done_testing
