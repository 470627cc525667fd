#!/bin/sh
# A call that nobody answers ends at the deadline of whoever made it: once, whatever is waited for inside. Every operation, over
# links that are frozen, refused, reset and silent: when nobody knows of it yet, and when it is known. Those of `.sandbox`
# also where nothing is pending, over one more silent link (`idle`).
# shellcheck disable=SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"

needs_mount
needs python3
PYTHON=$(python3 -c "import sys; print(sys.executable)")
OPERATIONS=$TOP/tests/mount/deadline.py
LINKS=${LINKS:-frozen refused reset silent idle}
TIMEOUT=15
# Less than twice the deadline; the rest is for the machine.
LIMIT_MS=$((TIMEOUT * 1000 + 10000))

# A sandbox of its own, behind a link of its own.
mount_over() { # LINK
	vendor_sandbox "$1"
	"$PYTHON" "$OPERATIONS" prepare "$STORE/first"
	"$PYTHON" "$OPERATIONS" prepare "$STORE/again"
	start_relay "$1.control" "$control_url"
	start_relay "$1.data" "$data_url"
	E2B_API_URL=$(relay_url "$1.control")
	E2B_SANDBOX_URL=$(relay_url "$1.data")
	mount_sandbox "$1" "timeout=$TIMEOUT"
	ls -lR "$MNT" >/dev/null
}

tell() { # LINK COMMAND...
	told=$1
	shift
	tell_relay "$told.control" "$@" && tell_relay "$told.data" "$@"
}

break_link() { # LINK
	case $1 in
	frozen) tell frozen stall 0 ;;
	refused) tell refused refuse 600 && tell refused cut ;;
	reset) tell reset reset-after 1 ;;
	silent | idle) tell "$1" ghost && tell "$1" stall 0 ;;
	esac
}

# What deadline.py is told to do, and how many operations that are.
of_link() { # LINK
	todo=run operations=52
	[ "$1" != idle ] || todo=controls operations=8
}

# All operations on all mounts; the links break when everything is open.
all_at_once() { # ROUND
	workers=
	for link in $LINKS; do
		of_link "$link"
		"$PYTHON" "$OPERATIONS" $todo "$SCRATCH/mnt.$link" "$1" "$SCRATCH/go.$1" >"$SCRATCH/report.$link.$1" 2>&1 &
		workers="$workers $!"
	done
	for link in $LINKS; do
		wait_until "$PATIENCE" test -s "$SCRATCH/report.$link.$1"
		break_link "$link"
	done
	: >"$SCRATCH/go.$1"
	for worker in $workers; do
		wait "$worker"
	done
}

vendor_start
control_url=$E2B_API_URL data_url=$E2B_SANDBOX_URL
for link in $LINKS; do
	mount_over "$link"
done
for round in first again; do
	all_at_once "$round"
	for link in $LINKS; do
		report=$SCRATCH/report.$link.$round
		of_link "$link"
		[ -z "${SHOW:-}" ] || sed "s/^/# $link, $round: /" "$report"
		is "$link, $round: every operation was tried" "$(grep -c ' [0-9]*$' "$report")" $operations
		# The kernel asks anew for old attributes before it reads: that are two requests.
		is "$link, $round: none took longer than its deadline" \
			"$(awk -v limit=$LIMIT_MS '$3 > ($1 ~ /^read/ ? 2 : 1) * limit' "$report")" ""
	done
done
done_testing
