#!/bin/sh
# Whatever goes wrong on the way to a sandbox, every call returns in time, with success or an errno that makes sense;
# nothing is done twice; and when it is over everything works again at once.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3
RELAY=${PROGRAMS:-$TOP/build/gcc-plain/tests/bin}/relay
[ -x "$RELAY" ] || skip_all "$RELAY is not built: make check builds it"

VERBS=$TOP/tests/mount/e2b_verbs.py
# Not the shim that pyenv puts in its place, which is slow.
PYTHON=$(python3 -c "import sys; print(sys.executable)")
TIMEOUT=2
# The kernel asks for a page twice before it gives up a read. The rest is for the machine.
LIMIT_MS=$(((2 * TIMEOUT + 1) * 1000))
SENSIBLE='ok|EIO|ETIMEDOUT|EHOSTUNREACH|ENOTCONN|EACCES|EPROTO|EBUSY'

# ---- What users do -------------------------------------------------------------------------------

# verbs BREAK ARGUMENT...: breaks something when all is open that needs to be, and fills `report`.
verbs() {
	break=$1
	shift
	: >report
	deadline 60 "$PYTHON" "$VERBS" "$@" <go >report &
	worker=$!
	exec 8>go
	wait_until "$PATIENCE" test -s report
	$break
	echo >&8
	wait $worker
	exec 8>&-
}

# The command comes last: it waits for what is under way.
work() { # ROUND [BREAK]
	verbs "${2:-true}" run "$MNT/$1"
	deadline 60 "$PYTHON" "$VERBS" exec "$MNT" "$1" </dev/null >>report
}

# Every line of `report` says how a call ended.
ended_in_time() { # WHAT
	is "$1: everything was done" "$(grep -c ' [0-9]*$' report)" 13
	is "$1: and returned within $LIMIT_MS ms" "$(awk -v limit=$LIMIT_MS '$3 > limit' report)" ""
	is "$1: well or with a sensible errno" "$(grep -vE "^ready|^statfs ok|^[^ ]* ($SENSIBLE) " report)" ""
}

same() { # ROUND
	deadline 30 diff -r "$MNT/$1" "$STORE/$1" 2>&1
}

commands_run() { # WORD
	grep -cx "$1" "$STORE/log"
}

# trouble NAME MEND: what the function NAME breaks lasts until MEND.
trouble() {
	work "$1" "$1"
	ended_in_time "$1"
	[ -z "${SHOW:-}" ] || sed "s/^/# $1: /" report
	is "$1: the command ran at most once" "$(commands_run "$1" | grep -v '[01]')" ""
	ok "$1: the process lives" alive "$DAEMON"
	$2
	work "$1.after"
	is "$1: everything works again at once" "$(grep -vE '^ready| ok ' report)" ""
	is "$1: here is what is there" "$(same "$1" && same "$1.after")" ""
}

# ---- Faults of the server ------------------------------------------------------------------------

fault() { # ACTION [TIMES]
	vendor_request POST "$ADMIN/faults" \
		'{"match":{"kind":"/process|filesystem|files/","times":'"${2:-0}"'},"action":'"$1"'}' >/dev/null
}

mend_server() {
	vendor_request DELETE "$ADMIN/faults" >/dev/null
}

server_stall() { fault '{"type":"stall"}'; }
server_stall_within() { fault '{"type":"stall","bytes":3}'; }
server_cut() { fault '{"type":"cut"}'; }
server_cut_within() { fault '{"type":"cut_after","bytes":3}'; }
server_truncate() { fault '{"type":"truncate","bytes":3}'; }
server_status_500() { fault '{"type":"status","status":500,"body":"no"}'; }
server_status_502() { fault '{"type":"status","status":502,"body":"no"}'; }
server_status_503() { fault '{"type":"status","status":503,"body":"no"}'; }
server_status_429() { fault '{"type":"status","status":429,"retry_after":1}'; }
server_another_type() { fault '{"type":"content_type"}'; }
server_garbage() { fault '{"type":"garbage"}'; }
server_expired_token() { fault '{"type":"expired_token"}'; }
SERVER_FAULTS='server_stall server_stall_within server_cut server_cut_within server_truncate server_status_500
	server_status_502 server_status_503 server_status_429 server_another_type server_garbage server_expired_token'

# ---- Faults of the link --------------------------------------------------------------------------

# start_relay NAME URL: prints the URL to use instead.
start_relay() {
	"$RELAY" --control="$SCRATCH/$1" "${2##*:}" >"$SCRATCH/$1.port" &
	tap_daemons="$tap_daemons $!"
	wait_until "$PATIENCE" test -s "$SCRATCH/$1.port" || exit 1
}

relay_url() { # NAME
	echo "http://127.0.0.1:$(sed 's/[^0-9]//g' "$SCRATCH/$1.port")"
}

tell() { # COMMAND...
	"$RELAY" --tell="$SCRATCH/to_control" "$@" && "$RELAY" --tell="$SCRATCH/to_data" "$@"
} >/dev/null

link_stall() { tell stall 0; }
link_ghost() { tell ghost; }
link_refuse() { tell refuse 600 && tell cut; }
link_reset() { tell reset-after-from-server 700; }
mend_reset() { tell reset-after-from-server 0; }
mend_link() { tell resume; }
LINK_FAULTS='link_stall link_refuse link_reset link_ghost'

vendor_sandbox demo
for round in $SERVER_FAULTS $LINK_FAULTS; do
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

for round in ${ROUNDS:-$SERVER_FAULTS $LINK_FAULTS}; do
	case $round in
	server_*) trouble "$round" mend_server ;;
	link_reset) trouble "$round" mend_reset ;;
	*) trouble "$round" mend_link ;;
	esac
done

# ---- An answer that is lost ----------------------------------------------------------------------

verbs server_cut_within exec "$MNT" lost
mend_server
is "a command whose answer is lost is an error" "$(cut -d ' ' -f 2 report | tail -n 1)" EIO
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
	ok "$what: the process ends" wait_until 20 ended "$DAEMON"
	ms=$((($(date +%s%N) - began) / 1000000))
	is "$what: within 5 s ($ms ms)" "$([ $ms -le 5000 ] && echo yes)" yes
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
