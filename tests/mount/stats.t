#!/bin/sh
# .sandbox/stats: counts and latencies as Prometheus reads them.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs python3

mount_sandbox stats
STATS=$MNT/.sandbox/stats

prometheus() {
	as_owner python3 -B "$TOP/tests/mount/prometheus.py" "$@" <"$STATS"
}

calls() { # VERB
	prometheus "sandboxfs_calls_total{verb=\"$1\",outcome=\"OK\"}"
}

ok "it holds to the rules of the format" prometheus
before=$(calls execute)
python3 -c '
import os, sys
file = os.open(sys.argv[1], os.O_RDWR)
os.write(file, b"printf 12345")
os.read(file, 1 << 16)' "$MNT/.sandbox/exec"
is "a command is one more" "$(calls execute)" $((before + 1))
is "with its output" "$(prometheus 'sandboxfs_received_bytes_total{verb="execute"}')" 5
is "and how long it took" "$(prometheus 'sandboxfs_call_duration_seconds_count{verb="execute"}')" $((before + 1))
echo 123 >"$STORE/file"
sees file
is "a file is read" "$(cat "$MNT/file")" 123
is "its bytes are counted" "$(prometheus 'sandboxfs_received_bytes_total{verb="fetch"}')" 4
ok "names are counted" [ "$(prometheus sandboxfs_names)" -ge 1 ]
ok "it still holds to the rules" prometheus
fails "nobody writes it" sh -c 'echo x >"$1"' - "$STATS"
unmount
done_testing
