# tap_faults.sh - what the tests of faults share, sourced after tap.sh with PROVIDER=VENDOR: users at work on a mount, and what
# the vendor's test server does to them.
#
# Whatever goes wrong on the way to a sandbox, every call returns in time, with success or an errno that makes sense; nothing
# is done twice; and when it is over everything works again at once. FAULT_KINDS: a regular expression for the kinds of
# requests that go wrong.
# shellcheck disable=SC2016,SC2034,SC2317

needs_mount
needs node python3
FAULT_KINDS=${FAULT_KINDS:-.}
# Whoever reads from a pipe here may be what fails; a shell that a signal ends would clean nothing up.
trap '' PIPE
VERBS=$TOP/tests/mount/verbs.py
# Not the shim that pyenv puts in its place, which is slow.
PYTHON=$(python3 -c "import sys; print(sys.executable)")
TIMEOUT=2
# The kernel asks for a page twice before it gives up a read. The rest is for the machine; without the option a call has
# 30 s, and a read 60.
LIMIT_MS=$(((2 * TIMEOUT + 45) * 1000))
SENSIBLE='ok|EIO|ETIMEDOUT|EHOSTUNREACH|ENOTCONN|EACCES|EPROTO|EBUSY'

# ---- What users do -------------------------------------------------------------------------------

# verbs BREAK ARGUMENT...: breaks something when all is open that needs to be, and fills `report`.
verbs() {
	break=$1
	shift
	: >report
	deadline 300 "$PYTHON" "$VERBS" "$@" <go >report &
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
	deadline 300 "$PYTHON" "$VERBS" exec "$MNT" "$1" </dev/null >>report
}

# Every line of `report` says how a call ended.
ended_in_time() { # WHAT
	is "$1: everything was done" "$(grep -c ' [0-9]*$' report)" 13
	is "$1: and returned within $LIMIT_MS ms" "$(awk -v limit=$LIMIT_MS '$3 > limit' report)" ""
	is "$1: well or with a sensible errno" "$(grep -vE "^ready|^statfs ok|^[^ ]* ($SENSIBLE) " report)" ""
}

same() { # ROUND
	deadline "$PATIENCE" diff -r "$MNT/$1" "$STORE/$1" 2>&1
}

commands_run() { # WORD
	grep -cx "$1" "$STORE/log"
}

all_are_well() {
	[ "$(grep -vE '^ready| ok ' report) $(grep -c ' ok ' report)" = " 13" ]
}

# Sets `again`, the directory in which everything went well. A machine may stall for longer than the time-out of this mount:
# another try, of ten, has a directory of its own.
work_again() { # ROUND
	again=$1.after
	work "$again"
	for try in 2 3 4 5 6 7 8 9 10; do
		! all_are_well || break
		again=$1.after.$try
		"$PYTHON" "$VERBS" prepare "$STORE/$again"
		sees "$again"
		work "$again"
	done
	ok "$1: everything works again" all_are_well || tap_why "$(cat report)"
}

# trouble NAME MEND: what the function NAME breaks lasts until MEND.
trouble() {
	work "$1" "$1"
	ended_in_time "$1"
	[ -z "${SHOW:-}" ] || sed "s/^/# $1: /" report
	is "$1: the command ran at most once" "$(commands_run "$1" | grep -v '[01]')" ""
	ok "$1: the process lives" alive "$DAEMON"
	$2
	# What was refused meanwhile is told here.
	settle 2>/dev/null
	work_again "$1"
	is "$1: here is what is there" "$(same "$1" && same "$again")" ""
}

# ---- Faults of the server ------------------------------------------------------------------------

fault() { # ACTION [TIMES]
	vendor_request POST "$ADMIN/faults" \
		'{"match":{"kind":"/'"$FAULT_KINDS"'/","times":'"${2:-0}"'},"action":'"$1"'}' >/dev/null
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
