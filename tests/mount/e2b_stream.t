#!/bin/sh
# 100 MB written and read through a link of 40 ms and 100 Mbit/s: whole, within little memory, in few requests. The times
# are only told; `make bench` sets them beside others'.
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh disable=SC2016
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3
RELAY=${PROGRAMS:-$TOP/build/gcc-plain/tests/bin}/relay
[ -x "$RELAY" ] || skip_all "$RELAY is not built: make check builds it"
# A sanitizer's own memory is not what is measured.
[ -z "${SAN:-}" ] || skip_all "measures memory, not under a sanitizer"
SIZE=100000000
ABOVE_IDLE_KB=65536

relay_tells_its_port() {
	[ -s relay.ready ] || ended "$RELAY_PID"
}

# The data plane through the link.
link_up() {
	"$RELAY" --delay 20 --bandwidth 100 "${E2B_SANDBOX_URL##*:}" >relay.ready &
	RELAY_PID=$!
	tap_daemons="$tap_daemons $RELAY_PID"
	wait_until "$PATIENCE" relay_tells_its_port
	E2B_SANDBOX_URL=http://127.0.0.1:$(tr -dc '0-9' <relay.ready)
}

peak_kb() {
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$DAEMON/status"
}

requests() {
	vendor_request GET "$ADMIN/counters" |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["total"]["requests"])'
	vendor_request POST "$ADMIN/reset" >/dev/null
}

at_most() { # NAME GOT LIMIT
	diag "$1: $2, at most $3"
	is "$1" "$([ "$2" -le "$3" ] && echo in bounds)" "in bounds"
}

timed() { # WHAT COMMAND...
	tap_what=$1
	shift
	tap_began=$(date +%s%N)
	ok "$tap_what" deadline 600 "$@"
	diag "$tap_what: $((($(date +%s%N) - tap_began) / 1000000)) ms"
}

vendor_start
link_up
head -c $SIZE /dev/urandom >big
mount_sandbox stream
ls "$MNT" >/dev/null
idle_kb=$(peak_kb)
requests >/dev/null

timed "100 MB are written" dd if=big of="$MNT/written" bs=128k conv=fsync status=none
at_most "requests for writing them" "$(requests)" 40
ok "they are there" cmp big "$STORE/written"
at_most "kB above idle while writing" $(($(peak_kb) - idle_kb)) $ABOVE_IDLE_KB

cp big "$STORE/there"
timed "100 MB are read, and are the same" cmp big "$MNT/there"
at_most "requests for reading them" "$(requests)" 20
at_most "kB above idle after both" $(($(peak_kb) - idle_kb)) $ABOVE_IDLE_KB
unmount
kill "$RELAY_PID"
done_testing
