#!/bin/sh
# What is read while somebody in the sandbox appends and replaces is never of two editions; MIXING_ROUNDS (300) says how often.
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
needs python3

rounds=${MIXING_ROUNDS:-300}
mount_sandbox mixing
mkdir "$STORE/changing"
ok "$rounds times a file that changes is read as it was once" deadline $((rounds / 2 + 300)) \
	python3 -B "$TOP/tests/mount/mixing.py" "$MNT/changing" "$STORE/changing" "$rounds"
unmount
done_testing
