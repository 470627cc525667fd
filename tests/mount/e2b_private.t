#!/bin/sh
# What other users of this machine, and other processes of the same user, may see of a mount and
# of its key.
# shellcheck disable=SC2016
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node
[ "$(id -u)" -eq 0 ] || skip_all "needs root, to be two users"

# as_other COMMAND...: as a user who is neither root nor the mount's owner.
OTHER=65533
as_other() {
	$(tap_become $OTHER) "$@"
}

mount_sandbox demo allow_other
echo 'echo text; sleep 3600' >"$MNT/.sandbox/spawn"
job_runs() {
	grep -q '"state": "running"' "$MNT/.sandbox/jobs/1/status"
}
ok "a job runs" wait_until "$PATIENCE" job_runs
echo text >"$MNT/file"
chmod 644 "$MNT/file"
chmod 755 "$MNT"
is "another user is let in" "$(as_other cat "$MNT/file")" text

for file in id status stats jobs/1/status jobs/1/output ports/8000 events exec; do
	fails "another user does not read $file" as_other sh -c ': <"$1"' - "$MNT/.sandbox/$file"
	ok "nobody but its owner may read $file" \
		sh -c 'stat -c %A "$1" | grep -q "^-[r-][w-]-------$"' - "$MNT/.sandbox/$file"
done
for file in exec spawn sync jobs/1/stdin jobs/1/kill; do
	fails "another user does not write $file" as_other sh -c ': >>"$1"' - "$MNT/.sandbox/$file"
done
for file in id status stats jobs/1/status; do
	ok "its owner reads $file" sh -c '[ -n "$(cat "$1")" ]' - "$MNT/.sandbox/$file"
done

# ---- The daemon --------------------------------------------------------------------------------

# Of an ordinary user, who might look at a process of the same user.
MOUNT_AS=$TEST_UID
mount_sandbox of_a_user
is "the tests have a key" "${E2B_API_KEY:+yes}" yes
guard=$(cat "/proc/$DAEMON"/task/*/children | awk '{print $1}')
# The test's own variable beside it has the key, too.
environment() { # PID
	tr '\0' '\n' <"/proc/$1/environ" | grep -v '^VENDOR_KEY='
}
for process in "$DAEMON" $guard; do
	name=$(cat "/proc/$process/comm")
	environment "$process" >environment
	ok "$name was started with the key's variable" grep -qx E2B_API_KEY= environment
	fails "the key in $name's environment is overwritten" grep -qF "$E2B_API_KEY" environment
	fails "its user does not read the environment of $name" \
		as_owner cat "/proc/$process/environ"
	fails "nor the memory of $name" as_owner sh -c ': <"$1"' - "/proc/$process/mem"
	ok "no core of $name is written" grep -q '^Max core file size  *0 ' "/proc/$process/limits"
done
as_owner sh -c 'echo changed >"$1"' - "$MNT/file"
ok "the key still works" as_owner sync "$MNT/file"

# ---- Where changes are kept --------------------------------------------------------------------

# refuses NAME OPTION WHY: with one line that names the option.
refuses() {
	"$SANDBOXFS" -f "$SOURCE" "$SCRATCH/refused" -o "$2" >said 2>&1 </dev/null
	ok "$1: the mount is refused" [ $? -ne 0 ]
	is "$1: in one line" "$(cat said)" "sandboxfs: option '$2': $3"
}

mkdir "$SCRATCH/refused" "$SCRATCH/theirs" "$SCRATCH/own"
chmod 700 "$SCRATCH/own"
ln -s own "$SCRATCH/link"
chown -h $OTHER "$SCRATCH/theirs" "$SCRATCH/link"
for option in journal cache; do
	refuses "$option= of another user" \
		"$option=$SCRATCH/theirs" "$SCRATCH/theirs belongs to another user"
	refuses "$option= in a directory of another user" \
		"$option=$SCRATCH/theirs/new" "$SCRATCH/theirs belongs to another user"
	refuses "$option= behind the link of another user" \
		"$option=$SCRATCH/link" "$SCRATCH/link is a link of another user"
	refuses "$option= in a directory of everybody" \
		"$option=/tmp" "/tmp can be written to by others: chmod 700 it"
done
is "nothing was made there" "$(ls -A "$SCRATCH/theirs" "$SCRATCH/own")" "$SCRATCH/own:

$SCRATCH/theirs:"
done_testing
