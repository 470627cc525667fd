#!/bin/sh
# 200,000 entries: all known after one walk, so that the next one costs nothing, within 100 MB of memory.
# shellcheck disable=SC2016
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_counters.sh
. "$TOP/tests/support/tap_counters.sh"

needs_mount
needs node python3
# A sanitizer's own memory is not what is measured.
[ -z "${SAN:-}" ] || skip_all "measures memory, not under a sanitizer"
DIRS=2000
FILES=100 # in each
RESIDENT_MAX_KB=100000

names_known() {
	sed -n 's/.*"names_known": *\([0-9]*\).*/\1/p' "$MNT/.sandbox/status"
}

resident_kb() {
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$DAEMON/status"
}

vendor_sandbox many
python3 - "$STORE/many" $DIRS $FILES <<'END'
import os, sys
top, dirs, files = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for d in range(dirs):
    os.makedirs(f"{top}/directory{d}")
    for f in range(files):
        os.close(os.open(f"{top}/directory{d}/file-{f}.c", os.O_CREAT | os.O_WRONLY, 0o644))
END
mount_sandbox many
reset
ok "all of them are listed" deadline 600 sh -c 'ls -lR "$1" >first' - "$MNT/many"
at_most "ls -lR of them" 8
known=$(names_known)
is "all of them are known ($known)" "$([ "$known" -ge $((DIRS * FILES + DIRS)) ] && echo yes)" yes
reset
ok "and listed again" deadline 600 sh -c 'ls -lR "$1" >second' - "$MNT/many"
is "the same" "$(cmp first second)" ""
is "without a request" "$(requests)" 0
resident=$(resident_kb)
is "in at most $RESIDENT_MAX_KB kB ($resident)" "$([ "$resident" -le $RESIDENT_MAX_KB ] && echo yes)" yes
unmount
done_testing
