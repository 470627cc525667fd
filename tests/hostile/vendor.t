#!/bin/sh
# A vendor's service that lies at random: whatever is asked of it ends, and takes little memory.
# HOSTILE_SECONDS and SEED say how long and with which lies. With PROVIDER=VENDOR.
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_vendor
needs node python3

lies() { # SEED
	printf '{"match":{"kind":"/./","times":0},"action":{"type":"lie","seed":%s}}' "$1"
}

vendor_sandbox lies
export ADMIN VENDOR_KEY
SEED=${SEED:-$(date +%s)}
diag "SEED=$SEED"
vendor_request POST "$ADMIN/faults" "$(lies "$SEED")" >/dev/null
deadline $((HOSTILE_SECONDS + 300)) \
	"$PROGRAMS/vendor" "$PROVIDER" "$SANDBOX" "$HOSTILE_SECONDS" "$SEED" >told 2>err
is "every call ends" "$?" 0
tail -n 30 err >&2
cat told
taken=$(vendor_request DELETE "$ADMIN/faults" | sed 's/[^0-9]//g')
diag "answers: $taken, every second one a lie"
tail -n 20 "$VENDOR_DIR/err" >&2
ok "the service answered" test "$taken" -gt 0
[ -n "${SAN:-}" ] || ok "in less than 256 MB" awk '{ if ($(NF - 3) >= 256) exit 1 }' told
# It was no stranger to whom all this was said.
ok "without lies it serves as before" "$SANDBOXCTL" exec "$PROVIDER:$SANDBOX" true
done_testing
