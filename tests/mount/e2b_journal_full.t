#!/bin/sh
# While the link to the sandbox is gone more is written than the journal may take: that waits for the link, or fails.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"

needs_mount
needs python3

MIB=1048576
NEARLY_FULL=$((3 * MIB))

tell() { # COMMAND...
	tell_relay to_control "$@" && tell_relay to_data "$@"
}

pending_bytes() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["pending_bytes"])' "$MNT/.sandbox/status"
}

is_nearly_full() {
	[ "$(pending_bytes)" -ge "$NEARLY_FULL" ]
}

has_written() {
	[ "$(stat -c %s "$STORE/big")" = "$written" ]
}

# Leaves a file open on descriptor 5, and the link gone.
begin() { # OPTIONS
	mount_sandbox demo "journal_size=4M,$1"
	expect_log '.*'
	exec 5>"$MNT/big"
	sync "$MNT/big"
	tell refuse 600 && tell cut
}

# 12 MiB, in records of 64 KiB.
RECORDS=192

write_zeros() { # RECORDS
	deadline "$((2 * PATIENCE))" dd if=/dev/zero bs=64k count="$1" >&5 2>dd.err
}

records_written() {
	sed -n 's/+.* records out//p' dd.err
}

# What the journal has is still on its way when the link is back, and it refuses a write then: the rest is for the next time.
write_the_rest() {
	write_zeros "$left"
	left=$((left - $(records_written)))
	[ "$left" -eq 0 ]
}

vendor_sandbox demo
start_relay to_control "$E2B_API_URL"
start_relay to_data "$E2B_SANDBOX_URL"
E2B_API_URL=http://127.0.0.1:$(relay_port to_control)
E2B_SANDBOX_URL=http://127.0.0.1:$(relay_port to_data)

begin journal_full=wait,timeout=120
write_zeros $RECORDS &
writer=$!
ok "the journal fills" wait_until "$PATIENCE" is_nearly_full
ok "who writes more waits" alive $writer
tell resume
wait $writer
is "until the link is back" "$? $(grep -c 'No space' dd.err)" "0 0"
exec 5>&-
settle
is "and all of it is in the sandbox" "$(stat -c %s "$STORE/big")" $((12 * MIB))
rm "$MNT/big"
unmount

begin journal_full=fail,timeout=60
write_zeros $RECORDS
is "or fails, once nobody answers" "$? $(grep -c 'No space left on device' dd.err)" "1 1"
written=$(($(records_written) * 65536))
ok "when the journal is full" test "$written" -ge "$NEARLY_FULL"
tell resume
ok "when the link is back what was taken on is sent" wait_until "$PATIENCE" has_written
left=$RECORDS
ok "and more is" wait_until "$PATIENCE" write_the_rest
exec 5>&-
settle
is "all that was taken on is in the sandbox" "$(stat -c %s "$STORE/big")" $((written + 12 * MIB))
unmount
done_testing
