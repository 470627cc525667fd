#!/bin/sh
# Where names are not decided here a new file is in the sandbox at once, and empty; what is written to it is there whole, or
# not at all.
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_whole.sh
. "$TOP/tests/support/tap_whole.sh"

needs_mount
needs node python3

vendor_sandbox demo
mount_sandbox demo excl=remote
are_made_whole "by the helper" helper
unmount
# That has no stream of changes, either.
mount_sandbox demo attr_timeout=0
are_made_whole "where nothing is believed" asked
unmount
done_testing
