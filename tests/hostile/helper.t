#!/bin/sh
# A helper that lies at random, and a mount that is used meanwhile: nothing outside is reached, nothing
# hangs, little memory is taken (helper.py). HOSTILE_SECONDS and SEED say how long and with which lies.
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs python3
# A sanitizer's own memory and time are not what is measured.
[ -z "${SAN:-}" ] || MEMORY_MB=2048
[ -z "${SAN:-}" ] || REQUEST_S=20
HONEST_HELPER=$TOP/build/helper/$(uname -m)/sandboxfs-helper
export HONEST_HELPER MEMORY_MB="${MEMORY_MB:-256}" PATIENCE REQUEST_S="${REQUEST_S:-5}"
SEED=${SEED:-$(date +%s)}
ok "nothing outside is reached, nothing hangs (SEED=$SEED)" \
	deadline $((HOSTILE_SECONDS + 600)) \
	python3 -B "$TOP/tests/hostile/helper.py" "$SCRATCH" "$HOSTILE_SECONDS" "$SEED"
printf '%s\n' "$tap_said"
done_testing
