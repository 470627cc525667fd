#!/bin/sh
# What somebody in between answers in the sandbox's stead, a page of a gateway, a login, another's
# JSON, half of an answer, a rate limit, or that nobody answers at all, refuses nothing that was
# acknowledged, ends nothing, runs nothing twice, and is told in status: by kind of answer and verb.
# With PROVIDER=VENDOR; ANSWERS=all: every kind; ANSWERS=KIND,...: those; else a few. The table is
# printed (make answers).
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs_vendor
needs node python3
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"

vendor_sandbox demo
lay_link demo
mount_sandbox demo timeout=20
expect_log '.*'
export ADMIN VENDOR_KEY RELAY LINK="$SCRATCH/link"
deadline 1200 python3 "$TOP/tests/mount/answers.py" "$MNT" "$STORE" "$PROVIDER" "${ANSWERS:-short}" >table 2>why ||
	tap_why "$(tail -n 20 why)"
sed 's/^/# /' table
ok "every kind of answer was given to every verb" test -s table -a ! -s why
# "wrong" is told with the verb and the kind.
is "every verb does what it was asked for" "$(awk '$3 != "ok"' table)" ""
is "none takes more than the mount's time, on a busy machine either" "$(awk '$4 > 60' table)" ""
is "an answer of somebody else is told in status" "$(awk '$6 == "untold"' table)" ""
# The mount itself may ask first, and take the odd answer in a verb's stead, or have asked already.
[ "${ANSWERS:-short}" != all ] ||
	is "verbs that never got one" "$(awk '{ got[$2] += $5 } END { for (verb in got) if (!got[verb]) print verb }' table)" ""
ok "the process lives" alive "$DAEMON"
unmount

# ---- A mount that gets nothing else ----------------------------------------------------------------

vendor_request POST "$ADMIN/faults" \
	'{"match":{"kind":"/./","times":0},"action":{"type":"status","status":404,"body":"<html>Odd page</html>"}}' >/dev/null
mkdir other
deadline 90 "$SANDBOXFS" -f -o timeout=5 "$PROVIDER:$SANDBOX" other >out 2>err
is "a mount that is answered by somebody else alone fails" "$?" 32
is "in one line" "$(wc -l <err)" 1
ok "which quotes the answer" grep -q 'Odd page' err
vendor_request DELETE "$ADMIN/faults" >/dev/null
done_testing
