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

# alone COMMAND...: of sandboxctl, where this test's mounts are the only ones: it is not to open what others unmount.
alone() {
	if [ "$(id -u)" -eq 0 ]; then
		"$TOP/tests/support/apart" timeout "$PATIENCE" "$SANDBOXCTL" "$@"
	else
		ctl "$@"
	fi
}

# Of this test's mounts alone, for there may be others of the same user.
status() {
	alone status | grep -F "$SCRATCH" | tr -s ' '
}

# of_json EXPRESSION: of what --json says of the mount on $MNT.
of_json() {
	alone status --json | python3 -c '
import json, sys
mount, = [m for m in json.load(sys.stdin) if m["directory"] == sys.argv[1]]
print(eval(sys.argv[2]))' "$MNT" "$1"
}

says "a word too many" 2 "sandboxctl: status: 'here': one word too many; see sandboxctl status --help" ctl status here
says "no number" 2 \
	"sandboxctl: sync: option '--timeout=soon': SECONDS is a number of seconds, as in --timeout=1.5" ctl sync --timeout soon
says "no mount" 1 "sandboxctl: /: no mount of yours; sandboxctl status tells where they are" ctl sync /

# ---- Alive ---------------------------------------------------------------------------------------

mount_sandbox demo timeout=15
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
# Each of the four would take its limit, which is shorter than that of the mount.
begun=$(date +%s)
ctl sync --timeout 5 "$MNT" "$MNT" "$MNT" "$MNT" >out 2>err
is "a limit that is over fails it" $? 1
ok "it is on all of it" [ $(($(date +%s) - begun)) -lt 20 ]
like "and the line says so" "$(head -n 1 err)" "^sandboxctl: $MNT: not everything could be sent: "
vendor_request DELETE "$ADMIN/faults" >/dev/null
ok "once it answers all of it is sent" ctl sync "$MNT"
is "the sandbox has it, once" "$(tail -n 1 "$STORE/dir/file")" owed

# ---- Those of others -------------------------------------------------------------------------------

if [ "$(id -u)" -eq 0 ]; then
	first=$MNT
	export XDG_DATA_HOME="$SCRATCH/data"
	others=
	for name in a b c; do
		mkdir -m 777 "$SCRATCH/other.$name"
		$(tap_become "$TEST_UID") env XDG_DATA_HOME="$SCRATCH/home" XDG_STATE_HOME="$SCRATCH/home" XDG_CACHE_HOME="$SCRATCH/home" \
			"$SANDBOXFS" -f "local:other-$name" "$SCRATCH/other.$name" 2>/dev/null &
		others="$others $!"
		tap_daemons="$tap_daemons $!"
		tap_mounts="$tap_mounts $SCRATCH/other.$name"
		wait_until "$PATIENCE" tap_is_mounted "$SCRATCH/other.$name"
	done
	is "root sees the mounts of others" "$(status | grep -c ' mounted ')" 4
	kill -STOP $others
	begun=$(date +%s)
	is "and those that do not answer" "$(status | grep -c ' silent ')" 3
	ok "all at once" [ $(($(date +%s) - begun)) -lt 20 ]
	echo x >>"$MNT/dir/file"
	begun=$(date +%s)
	alone sync >out 2>&1
	ok "to sync its own root asks no others" [ $(($(date +%s) - begun)) -lt 20 ]
	fails "and names none" grep -q "$SCRATCH/other" out
	kill -CONT $others
	if as_user unshare -Urm true 2>/dev/null; then
		is "in a user namespace those who let it in are its own, and no others" \
			"$(as_user unshare -Urm "$SANDBOXCTL" status | grep -F "$SCRATCH" | tr -s ' ' | cut -d' ' -f1,3)" \
			"local:other-a mounted
local:other-b mounted
local:other-c mounted"
	fi
	for name in a b c; do
		umount -i "$SCRATCH/other.$name"
	done
	MNT=$first
fi

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
