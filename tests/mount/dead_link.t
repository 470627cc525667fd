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

echo synced >"$MNT/synced"
tell_relay link lose
echo >newline
ok "all is saved" deadline "$PATIENCE" dd if=newline of="$MNT/.sandbox/sync" conv=notrunc status=none
is "it is there, too" "$(cat "$STORE/synced")" synced

link_bytes() {
	"$RELAY" --tell="$SCRATCH/link" counters |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["bytes_to_server"])'
}

is_under_way() {
	[ "$(link_bytes)" -ge $((before + 500000)) ]
}

# Slowly, so that the connection dies while it goes up.
save_large() {
	before=$(link_bytes)
	tell_relay link bandwidth 8
	head -c 3000000 /dev/urandom >large
	{
		cat large >"$MNT/large"
		deadline "$PATIENCE" sync "$MNT/large"
	} &
	saving=$!
	ok "a large file is under way" wait_until "$PATIENCE" is_under_way
	tell_relay link lose
	tell_relay link bandwidth 0
	wait $saving
	is "a large file whose connection dies on the way is saved" $? 0
	ok "it is there whole" cmp large "$STORE/large"
}

save_large

run "echo >begun; until [ -e lost ]; do sleep 0.1; done; sleep 4; echo >>log" >said &
wait_until "$PATIENCE" test -e "$STORE/begun"
tell_relay link lose
echo >"$STORE/lost"
wait $!
ok "a connection was found dead" grep -q "its connection is dead, and a new one is not" "$LOG"
is "a command whose connection dies while it runs ends" "$(cat said)" "0 None"
is "and ran once" "$(wc -l <"$STORE/log")" 2

# What somebody in between goes on acknowledging is found dead where HTTP/2 lets another question be
# asked on the same connection.
if [ "$PROVIDER" = modal ]; then
	echo "what is read" >"$STORE/d/ghost"
	sees d/ghost
	tell_relay link ghost
	is "acknowledged by others: a cold file is read" "$(deadline "$PATIENCE" cat "$MNT/d/ghost")" "what is read"
	tell_relay link ghost
	is "a command runs" "$(run "echo >>log")" "0 None"
	is "once" "$(wc -l <"$STORE/log")" 3
	echo ghost >"$MNT/ghost"
	tell_relay link ghost
	ok "a new file is saved" deadline "$PATIENCE" sync "$MNT/ghost"
	is "it is there" "$(cat "$STORE/ghost")" ghost
fi

tell_relay link lose
echo >"$STORE/d/told"
ok "what changes in the sandbox is seen" wait_until "$PATIENCE" test -e "$MNT/d/told"
unmount
done_testing
