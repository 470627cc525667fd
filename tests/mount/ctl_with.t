#!/bin/sh
# sandboxctl with: a sandbox that lasts as long as a command.
# shellcheck disable=SC2016
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
needs_mount
needs pgrep

export XDG_RUNTIME_DIR="$SCRATCH/run"
mkdir "$XDG_RUNTIME_DIR" mnt

# Nothing is left: no sandbox, no mount, no directory.
nothing_left() {
	if [ "$PROVIDER" != aio ]; then
		[ "$(ctl list "$PROVIDER" --json)" = '[]' ] || return 1
	fi
	! grep "^[^ ]* $SCRATCH/[^ ]* fuse" /proc/self/mounts && [ -z "$(ls "$XDG_RUNTIME_DIR")" ]
}

with() {
	ctl with "$PROVIDER" "$@" 2>said
}

# Not in the sandbox, which may be the one of the test before.
export READY="$SCRATCH/ready"

# A shell whose children ignore INT would keep it from sandboxctl, which obeys that.
begin_with() { # COMMAND..., which writes to $READY
	rm -f "$READY"
	python3 -c '
import os, signal, sys
for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(one, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$SANDBOXCTL" with "$PROVIDER" mnt -- "$@" >said 2>&1 &
	WITH=$!
	wait_until "$PATIENCE" test -s "$READY"
}

[ "$PROVIDER" = local ] || vendor_start

# ---- Wrong words ---------------------------------------------------------------------------------

says "no provider" 2 "sandboxctl: with: the provider is missing, as in sandboxctl with local -- make" ctl with
says "no command" 2 "sandboxctl: with: the command is missing, as in sandboxctl with $PROVIDER -- make" \
	ctl with "$PROVIDER"
says "a command without dashes" 2 \
	"sandboxctl: with: 'make': write -- before the command, as in sandboxctl with local -- make" \
	ctl with "$PROVIDER" mnt make
says "a directory that is not there" 125 "sandboxctl: nowhere: no such file or directory" \
	ctl with "$PROVIDER" nowhere -- true

# ---- A command -----------------------------------------------------------------------------------

is "it runs in the sandbox's directory" "$(with -- sh -c 'echo text >f && cat f .sandbox/id')" "text
$(sed -n "s/sandboxctl: made $PROVIDER:\(.*\), to be deleted.*/\1/p" said)"
[ "$PROVIDER" = aio ] || like "the sandbox is named" "$(cat said)" "^sandboxctl: made $PROVIDER:.*, to be deleted when"
ok "then nothing is left" nothing_left
with -- sh -c 'exit 7'
is "its exit code is ours" $? 7
with -- sh -c 'kill -KILL $$'
is "also when a signal ended it" $? 137
with -- no-such-program
is "a program that is not there" $? 127
with -- /etc/passwd
is "a file that is no program" $? 126
is "its options are its own" "$(with -- printf "%s" --help)" "--help"
is "on a directory that is given" "$(with mnt -- pwd)" "$SCRATCH/mnt"
is "with options of the mount" "$(with -o ro -- sh -c 'echo x >f || echo refused' 2>/dev/null)" refused
with mnt -- "$SANDBOXCTL" with "$PROVIDER" . -- true
is "not where a sandbox is mounted already" "$? $(grep -c 'a sandbox is mounted there already$' said)" "125 1"
is "which is said before another one is made" "$(grep -c 'sandboxctl: made' said)" 1
ok "nothing is left" nothing_left

echo 'echo prepared >prepared' >setup
is "a setup script prepares it" "$(with --setup setup -- cat prepared)" prepared
echo 'exit 3' >setup
with --setup setup -- touch ran
is "and when it fails the command does not run" "$? $(tail -n 1 said)" "125 sandboxctl: setup script setup: exit status 3; the sandbox was deleted (--keep-failed keeps it)"
with -o no_such_option -- true
is "nor when it cannot be mounted" $? 125
ok "nothing is left" nothing_left

if [ "$PROVIDER" = local ] && [ "$(id -u)" -eq 0 ]; then
	is "an ordinary user's sandbox" "$(env XDG_DATA_HOME="$SCRATCH/home/data" XDG_STATE_HOME="$SCRATCH/home/state" \
		XDG_CACHE_HOME="$SCRATCH/home/cache" $(tap_become "$TEST_UID") "$SANDBOXCTL" with local -- id -u 2>said)" "$TEST_UID"
	ok "leaves nothing either" sh -c '[ -z "$(ls "$1/home/data/sandboxfs")" ]' - "$SCRATCH"
fi

# ---- Signals -------------------------------------------------------------------------------------

for signal in TERM:143 INT:130 HUP:129; do
	begin_with sh -c 'sleep 1000 & trap "kill $!; exit 9" HUP INT TERM; echo >"$READY"; wait'
	kill -"${signal%:*}" $WITH
	wait $WITH
	got=$?
	# Who handles INT and ends in its own way has not been ended by it.
	[ "${signal%:*}" != INT ] || signal=INT:9
	is "$signal is passed on" $got "${signal#*:}"
	ok "and nothing is left" nothing_left
done

begin_with sh -c 'echo >"$READY"; exec sleep 1000'
kill -INT $WITH
wait $WITH
is "a command that INT ends" $? 130
ok "leaves nothing" nothing_left

# ---- Being killed --------------------------------------------------------------------------------

mounts_gone() {
	! grep -q "^[^ ]* $SCRATCH/[^ ]* fuse" /proc/self/mounts
}

sandbox_gone() {
	[ "$(ctl list "$PROVIDER" --json)" = '[]' ]
}

begin_with sh -c 'echo $$ >"$READY"; exec sleep 1000'
command=$(cat "$READY")
# Whoever ends all that is called sandboxctl; this one stays until it has done its work.
guard=$(pgrep -P $WITH sandboxctl)
[ "$PROVIDER" = aio ] || ok "somebody watches" kill -TERM "$guard"
kill -KILL $WITH
wait $WITH
ok "when it is killed the mount ends all the same" wait_until "$PATIENCE" mounts_gone
[ -z "$command" ] || kill "$command"
if [ "$PROVIDER" != aio ]; then
	ok "and then the sandbox goes" wait_until "$PATIENCE" sandbox_gone
fi

"$SANDBOXCTL" with "$PROVIDER" -- sh -c 'echo $$ >"$1/number"; exec sleep 1000' - "$SCRATCH" >said 2>&1 &
WITH=$!
wait_until "$PATIENCE" test -s number
kill -KILL $WITH
wait $WITH
dirs_gone() {
	[ -z "$(ls "$XDG_RUNTIME_DIR")" ]
}
ok "a directory that was made for it goes, too" wait_until "$PATIENCE" dirs_gone
kill "$(cat number)"
if [ "$PROVIDER" != aio ]; then
	ok "and so does its sandbox" wait_until "$PATIENCE" sandbox_gone
fi

case $PROVIDER in
local | e2b) # whose output comes as it is printed
	echo 'echo ready; sleep 1000' >setup
	"$SANDBOXCTL" with "$PROVIDER" --setup setup -- true >said 2>&1 &
	wait_until "$PATIENCE" grep -q ready said
	kill -KILL $!
	wait $!
	ok "nor is one left that was still set up" wait_until "$PATIENCE" sandbox_gone
	;;
esac

done_testing
