#!/bin/sh
# The link to a server in trouble, and the end of a mount while the link or the server is.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

FAULT_KINDS='process|filesystem|files'
# shellcheck source=tests/support/tap_faults.sh
. "$TOP/tests/support/tap_faults.sh"
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"

# ---- Faults of the link --------------------------------------------------------------------------

LINK_FAULTS='link_stall link_refuse link_reset link_ghost'

vendor_sandbox demo
for round in $LINK_FAULTS; do
	"$PYTHON" "$VERBS" prepare "$STORE/$round" "$STORE/$round.after"
done
touch "$STORE/log"
mkfifo go
start_relay to_control "$E2B_API_URL"
start_relay to_data "$E2B_SANDBOX_URL"
E2B_API_URL=$(relay_url to_control)
E2B_SANDBOX_URL=$(relay_url to_data)
mount_sandbox demo timeout=$TIMEOUT,attr_timeout=0.2,entry_timeout=0.2
expect_log '.*'

for round in ${ROUNDS:-$LINK_FAULTS}; do
	case $round in
	link_reset) trouble "$round" mend_reset ;;
	*) trouble "$round" mend_link ;;
	esac
done

# ---- An answer that is lost ----------------------------------------------------------------------

# After so many bytes of a command's answer; the stream of changes runs already.
cut_once() {
	vendor_request POST "$ADMIN/faults" \
		'{"match":{"kind":"/process/"},"action":{"type":"cut_after","bytes":'"$bytes"'}}' >/dev/null
}

for bytes in 0 10; do
	verbs cut_once exec "$MNT" "lost.$bytes"
	is "a command's answer that is cut after $bytes bytes is asked for again" "$(cut -d ' ' -f 2 report | tail -n 1)" ok
	is "and the command ran once" "$(commands_run "lost.$bytes")" 1
done
verbs server_cut_within exec "$MNT" lost
mend_server
is "a command whose answers are all lost is an error" "$(cut -d ' ' -f 2 report | tail -n 1)" EIO
is "it ran, and is not run again" "$(commands_run lost)" 1
verbs true exec "$MNT" next
is "the next one works" "$(grep -c '^exec ok' report)" 1
unmount

# ---- Unmounting ------------------------------------------------------------------------------------

# ends NAME BREAK MEND COMMAND...: what BREAK does lasts while COMMAND ends the mount.
ends() {
	what=$1 break=$2 mend=$3
	shift 3
	mount_sandbox demo timeout=$TIMEOUT
	ls "$MNT" >/dev/null
	$break
	began=$(date +%s%N)
	ok "$what" "$@"
	ok "$what: the process ends" wait_until "$PATIENCE" ended "$DAEMON"
	ms=$((($(date +%s%N) - began) / 1000000))
	is "$what: within 50 s ($ms ms)" "$([ $ms -le 50000 ] && echo yes)" yes
	is "$what: nothing is mounted" "$(tap_is_mounted "$MNT" && echo yes)" ""
	$mend
}

terminate() {
	kill -TERM "$DAEMON"
}

ends "unmounted while the server stalls" server_stall mend_server tap_umount "$MNT"
ends "unmounted while the link stalls" link_stall mend_link tap_umount "$MNT"
ends "unmounted while nobody is there" link_refuse mend_link tap_umount "$MNT"
ends "ended while the server stalls" server_stall mend_server terminate
ends "ended while the link stalls" link_stall mend_link terminate
ends "ended while nobody is there" link_refuse mend_link terminate

# Bytes that nobody waits for, and that cannot be sent.
write_and_die() {
	"$PYTHON" -c '
import os, signal, sys
file = os.open(sys.argv[1] + "/owed", os.O_WRONLY | os.O_CREAT)
with open(sys.argv[2], "w"):
    pass
sys.stdin.read(1)
os.write(file, b"owed")
os.kill(os.getpid(), signal.SIGKILL)' "$MNT" is_open <go &
	worker=$!
	exec 8>go
	wait_until "$PATIENCE" test -e is_open
	server_stall
	exec 8>&-
	wait $worker 2>/dev/null
}

ends "unmounted with bytes that cannot be sent" write_and_die mend_server tap_umount "$MNT"
wait "$DAEMON"
is "unmounted with bytes that cannot be sent: the exit status says so" $? 32
ok "unmounted with bytes that cannot be sent: and so does a line" grep -q "^sandboxfs: not everything could be sent" "$LOG"

# A command that runs on, and a reader of its answer.
stall_a_command() {
	python3 -c '
import os, sys
file = os.open(sys.argv[1] + "/.sandbox/exec", os.O_RDWR)
os.write(file, b"echo begun >begun; sleep 1000\n")
os.read(file, 1000)' "$MNT" 2>/dev/null &
	wait_until "$PATIENCE" test -s "$STORE/begun"
	rm "$STORE/begun"
	server_stall
	link_stall
}

mend_all() {
	mend_server
	mend_link
}

ends "ended while a command runs and everything stalls" stall_a_command mend_all terminate
done_testing
