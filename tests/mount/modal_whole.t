#!/bin/sh
# A sandbox that tells of no changes is asked what is new every second: what is not whole by then is not seen for that.
PROVIDER=modal
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_whole.sh
. "${0%/*}/../support/tap_whole.sh"

needs_mount
needs node python3

HELPER=off
mount_sandbox demo
are_made_whole "without a stream" shell
unmount
done_testing
