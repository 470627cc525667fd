#!/bin/sh
# A control plane answers with millions of values: sandboxctl refuses each answer, and takes little memory meanwhile.
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs python3
# A sanitizer's own memory is not what is measured.
[ -z "${SAN:-}" ] || skip_all "measures memory, not under a sanitizer"
mkdir "$SCRATCH/mnt"
python3 -B "$TOP/tests/mount/large_answers.py" "$SANDBOXCTL" "$SANDBOXFS" "$SCRATCH/mnt"
