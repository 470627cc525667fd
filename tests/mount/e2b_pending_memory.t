#!/bin/sh
# What is pending takes disk, not memory: much is written while the link to the sandbox is gone, and all of it arrives.
#
#	PENDING_MIB   so much (1024)
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"

needs_mount

MIB=${PENDING_MIB:-1024}
# 150 MiB.
MEMORY_KIB=153600

tell() { # COMMAND...
	tell_relay to_control "$@" && tell_relay to_data "$@"
}

peak_kib() {
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$DAEMON/status"
}

vendor_sandbox demo
start_relay to_control "$E2B_API_URL"
start_relay to_data "$E2B_SANDBOX_URL"
E2B_API_URL=http://127.0.0.1:$(relay_port to_control)
E2B_SANDBOX_URL=http://127.0.0.1:$(relay_port to_data)
mount_sandbox demo "timeout=60,journal_size=$((MIB + MIB / 8 + 16))M"
expect_log '.*'
exec 5>"$MNT/big" 6>"$MNT/scattered"
sync "$MNT/big" "$MNT/scattered"
tell refuse 3600 && tell cut

# In large pieces one after the other, and in small ones that do not touch.
ok "half is written while the link is gone" deadline 600 sh -c 'dd if=/dev/zero bs=1M count="$1" status=none >&5' - $((MIB / 2))
ok "and half in pieces" deadline 600 python3 -c '
import os
for n in range(int(os.sys.argv[1]) * 8):
	os.pwrite(6, b"x" * 65536, n * 131072)
' $((MIB / 2))
peak=$(peak_kib)
ok "with $peak KiB of memory at most, all is pending" test "$peak" -lt $MEMORY_KIB
tell resume
ok "the link is back, and all of it is sent" deadline 900 sh -c 'echo >"$1/.sandbox/sync"' - "$MNT"
is "it is all there" "$(stat -c %s "$STORE/big" "$STORE/scattered" | tr '\n' ' ')" \
	"$((MIB / 2 << 20)) $((MIB * 524288 - 65536)) "
peak=$(peak_kib)
ok "and it took no more than $peak KiB to send it" test "$peak" -lt $MEMORY_KIB
exec 5>&- 6>&-
unmount
done_testing
