#!/bin/sh
# -o audit=FILE: a record of what is changed and run through a mount.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
needs_mount
needs python3

AUDIT=$SCRATCH/audit.json

# records [FIELD...]: those fields of each record, one a line.
records() {
	python3 - "$AUDIT" "$@" <<-'END'
		import json, sys
		for line in open(sys.argv[1]):
		    record = json.loads(line)
		    print(*[record.get(name) for name in sys.argv[2:]])
	END
}

has_record() {
	records op path to bytes exit_code | grep -qxF -- "$1"
}

# recorded NAME RECORD
recorded() {
	ok "$1" wait_until "$PATIENCE" has_record "$2"
}

mount_sandbox audit "audit=$AUDIT"
cd "$MNT" || exit 1
is "nobody else may read it" "$(stat -c %a "$AUDIT")" 600
printf 12345 >file
recorded "a new file" "create file None None None"
recorded "is written, so many bytes" "write file None 5 None"
mkdir sub
recorded "a directory" "mkdir sub None None None"
mv file sub/moved
recorded "a rename, with both names" "rename file sub/moved None None"
ln -s moved sub/link
recorded "a link" "symlink sub/link None None None"
ln sub/moved other
recorded "a second name" "link sub/moved other None None"
chmod 600 other
recorded "a mode" "setattr other None None None"
printf abc >>other
recorded "more bytes" "write other None 3 None"
rm other
recorded "a name that is removed" "unlink other None None None"
rmdir nothing 2>/dev/null
sh -c 'echo "exit 3" >.sandbox/exec'
recorded "a command and its end" "exec None None None 3"
ok "has its text" sh -c 'grep -q "\"command\": *\"exit 3" "$1"' - "$AUDIT"
job=$(exec 3<>.sandbox/spawn; echo 'exit 5' >&3; cat <&3)
recorded "a job" "spawn None None None None"
ok "ends" wait_until "$PATIENCE" grep -q '"exited"' ".sandbox/jobs/$job/status"
recorded "and its exit code is told" "job None None None 5"
is "what failed is no record" "$(records op path | grep -c 'rmdir nothing')" 0
is "no contents are told" "$(grep -c 12345 "$AUDIT")" 0
is "who asked is told" "$(records op uid | grep '^mkdir')" "mkdir $(id -u)"
is "and which process" "$(records op pid | grep -c '^create [1-9]')" 1

# ---- logrotate -----------------------------------------------------------------------------------

# Of a mount with a terminal a HUP says that the terminal is gone.
if ! (: </dev/tty) 2>/dev/null; then
	mv "$AUDIT" "$AUDIT.1"
	kill -HUP "$DAEMON"
	ok "after a HUP the file is made again" wait_until "$PATIENCE" test -e "$AUDIT"
	: >after
	recorded "and has what follows" "create after None None None"
	ok "the mount goes on" test -e after
fi
cd ..
unmount

# ---- What stops nothing --------------------------------------------------------------------------

AUDIT=/dev/full
mount_sandbox full audit=/dev/full
echo text >"$MNT/file"
is "a full disk stops nothing" "$(cat "$MNT/file")" text
ok "and is told once" wait_until "$PATIENCE" grep -q 'audit /dev/full: .*records are lost' "$LOG"
umount "$MNT"
wait_until "$PATIENCE" ended "$DAEMON"
says "a file that cannot be opened" 32 "sandboxfs: audit $SCRATCH/no/file: no such file or directory" \
	"$SANDBOXFS" local:other "$MNT" -o "audit=$SCRATCH/no/file"
says "a path that is not absolute" 1 "sandboxfs: option 'audit=file': FILE is an absolute path" \
	"$SANDBOXFS" local:other "$MNT" -o audit=file
done_testing
