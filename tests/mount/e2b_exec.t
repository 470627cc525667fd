#!/bin/sh
# sandboxctl exec on E2B: what it costs, and that the sandbox lasts as long as the command.
# shellcheck disable=SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
# shellcheck source=tests/support/tap_counters.sh
. "$TOP/tests/support/tap_counters.sh"
needs_mount
needs node python3

a_sandbox exec
reset
is "a command" "$(ctl exec "$SOURCE" echo ran </dev/null)" ran
at_most "where it is, what is there, the command, the removal of its record" 4

# Seconds until it ends, as the control plane has it.
has_a_minute() {
	vendor_request GET "$E2B_API_URL/sandboxes/$SANDBOX" | python3 -c '
import datetime, json, sys
end = datetime.datetime.fromisoformat(json.load(sys.stdin)["endAt"].replace("Z", "+00:00"))
left = (end - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
sys.exit(0 if left > 60 else 1)'
}

vendor_request POST "$E2B_API_URL/sandboxes/$SANDBOX/timeout" '{"timeout":20}' >/dev/null
fails "a sandbox is about to end" has_a_minute
ctl exec "$SOURCE" 'until [ -e stop ]; do sleep 0.1; done; echo lasted' </dev/null >said 2>&1 &
command=$!
ok "while a command runs it is given more time" wait_until "$PATIENCE" has_a_minute
touch "$STORE/stop"
wait $command
is "and the command comes to its end" "$? $(cat said)" "0 lasted"
done_testing
