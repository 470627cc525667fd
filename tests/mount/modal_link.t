#!/bin/sh
# A command that says nothing, while the link to its worker lives and when it is dead.
# shellcheck disable=SC2016,SC2317
PROVIDER=modal
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"
# As much as a helper's signs of life may be late, twice, and the rest for the machine.
LIMIT_S=60

# Prints how it ended.
run() { # COMMAND
	deadline 300 python3 -c '
import json, sys
with open(sys.argv[1] + "/.sandbox/exec", "r+", buffering=1, encoding="utf-8") as file:
    file.write(sys.argv[2] + "\n")
    answer = json.loads(file.read())
print(answer["exit_code"], answer["output"].strip(), "failed" if answer["error"] else "well")' "$MNT" "$1" </dev/null
}

run_over_dead_link() {
	run "echo >begun; sleep 1000" >said &
	wait_until "$PATIENCE" test -e "$STORE/begun"
	tell_relay worker stall 0
	began=$(date +%s)
	wait $!
	took=$(($(date +%s) - began))
	tell_relay worker resume
}

vendor_sandbox auto
start_relay worker "$MODAL_SERVER_URL"
vendor_request POST "$ADMIN/router/$(relay_port worker)" >/dev/null
expect_log '.*'
mount_sandbox silent timeout=15
is "a command may be silent" "$(run "sleep 20; echo done")" "0 done well"
run_over_dead_link
is "over a dead link it fails" "$(cat said)" "None  failed"
is "in time ($took s)" "$([ $took -lt $LIMIT_S ] && echo yes)" yes
is "and the next one works" "$(run "echo next")" "0 next well"
unmount

# As Modal's own clients do, who have seen workers that take a while.
tell_relay worker refuse 4
mount_sandbox late timeout=20
is "a worker that cannot be reached at first is waited for" "$(run "echo there")" "0 there well"
unmount
done_testing
