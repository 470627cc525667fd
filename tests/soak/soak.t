#!/bin/sh
# A mixed use of a mount for SOAK_MINUTES (5), and what its process takes, each minute.
. "${0%/*}/../support/tap.sh"

needs_mount
needs python3
[ -z "${SAN:-}" ] || skip_all "a sanitizer's build takes what it likes"

minutes=${SOAK_MINUTES:-5}
# libfuse ends no thread that answers the kernel, and begins one, with a descriptor, where all are busy:
# a pool of 64 may take half an hour to be complete, which looks like growth. This one soon is.
mount_sandbox soak max_threads=16
deadline $((minutes * 60 + 1200)) python3 -B "$TOP/tests/soak/soak.py" "$DAEMON" "$MNT" "$minutes" 2>&1 | tee "$SCRATCH/said" |
	sed -u "s/^/# $PROVIDER /" >&2
ok "in $minutes minutes nothing grows, and at rest all is as at first" grep -q "^nothing grew" "$SCRATCH/said"
unmount
done_testing
