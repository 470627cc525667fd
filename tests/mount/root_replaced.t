#!/bin/sh
# The mounted directory is a path: it is removed in the sandbox and made again, or another directory
# takes its place, and the mount goes on with what is there.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount

# The shown directory is `work` of the sandbox's own.
mount_sandbox whole
mkdir "$MNT/work"
settle
unmount
SHOWN=work mount_sandbox whole
HOME_DIR=${STORE%/work}

# replace COMMAND: in the sandbox, behind the mount's back.
replace() {
	(cd "$HOME_DIR" && sh -ec "$1")
}

shows() { # FILE TEXT
	[ "$(cat "$MNT/$1" 2>/dev/null)" = "$2" ]
}

lists() { # NAMES
	[ "$(ls "$MNT" 2>/dev/null | tr '\n' ' ')" = "$1" ]
}

is_missing() {
	case $(ls "$MNT" 2>&1 >/dev/null) in *"No such file or directory"*) return 0 ;; esac
	return 1
}

makes() { # FILE TEXT
	echo "$2" 2>/dev/null >"$MNT/$1"
}

mkdir "$MNT/dir"
echo old >"$MNT/file"
echo old >"$MNT/dir/file"
settle
exec 5<"$MNT/file"
cat "$MNT/file" "$MNT/dir/file" >/dev/null
# Others make it in another place: no mount has begun a directory in which they then write.
replace 'cp -R work other; echo new >other/file; echo new >other/dir/file; echo more >other/more'

replace 'rm -rf work'
ok "without the directory a listing says that there is none" wait_until "$PATIENCE" is_missing
reads_nothing() {
	[ "$(cat "$MNT/file" 2>&1)" = "cat: $MNT/file: No such file or directory" ]
}
ok "so does a name in it" wait_until "$PATIENCE" reads_nothing
is "and one that is made" "$(LC_ALL=C mkdir "$MNT/new" 2>&1)" \
	"mkdir: cannot create directory '$MNT/new': No such file or directory"
ok "the control directory answers meanwhile" grep -q '"state"' "$MNT/.sandbox/status"
exec 5<&-

replace 'mkdir work'
ok "the directory is made again, empty, and is shown" wait_until "$PATIENCE" lists ""
ok "a file is made in it" wait_until "$PATIENCE" makes made here
settle
is "in the sandbox, too" "$(cat "$STORE/made")" here
replace 'echo there >work/theirs'
ok "what others make in it is seen" wait_until "$PATIENCE" shows theirs there
replace 'echo again >work/theirs'
ok "and what they change" wait_until "$PATIENCE" shows theirs again

# What is pending goes where the path leads.
echo pending >"$MNT/pending"
replace 'mv work was; mv other work'
ok "another directory takes its place" wait_until "$PATIENCE" shows more more
ok "a name that both have is that of the new one" wait_until "$PATIENCE" shows file new
ok "also further down" wait_until "$PATIENCE" shows dir/file new
settle
is "what was pending is in one of the two" \
	"$(cat "$HOME_DIR/was/pending" "$STORE/pending" 2>/dev/null)" pending
rm -f "$MNT/pending"
settle
ok "the names are those of the new one" wait_until "$PATIENCE" lists "dir file more "

runs() {
	echo 'pwd; cat file' >"$MNT/.sandbox/exec" && grep -q 'work.nnew' "$MNT/.sandbox/exec"
}
ok "a command runs in it" runs
echo 'cd ..; rm -rf work; mkdir work; echo by >work/command' >"$MNT/.sandbox/exec"
ok "a command replaces it" wait_until "$PATIENCE" lists "command "
ok "and its file is read" wait_until "$PATIENCE" shows command by
replace 'mkdir third; echo third >third/file; rm -rf work; mv third work'
ok "again" wait_until "$PATIENCE" shows file third
echo ours >"$MNT/ours"
settle
is "and written to" "$(cat "$STORE/ours")" ours
unmount
done_testing
