#!/bin/sh
# Every connection to the sandbox dies without a word, and new ones work: the network changed, a NAT
# forgot them, the machine slept. Nothing waits for the time limit, and no command runs twice. With
# PROVIDER=VENDOR.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_vendor
needs_mount
needs node python3
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"
# Of the mount, in seconds, and of what is done here: a call that waits for the first fails.
TIMEOUT=300

run() { # COMMAND
	deadline "$PATIENCE" python3 -c '
import json, sys
with open(sys.argv[1] + "/.sandbox/exec", "r+", buffering=1, encoding="utf-8") as file:
    file.write(sys.argv[2] + "\n")
    answer = json.loads(file.read())
print(answer["exit_code"], answer["error"])' "$MNT" "$1" </dev/null
}

vendor_sandbox dead
lay_link dead
mkdir "$STORE/d"
echo "what is read" >"$STORE/d/file"
mount_sandbox dead timeout=$TIMEOUT,log=http=debug
# That a batch of changes had no answer is told.
expect_log '.*its connection is dead'
sees d
ls -l "$MNT/d" >/dev/null

tell_relay link lose
is "a cold file is read" "$(deadline "$PATIENCE" cat "$MNT/d/file")" "what is read"

tell_relay link lose
is "a command runs" "$(run "echo >>log")" "0 None"
is "once" "$(wc -l <"$STORE/log")" 1

echo new >"$MNT/new"
tell_relay link lose
ok "a new file is saved" deadline "$PATIENCE" sync "$MNT/new"
is "it is there" "$(cat "$STORE/new")" new

run "echo >begun; sleep 4; echo >>log" >said &
wait_until "$PATIENCE" test -e "$STORE/begun"
tell_relay link lose
wait $!
ok "a connection was found dead" grep -q "its connection is dead, and a new one is not" "$LOG"
is "a command whose connection dies while it runs ends" "$(cat said)" "0 None"
is "and ran once" "$(wc -l <"$STORE/log")" 2

tell_relay link lose
echo >"$STORE/d/told"
ok "what changes in the sandbox is seen" wait_until "$PATIENCE" test -e "$MNT/d/told"
unmount
done_testing
