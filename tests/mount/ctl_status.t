#!/bin/sh
# sandboxctl status and sync: of mounts that live, whose process is stopped or dead, and whose sandbox does not answer.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs node python3

# Of this test's mounts alone, for there may be others of the same user.
status() {
	ctl status | grep -F "$SCRATCH" | tr -s ' '
}

# of_json EXPRESSION: of what --json says of the mount on $MNT.
of_json() {
	ctl status --json | python3 -c '
import json, sys
mount, = [m for m in json.load(sys.stdin) if m["directory"] == sys.argv[1]]
print(eval(sys.argv[2]))' "$MNT" "$1"
}

says "a word too many" 2 "sandboxctl: status: 'here': one word too many; see sandboxctl status --help" ctl status here
says "no number" 2 \
	"sandboxctl: sync: option '--timeout=soon': SECONDS is a number of seconds, as in --timeout=1.5" ctl sync --timeout soon
says "no mount" 1 "sandboxctl: /: no mount of yours; sandboxctl status tells where they are" ctl sync /

# ---- Alive ---------------------------------------------------------------------------------------

mount_sandbox demo timeout=5
mkdir "$MNT/dir"
ls "$MNT" >/dev/null
ok "what is written is sent" sh -c 'echo x >"$1/dir/file" && "$2" sync "$1/dir"' - "$MNT" "$SANDBOXCTL"
is "the sandbox has it" "$(cat "$STORE/dir/file")" x
ok "a mount is shown with its sandbox and what is left of its life" \
	sh -c 'echo "$1" | grep -qE "^$2 $3 mounted - 0 [0-9]+ [0-9.]+ (bytes|kB) of [0-9.]+ [MG]B [0-9]+ (min [0-9]+ s|h [0-9]+ min)$"' \
	- "$(status)" "$SOURCE" "$MNT"
is "the same as JSON" "$(of_json '(mount["source"], mount["mount"], mount["status"]["pending_changes"], mount["uid"])')" \
	"('$SOURCE', 'mounted', 0, $MOUNT_AS)"

head -c 300000 /dev/urandom >"$STORE/large"
sees large
# What was written a moment ago may be written again within the same tick of the clock, and is not kept.
is_old() {
	[ "$(date +%s)" -gt "$(($(stat -c %Z "$STORE/large") + 1))" ]
}
wait_until "$PATIENCE" is_old
ok "a file is read" cmp "$MNT/large" "$STORE/large"
cached() {
	[ "$(of_json 'mount["status"]["cache"]["bytes"] >= 300000')" = True ]
}
ok "what is kept of it counts" wait_until "$PATIENCE" cached
is "where it is" "$(of_json 'mount["status"]["cache"]["dir"]')" "$SCRATCH/cache.$MOUNT_AS/sandboxfs"

# ---- The sandbox does not answer -------------------------------------------------------------------

expect_log '.*'
vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/./","times":0},"action":{"type":"stall"}}' >/dev/null
echo owed >>"$MNT/dir/file"
ctl sync "$MNT" >out 2>err
is "what cannot be sent fails sync" $? 1
ok "the line says what is left, why and where it is kept" \
	grep -qE "^sandboxctl: $MNT: not everything could be sent: [0-9]+ changes?, [0-9]+ bytes: .*; it is kept for the next mount, in /" err
is "it is one line" "$(wc -l <err)" 1
ok "status shows what is pending" sh -c 'echo "$1" | grep -qE " mounted [0-9]+ changes?, [0-9]+ bytes 0 "' - "$(status)"
vendor_request DELETE "$ADMIN/faults" >/dev/null
ok "once it answers all of it is sent" ctl sync "$MNT"
is "the sandbox has it, once" "$(tail -n 1 "$STORE/dir/file")" owed

# ---- The process is stopped, then killed -----------------------------------------------------------

kill -STOP "$DAEMON"
ok "status does not hang with a process that is stopped" sh -c 'echo "$1" | grep -q " silent ? ? ? ? ?$"' - "$(status | grep ' silent ')"
says "nor does sync" 1 \
	"sandboxctl: $MNT: its process does not answer; wait, or take it off with umount -l $MNT" ctl sync "$MNT"
is "JSON says so" "$(of_json '(mount["mount"], mount["status"])')" "('silent', None)"
kill -CONT "$DAEMON"
kill -KILL "$DAEMON"
wait "$DAEMON" 2>/dev/null
ok "a process that is gone is shown" sh -c 'echo "$1" | grep -q " dead ? ? ? ? ?$"' - "$(status | grep ' dead ')"
says "and has nothing to send" 1 \
	"sandboxctl: $MNT: its process is dead; take it off with umount -l $MNT, and mount again: what it owed is sent then" \
	ctl sync "$MNT"
done_testing
