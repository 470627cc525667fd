#!/bin/sh
# Commands of a session go on where the last one ended: `.sandbox/sessions/NAME/exec`.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
[ "$PROVIDER" != local ] || needs bwrap
needs python3

mount_sandbox sessions
SESSIONS=$MNT/.sandbox/sessions

# in_session NAME COMMAND: what it printed.
in_session() {
	printf '%s\n' "$2" >"$SESSIONS/$1/exec"
	python3 -c 'import json, sys; print(json.load(sys.stdin)["stdout"], end="")' <"$SESSIONS/$1/exec"
}

listed() {
	ls "$SESSIONS" | xargs
}

is "no session yet" "$(listed)" ""
in_session work 'mkdir -p "a dir" && cd "a dir" && A="one
two"; export B=3; f() { echo "of f: $1"; }' >/dev/null
is "the next command has directory, variables and functions" \
	"$(in_session work 'basename "$PWD"; echo "$A"; env | grep ^B=; f x')" "a dir
one
two
B=3
of f: x"
is "another session has none of it" "$(in_session other 'echo "<$B>"; basename "$PWD"')" "<>
$(echo 'basename "$PWD"' >"$MNT/.sandbox/exec"; python3 -c 'import json, sys; print(json.load(sys.stdin)["stdout"], end="")' <"$MNT/.sandbox/exec")"
is "who reads without a command gets the last of that session" \
	"$(in_session work 'echo of work'; in_session other 'echo of other'; grep -c '"stdout": "of work' "$SESSIONS/work/exec")" "of work
of other
1"
is "they are listed" "$(listed)" "other work"
is "sandboxctl lists the same" "$(ctl session list "$SOURCE" | xargs)" "other work"
is "and goes on in the same" "$(ctl exec --session work "$SOURCE" 'echo "$B"; B=4')" 3
is "and back" "$(in_session work 'echo "$B"')" 4
ctl exec --session beside "$SOURCE" true
is "one that began elsewhere is listed" "$(listed)" "beside other work"
ctl session end "$SOURCE" beside
is "one that ended elsewhere is not" "$(listed)" "other work"
ok "one is ended" rmdir "$SESSIONS/work"
is "who reads without a command finds none" "$(cat "$SESSIONS/work/exec")" ""
is "is listed no more" "$(listed)" other
is "and begins anew" "$(in_session work 'echo "<$B>"; basename "$PWD"')" "<>
$(in_session other 'basename "$PWD"')"
fails "none of that name can be ended" rmdir "$SESSIONS/never"
fails "a name that is none is not there" stat "$SESSIONS/.hidden"
fails "nothing can be made there" mkdir "$SESSIONS/new"
fails "nor can another directory be removed" rmdir "$MNT/.sandbox/jobs"
[ "$(id -u)" -ne 0 ] || [ "$PROVIDER" != local ] || {
	unmount
	mount_sandbox sessions allow_other
	SESSIONS=$MNT/.sandbox/sessions
	fails "nobody else ends one" as_user rmdir "$SESSIONS/work"
	fails "nor runs a command in it" as_user sh -c 'echo true >"$1"' - "$SESSIONS/work/exec"
	is "which is still there" "$(listed)" "other work"
}
rmdir "$SESSIONS/work" "$SESSIONS/other"
unmount
done_testing
