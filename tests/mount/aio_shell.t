#!/bin/sh
# An image from before /v1/bash: everything goes through /v1/shell, which is a terminal, and the file API.
# shellcheck disable=SC2016,SC2317
PROVIDER=aio
VENDOR_OPTIONS=--without-bash
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs node python3

mount_sandbox shell
head -c 300000 /dev/urandom >large
cp large "$MNT/large"
echo "ünï" >"$MNT/a b"
settle
is "a file with a name of two words" "$(ctl exec "$SOURCE" -- cat "a b")" "ünï"
ctl exec "$SOURCE" -- cat large >there
ok "a large file is there, and its bytes come back by a command" cmp large there

ctl exec "$SOURCE" 'echo out; echo err >&2; exit 3' >out 2>err
is "a command has its exit code and both outputs" "$? $(cat out) $(cat err)" "3 out err"
ctl exec "$SOURCE" 'seq 20000' >out
is "a long output comes whole" "$(cksum <out)" "$(seq 20000 | cksum)"
echo 'kill -KILL $$' >"$MNT/.sandbox/exec"
is "the end by a signal is told" "$(field_of exit_code <"$MNT/.sandbox/exec")" 137

ctl exec "$SOURCE" 'echo theirs >theirs'
ok "what a command made is seen" wait_until "$PATIENCE" grep -qx theirs "$MNT/theirs"
echo 'echo begun; exec sleep 600' >"$MNT/.sandbox/spawn"
ok "a job runs beside the mount" wait_until "$PATIENCE" grep -qx begun "$MNT/.sandbox/jobs/1/output"
echo TERM >"$MNT/.sandbox/jobs/1/kill"
has_ended() {
	[ "$(field_of state <"$MNT/.sandbox/jobs/1/status")" = exited ]
}
ok "and ends by a signal" wait_until "$PATIENCE" has_ended
unmount
is "no script stays" "$(find "$VENDOR_DIR/sandboxes" -name '.sandboxfs-*' ! -type d)" ""
done_testing
