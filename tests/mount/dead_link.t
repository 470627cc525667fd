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

# A container of AIO's is named after its address.
rename_sandbox() { # NEW
	ln -s "$VENDOR_DIR/sandboxes/$SANDBOX" "$VENDOR_DIR/sandboxes/$1"
	echo "$1" >"$VENDOR_DIR/id.dead"
}

# All that goes to the sandbox goes through the link.
lay_link() {
	case $PROVIDER in
	e2b)
		start_relay link "$E2B_SANDBOX_URL"
		E2B_SANDBOX_URL=$(relay_url link)
		;;
	runloop)
		start_relay link "$RUNLOOP_BASE_URL"
		RUNLOOP_BASE_URL=$(relay_url link)
		;;
	aio)
		start_relay link "${SANDBOX#*_}"
		rename_sandbox "127.0.0.1_$(relay_port link)"
		;;
	*)
		start_relay link "$1"
		vendor_request POST "$ADMIN/router/$(relay_port link)" >/dev/null
		;;
	esac
}

# Where the data plane is, of vendors whose control plane says so.
data_url() {
	case $PROVIDER in
	daytona) vendor_said proxy_url ;;
	langsmith) vendor_said sandbox_url ;;
	modal) vendor_said api_url ;;
	esac
}

vendor_said() { # NAME
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$VENDOR_DIR/ready" "$1"
}

run() { # COMMAND
	deadline "$PATIENCE" python3 -c '
import json, sys
with open(sys.argv[1] + "/.sandbox/exec", "r+", buffering=1, encoding="utf-8") as file:
    file.write(sys.argv[2] + "\n")
    answer = json.loads(file.read())
print(answer["exit_code"], answer["error"])' "$MNT" "$1" </dev/null
}

vendor_sandbox dead
lay_link "$(data_url)"
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
