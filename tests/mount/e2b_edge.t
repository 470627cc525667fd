#!/bin/sh
# A sandbox behind an edge that speaks TLS and HTTP/2: what is large goes apart from what somebody
# waits for.
# shellcheck disable=SC2016
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node
# shellcheck source=tests/support/tap_edge.sh
. "$TOP/tests/support/tap_edge.sh"

# Requests over a version of HTTP of which more than 64 KiB, and headers, went to the sandbox, or
# more came than what is asked for in one piece.
requests() { # VERSION CONDITION
	awk -v version="$1" '$1 == version && '"($2)" "$SCRATCH/edge.log" | wc -l
}
SENT_MUCH='$2 > 69632'
CAME_MUCH='$3 > 1572864'

vendor_start
start_edge edge "$E2B_SANDBOX_URL"
E2B_SANDBOX_URL=$(edge_url edge)
mount_sandbox edge
ls "$MNT" >/dev/null
head -c 3M /dev/urandom >big

ok "3 MB are written" dd if=big of="$MNT/written" bs=128k conv=fsync status=none
ok "they are there" cmp big "$STORE/written"
cp big "$STORE/there"
sees there
ok "3 MB are read" cmp big "$MNT/there"
echo small >"$STORE/small"
sees small
is "a small file is read" "$(cat "$MNT/small")" small
unmount

# The edge tells of all that has ended before it ends itself.
kill -USR1 "$EDGE"
wait_until "$PATIENCE" ended "$EDGE"
tap_helpers=
diag "$(cat "$SCRATCH/edge.log")"
is "nothing large went over HTTP/2" "$(requests HTTP/2.0 "$SENT_MUCH || $CAME_MUCH")" 0
ok "what is written went over HTTP/1.1" [ "$(requests HTTP/1.1 "$SENT_MUCH")" -ge 1 ]
ok "and so came what is read" [ "$(requests HTTP/1.1 "$CAME_MUCH")" -ge 1 ]
ok "what is small went over HTTP/2" [ "$(requests HTTP/2.0 1)" -ge 3 ]
done_testing
