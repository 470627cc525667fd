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
# shellcheck source=tests/support/tap_works.sh
. "$TOP/tests/support/tap_works.sh"

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

# ---- The mount -------------------------------------------------------------------------------------

# The sandboxes of the server are on a disk of their own, where that can be made.
own_disk() {
	DISK=$VENDOR_DIR/sandboxes
	[ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64M,mode=700 none "$DISK" 2>/dev/null || DISK=
}

leave_disk() {
	[ -z "$DISK" ] || umount -l "$DISK"
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
	*) works_in_trouble "$break" "$mend" "$what" ;;
	esac
done 4<<END
$TABLE
END
tap_umount "$MNT"
ok "the process ends" wait_until "$PATIENCE" ended "$DAEMON"
done_testing
