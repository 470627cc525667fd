#!/bin/sh
# Two processes with many threads on one mount (tests/stress); STRESS_SECONDS (8) says how long.
. "${0%/*}/../support/tap.sh"

PROGRAMS=${PROGRAMS:-$TOP/build/gcc-plain/tests/bin}
[ -x "$PROGRAMS/stress" ] || skip_all "$PROGRAMS/stress is not built: make check builds it"

seconds=${STRESS_SECONDS:-8}
mount_sandbox stress
# A sanitizer's quarantine grows by design: its builds are not weighed.
watch=
[ -n "$DAEMON" ] && [ -z "${SAN:-}" ] && watch=--pid=$DAEMON
# To one host, of many requests at a time.
[ "$PROVIDER" != local ] && watch="$watch --connections=64"
# shellcheck disable=SC2086
deadline $((seconds + 240)) "$PROGRAMS/stress" --seconds="$seconds" $watch "$MNT" >"$SCRATCH/said" 2>&1
is "nothing lost, nothing stuck, nothing grown in $seconds s" $? 0
diag "$(cat "$SCRATCH/said")"
unmount

# The thread of the signals ends a mount that other threads serve.
if [ "$TARGET" != plain ]; then
	mount_sandbox stress
	cat "$MNT/.sandbox/stats" >"$SCRATCH/said"
	kill -TERM "$DAEMON"
	ok "a signal ends the mount" wait_until "$PATIENCE" ended "$DAEMON"
fi
done_testing
