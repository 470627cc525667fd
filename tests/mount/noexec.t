#!/bin/sh
# A sandbox in whose home, and in whose /tmp, no file may be executed: the helper runs from elsewhere. Also
# where the shell is BusyBox's, whose `[ -x` does not tell.
# shellcheck disable=SC2016,SC2034
TAP_WANTS_APART=1
LAYERS=noexec
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
needs_mount
needs_vendor
needs_root
needs node python3 busybox
export LAYERS

run() { # COMMAND
	deadline "$PATIENCE" python3 -c '
import json, sys
with open(sys.argv[1] + "/.sandbox/exec", "r+", buffering=1) as file:
    file.write(sys.argv[2] + "\n")
    print(json.loads(file.read())["stdout"], end="")' "$MNT" "$1"
}

goes_elsewhere() {
	mount_sandbox noexec
	is "no file may be executed in its home" "$(run "cp /bin/true program && ./program || echo forbidden")" forbidden
	is "nor in its /tmp" "$(run "cp /bin/true /tmp/program && /tmp/program || echo forbidden")" forbidden
	ok "a file can be written" sh -c 'echo text >"$1/file"' sh "$MNT"
	settle
	is "and is there" "$(cat "$STORE/file")" text
	echo more >>"$STORE/file"
	settle
	is "what others write is seen" "$(cat "$MNT/file")" "text
more"
	is "the helper is where it may run" "$(run 'echo /dev/shm/.sandboxfs-*/sandboxfs-helper-*' | wc -w)" 1
	is "and nowhere else" "$(run 'find "$HOME" /tmp -name "sandboxfs-helper-*"')" ""

	# What is under way then misses the helper, whose place has gone.
	expect_log "is another directory by now, or its staging"
	# A file is where its directory would be, in each place where files may be executed.
	is "there is no other place" "$(run 'cd /dev/shm && rm -r .sandboxfs-* && touch .sandboxfs-$(id -u) /var/tmp/.sandboxfs-$(id -u) /run/.sandboxfs-$(id -u); echo no')" no
	unmount
	mount_sandbox noexec
	is "the helper runs from memory" "$(run 'find "$HOME/.sandboxfs" -name "sandboxfs-helper-*" | wc -l')" 1
	ok "a file can be written" sh -c 'echo text >"$1/second"' sh "$MNT"
	settle
	is "and is there" "$(cat "$STORE/second")" text
	echo more >>"$STORE/second"
	settle
	is "what others write is seen" "$(cat "$MNT/second")" "text
more"
	unmount
	vendor_stop
	VENDOR_USER=
}

goes_elsewhere
# For this script, too, and for what its sandboxes run.
mount --bind "$(command -v busybox)" "$(readlink -f /bin/sh)"
tap_prefix="BusyBox: "
is "the shell is BusyBox's" "$(/bin/sh --help 2>&1 | grep -c ^BusyBox)" 1
goes_elsewhere
tap_prefix=
done_testing
