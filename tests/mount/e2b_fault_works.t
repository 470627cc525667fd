#!/bin/sh
# git, tar and SQLite at work on a mount while its server or the link to it is in trouble: each goes on, or ends with an error;
# when the trouble is over what they were told is done is there and whole, on the mount and in the sandbox, and they work again.
#
#	ROUNDS    which of the table below, or `all`; a few that differ most
#	FAULT_S   how many seconds a fault lasts (3)
# shellcheck disable=SC2016,SC2034,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

FAULT_KINDS='process|filesystem|files'
# shellcheck source=tests/support/tap_faults.sh
. "$TOP/tests/support/tap_faults.sh"
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"
needs git tar
WORKS=$TOP/tests/mount/works.py

# ---- The faults ------------------------------------------------------------------------------------

server_half_request() { fault '{"type":"cut_request","bytes":3000}'; }
server_half_answer() { fault '{"type":"cut_after","bytes":200}'; }
server_duplicate() { fault '{"type":"duplicate"}'; }

disk_full() {
	head -c 1G /dev/zero >"$DISK/fill" 2>/dev/null
	true
}
disk_has_room() { rm -f "$DISK/fill"; }

disk_read_only() { wait_until 20 mount -o remount,ro "$DISK" 2>/dev/null; }
disk_writable() { mount -o remount,rw "$DISK"; }

ROUNDS=${ROUNDS:-server_half_answer link_refuse disk_full}
# Each with what ends it, and with what the sandbox does about changes: `all`: it gets all of them in the end; `some`: it
# refuses some, which is told.
TABLE='
server_stall            mend_server    all
server_cut              mend_server    all
server_half_request     mend_server    all
server_half_answer      mend_server    all
server_truncate         mend_server    all
server_duplicate        mend_server    all
server_status_429       mend_server    all
server_status_500       mend_server    all
server_status_502       mend_server    all
server_status_503       mend_server    all
link_stall              mend_link      all
link_refuse             mend_link      all
link_reset              mend_reset     all
link_ghost              mend_link      all
disk_full               disk_has_room  some
disk_read_only          disk_writable  some
'

# ---- A round ---------------------------------------------------------------------------------------

# In the sandbox: what it refuses from the beginning leaves nothing to look at.
has_begun() { test -e "$STORE/$round/git/.git/HEAD"; }

status() { # FIELD
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$MNT/.sandbox/status" "$1"
}

# What was refused is told once; and that the sandbox seems to be gone until the next attempt.
settles() {
	wait_until "$PATIENCE" settle
}

# whole NAME DIRECTORY...: what the works left there.
whole() {
	of=$1
	shift
	for place in "$@"; do
		ok "$round: $of is whole in ${place%/*}" deadline "$PATIENCE" "$PYTHON" "$WORKS" check "$place" archive.tar "$of.report" $refused
	done
}

# Sets `again`, the directory in which all went well. A machine may stall for longer than the time-out of this mount: another
# try, of ten, has a directory of its own.
work_again() {
	for try in 1 2 3 4 5 6 7 8 9 10; do
		again=$round.after.$try
		deadline 300 "$PYTHON" "$WORKS" run "$MNT/$again" archive.tar >"$again.report"
		said="$(grep -v ' ok$' "$again.report") $(grep -c ' ok$' "$again.report")"
		[ "$said" != " 4" ] || break
	done
	is "$round: all work again" "$said" " 4"
}

in_trouble() { # BREAK MEND WHAT
	round=$1 refused=
	parked=$(status parked_changes)
	began=$(date +%s)
	deadline 300 "$PYTHON" "$WORKS" run "$MNT/$round" archive.tar >"$round.report" &
	worker=$!
	wait_until "$PATIENCE" has_begun
	$1
	wait_until "${FAULT_S:-3}" false
	$2
	wait $worker
	is "$round: they come to an end" $? 0
	is "$round: each of them" "$(wc -l <"$round.report")" 4
	diag "$(cut -c 1-150 "$round.report")"
	ok "$round: the sandbox has all that it takes" settles
	[ "$3" = all ] || [ "$(status parked_changes)" = "$parked" ] || refused=refused
	[ "$3" = some ] || is "$round: which is everything" "$(status pending_changes) $(status parked_changes)" "0 $parked" ||
		diag "$(cat "$MNT/.sandbox/status")"
	whole "$round" "$MNT/$round" "$STORE/$round"
	is "$round: here is what is there" "$(deadline "$PATIENCE" diff -r --no-dereference "$MNT/$round" "$STORE/$round" 2>&1)" ""
	work_again
	ok "$round: and what they do arrives" settle
	refused=
	whole "$again" "$STORE/$again"
	rm -rf "$STORE/$round" "$STORE/$round.after"*
	diag "$round: $(($(date +%s) - began)) s"
}

# ---- The mount -------------------------------------------------------------------------------------

# The sandboxes of the server are on a disk of their own, where that can be made.
own_disk() {
	DISK=$VENDOR_DIR/sandboxes
	[ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64M,mode=700 none "$DISK" 2>/dev/null || DISK=
}

leave_disk() {
	[ -z "$DISK" ] || umount -l "$DISK"
}

make_archive() {
	mkdir source && for n in $(seq 60); do
		mkdir -p "source/d$((n % 7))" && seq "$n" $((n * 30)) >"source/d$((n % 7))/f$n"
	done
	tar -cf archive.tar source
}

vendor_start
own_disk
trap 'leave_disk; tap_cleanup' EXIT
vendor_sandbox demo
ok "an archive of 60 files" make_archive
start_relay to_control "$E2B_API_URL"
start_relay to_data "$E2B_SANDBOX_URL"
E2B_API_URL=$(relay_url to_control)
E2B_SANDBOX_URL=$(relay_url to_data)
mount_sandbox demo timeout=$TIMEOUT
expect_log '.*'
while read -r break mend what <&4; do
	case " $ROUNDS " in
	*" $break "* | ' all ') ;;
	*) continue ;;
	esac
	case $break:$DISK in
	:*) ;;
	disk_*:) skip "$break" "needs a disk of its own" ;;
	*) in_trouble "$break" "$mend" "$what" ;;
	esac
done 4<<END
$TABLE
END
tap_umount "$MNT"
ok "the process ends" wait_until "$PATIENCE" ended "$DAEMON"
done_testing
