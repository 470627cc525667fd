#!/bin/sh
# The log of `-o log=write=debug:lease=debug` alone explains what became of a change: it landed, it met a conflict, it was
# refused, its answer was lost.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3

stall() {
	vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/process|files/","times":0},"action":{"type":"stall"}}' >/dev/null
}

mend() {
	vendor_request DELETE "$ADMIN/faults" >/dev/null
}

traced() { # PATTERN...: the log has lines with these, in this order
	python3 - "$LOG" "$@" <<'END'
import re, sys
lines = iter(open(sys.argv[1], errors="replace"))
for pattern in sys.argv[2:]:
    if not any(re.search(pattern, line) for line in lines):
        print("# not in the log, or not in this order:", pattern, file=sys.stderr)
        sys.exit(1)
END
}

is_settled() { # nothing is pending
	python3 -c 'import json, sys
sys.exit(json.load(open(sys.argv[1]))["pending_changes"] != 0)' "$MNT/.sandbox/status"
}

vendor_sandbox traces
mkdir "$STORE/d"
echo base >"$STORE/d/conflict"
mount_sandbox traces log=write=debug:lease=debug
expect_log '.*'
ls -lR "$MNT" >/dev/null
ok "that the change stream lives is traced" wait_until "$PATIENCE" traced 'lease: debug: the change stream is live'

echo text >"$MNT/d/landed"
ok "a file is saved" deadline "$PATIENCE" sync "$MNT/d/landed"
ok "its changes are traced from their making to the answer" traced 'd/landed.*: new to (queued|deferred)' \
	'to sent: a batch leaves' 'a batch of [0-9]* changes, .* leaves recorded: somebody waits' 'sent to done: answered'

mkdir "$MNT/gone"
echo base >"$MNT/gone/file"
ok "a file is there" deadline "$PATIENCE" sync "$MNT/gone/file" "$MNT/gone"
stall
echo more >>"$MNT/gone/file"
rm -r "$STORE/gone"
mend
ok "all was answered" wait_until "$PATIENCE" is_settled
ok "a refused change is traced, with its reason" traced 'append gone/file is refused: .*' \
	'append gone/file.* to refused: '

vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/process|files/","times":1},"action":{"type":"cut"}}' >/dev/null
echo text >"$MNT/d/lost"
ok "a file is saved though an answer is lost" deadline "$PATIENCE" sync "$MNT/d/lost"
ok "the loss is traced, and that the same is sent again" traced 'write: debug: .*no answer' 'sent to done: answered'
stall
echo ours >"$MNT/d/conflict"
echo theirs, and longer >"$STORE/d/conflict"
kill -9 "$DAEMON"
wait "$DAEMON" 2>/dev/null
tap_drop_mount "$MNT"
mend
mount_sandbox traces log=write=debug
ok "what was left is answered" wait_until "$PATIENCE" is_settled
ok "a conflict is traced: what was refused, why, and what follows" traced 'replayed from the journal' \
	'is refused: .*' 'to conflict: queued again for a free name' 'sent to done: answered'
# Numbers differ from run to run.
sed -nE 's/^ {4}//; s/[0-9]+/[0-9]+/g; /^(write|cache): .*conflict/p' "$TOP/CONTRIBUTING.md" >told
is "CONTRIBUTING.md has lines of it" "$(wc -l <told)" 9
ok "as they are here" eval "traced $(sed "s/.*/'&'/" told | tr '\n' ' ')"
is "and both versions are there" "$(cat "$STORE/d/conflict" "$STORE/d/conflict.sandboxfs-conflict")" "theirs, and longer
ours"
done_testing
