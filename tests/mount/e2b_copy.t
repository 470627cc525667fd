#!/bin/sh
# How many requests push and pull take on E2B, and how much memory.
# shellcheck disable=SC2016
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
# shellcheck source=tests/support/tap_counters.sh
. "$TOP/tests/support/tap_counters.sh"
needs_mount
needs node python3

a_sandbox copy
python3 - <<'END'
import os, random
chance = random.Random(1)
for d in range(200):
    os.makedirs(f"tree/dir{d}")
    for f in range(10):
        with open(f"tree/dir{d}/file{f}", "wb") as file:
            file.write(chance.randbytes(8000))
END

# ---- Requests ------------------------------------------------------------------------------------

reset
says "2000 files go in" 0 "" ctl push tree "$SOURCE"
at_most "16 MB, with the attach" 4
reset
says "and out" 0 "" ctl pull "$SOURCE:tree" back
at_most "16 MB, with the attach" 4
is "as they were" "$(diff -r tree back)" ""
reset
says "a file goes in under a new name" 0 "" ctl push tree/dir0/file0 "$SOURCE:renamed"
at_most "the name is looked for first" 6

# ---- Memory --------------------------------------------------------------------------------------

# peak_kb COMMAND...: how much it had at most.
peak_kb() {
	python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}
truncate -s 300M large
printf end >>large
kb=$(peak_kb "$SANDBOXCTL" push large "$SOURCE")
is "300 MB in, with at most 120 MB of memory ($kb KiB)" "$([ "$kb" -lt 120000 ] && echo yes)" yes
is "whole" "$(cksum <"$STORE/large")" "$(cksum <large)"
kb=$(peak_kb "$SANDBOXCTL" pull "$SOURCE:large" pulled)
is "300 MB out, with at most 60 MB of memory ($kb KiB)" "$([ "$kb" -lt 60000 ] && echo yes)" yes
is "whole, too" "$(cmp large pulled)" ""

# ---- On a terminal -------------------------------------------------------------------------------

python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$SANDBOXCTL" pull "$SOURCE:large" again </dev/null >seen
ok "a terminal sees how far it is" grep -aEq 'pull \[#* *\] +[0-9]+ %  [0-9.]+ [a-zA-Z]+ of 314\.6 MB' seen
is "which is gone in the end" "$(tail -c 4 seen | od -An -c | tr -d ' ')" '\r033[K'
done_testing
