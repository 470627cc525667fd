#!/bin/sh
# A vendor's server that stalls, breaks off, answers with errors or with nonsense in the middle of everything. With
# PROVIDER=VENDOR.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
needs_vendor
# shellcheck source=tests/support/tap_faults.sh
. "$TOP/tests/support/tap_faults.sh"

vendor_sandbox demo
for round in $SERVER_FAULTS; do
	"$PYTHON" "$VERBS" prepare "$STORE/$round" "$STORE/$round.after"
done
touch "$STORE/log"
mkfifo go
mount_sandbox demo timeout=$TIMEOUT,attr_timeout=0.2,entry_timeout=0.2
expect_log '.*'
for round in ${ROUNDS:-$SERVER_FAULTS}; do
	trouble "$round" mend_server
done
unmount
done_testing
