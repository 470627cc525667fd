#!/bin/sh
# What a program takes over from its caller: signals that are ignored or blocked, descriptors, the umask, the directory.
# shellcheck disable=SC2016
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
needs_mount
needs flock pgrep

UMOUNT="${SANDBOXFS%/*}/umount.fuse.sandboxfs"
export XDG_RUNTIME_DIR="$SCRATCH/run"
mkdir "$XDG_RUNTIME_DIR" here left
mkfifo fifo

# careless ignoring|blocking PROGRAM...: as such a caller starts it.
careless() {
	deadline "$PATIENCE" python3 "$TOP/tests/mount/inherited.py" "$@"
}

mounted() {
	grep -qF " $SCRATCH/here fuse.sandboxfs " /proc/self/mounts
}

not_mounted() {
	! mounted
}

# A mount that follows at once may be refused, because the one before it is still ending.
gone() {
	! mounted && ! pgrep -f "^$SANDBOXFS .*$SOURCE (../)?here" >/dev/null
}

# programs_with FILE...: the programs of all processes that have it open or as their working directory.
programs_with() {
	for held in /proc/[0-9]*/fd/* /proc/[0-9]*/cwd; do
		[ ! "$held" -ef "$1" ] || readlink "${held%"${held#/proc/*/}"}exe"
	done
}

free_of() { # FILE
	! programs_with "$1" | grep -qxF "$SANDBOXFS"
}

a_sandbox inherited
tap_mounts=$SCRATCH/here

# ---- Signals -------------------------------------------------------------------------------------

for how in ignoring blocking; do
	tap_prefix="$how: "
	careless $how "$SANDBOXCTL" exec "$SOURCE" -- 'exit 7' </dev/null
	is "the exit code of a command" $? 7
	careless $how "$SANDBOXCTL" with "$PROVIDER" -- sh -c 'exit 7' 2>/dev/null
	is "that of a command here" $? 7
	ok "a mount in the background" careless $how "$SANDBOXFS" "$SOURCE" here
	echo 'exit 7' >here/.sandbox/exec
	is "the exit code of its command" "$(field_of exit_code <here/.sandbox/exec)" 7
	ok "is unmounted" careless $how "$UMOUNT" here
	ok "and gone" wait_until "$PATIENCE" gone

	# The time is for a mount that answers nobody: nothing else ends it.
	python3 "$TOP/tests/mount/inherited.py" $how "$SANDBOXFS" -f "$SOURCE" here 2>log &
	daemon=$!
	tap_daemons="$tap_daemons $daemon"
	ok "a mount in the foreground" wait_until "$PATIENCE" mounted
	ok "answers" deadline "$PATIENCE" ls here
	kill -TERM $daemon
	ok "TERM ends it" wait_until "$PATIENCE" ended $daemon
	wait $daemon
	is "well" "$? $(grep -c -e warn: -e error: log)" "0 0"
	ok "and it is gone" not_mounted
done
tap_prefix=

trap '' HUP
is "HUP stays ignored for a command of nohup(1)" \
	"$("$SANDBOXCTL" with "$PROVIDER" -- sh -c 'kill -HUP $$; echo survived' 2>/dev/null)" survived
trap - HUP

# ---- Descriptors ---------------------------------------------------------------------------------

for way in -f ''; do
	exec 9>lock
	flock 9
	# shellcheck disable=SC2086
	"$SANDBOXFS" $way "$SOURCE" here 2>log &
	exec 9>&-
	wait_until "$PATIENCE" mounted
	[ "$way" = -f ] || wait $!
	ok "sandboxfs $way keeps no lock of its caller" flock -n lock true
	ok "nor the file open" free_of lock
	umount -i here
	wait_until "$PATIENCE" gone
done

exec 9>lock
"$SANDBOXCTL" with "$PROVIDER" -- sh -c 'echo ready >&9; read -r _' 2>/dev/null <fifo &
exec 8>fifo
wait_until "$PATIENCE" grep -q ready lock
is "a command of with has the descriptors of its caller" "$(cat lock)" ready
ok "and its mount has not" free_of lock
exec 8>&-
wait $!
exec 9>&-
echo 'echo prepared >prepared' >setup
is "a word may name one" "$("$SANDBOXCTL" with "$PROVIDER" --setup /dev/fd/9 -- cat prepared 9<setup 2>/dev/null)" prepared

# ---- The umask -----------------------------------------------------------------------------------

echo text >file
chmod 644 file
(umask 077 && ctl push file "$SOURCE:made/for/file")
is "directories that push makes are those of any caller" "$(stat -c %a "$STORE/made" "$STORE/made/for" | tr '\n' ' ')" "755 755 "
(umask 077 && ctl pull "$SOURCE:made/for/file" "$SCRATCH/own/for/file")
is "those that pull makes are as the caller's umask says" "$(stat -c %a own own/for own/for/file | tr '\n' ' ')" "700 700 644 "
is "a command here has it" "$(umask 027 && "$SANDBOXCTL" with "$PROVIDER" -- sh -c umask 2>/dev/null)" 0027
(umask 077 && deadline "$PATIENCE" "$SANDBOXFS" "$SOURCE" here)
(umask 022 && mkdir here/wide && echo >here/wide/file)
is "modes on a mount are those of who makes files" "$(stat -c %a here/wide here/wide/file | tr '\n' ' ')" "755 644 "
umount -i here
wait_until "$PATIENCE" gone

# ---- The working directory -----------------------------------------------------------------------

for way in -f ''; do
	# shellcheck disable=SC2086
	(cd left && exec "$SANDBOXFS" $way "$SOURCE" ../here) 2>log &
	wait_until "$PATIENCE" mounted
	[ "$way" = -f ] || wait $!
	ok "sandboxfs $way: words are relative to it" ls here/wide
	ok "and no process stays in it" wait_until "$PATIENCE" free_of left
	umount -i here
	wait_until "$PATIENCE" gone
done
done_testing
