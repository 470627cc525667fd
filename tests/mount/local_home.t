#!/bin/sh
# A command of an embedded sandbox that goes for the directories in which the sandbox lives: the
# sandbox stays usable.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs_local
needs bwrap python3

# run COMMAND: in the sandbox; what it printed and its exit code are in `response`.
run() {
	as_owner sh -c 'echo "$1" >"$2"; cat "$2"' - "$1" "$MNT/.sandbox/exec" >response
}

# The mount answers, a file is written, a command reads it.
works() { # NAME
	ok "$1: a file is written" as_owner sh -c 'echo "$2" >"$1/made"' - "$MNT" "$1"
	run 'cat made; echo code $?'
	ok "$1: a command reads it" grep -q "\"stdout\": \"$1..*code 0" response
	ok "$1: the sandbox has it" [ -s "$STORE/made" ]
}

remount() {
	tap_umount "$MNT"
	wait "$DAEMON"
	mount_sandbox "home.$MOUNT_AS"
}

attack() {
	mount_sandbox "home.$MOUNT_AS"
	works "at first"
	number=0
	while read -r command; do
		number=$((number + 1))
		diag "attack $number: $command"
		run "$command"
		works "after attack $number"
		remount
		works "mounted after attack $number"
		as_owner cat "$MNT/.sandbox/status" >status
		ok "nothing was broken by attack $number" grep -q '"note": null' status
	done <<-'END'
		mv /home/user /home/other; ln -s / /home/user
		cd /; rm -rf /home/user; ln -s /etc /home/user
		rm -rf /home/.staging; ln -s / /home/.staging
		mv /home/.staging /home/other; mkdir /home/user/x; ln -s /home/user/x /home/.staging
		python3 -c 'import os; os.rename("/home", "/gone")'
		unshare -Urm umount -l /home/user
		unshare -Urm sh -c 'umount -l /home; mount --bind /home /tmp && rmdir /tmp/user'
	END
	# Its owner may take rights away from what is the owner's.
	expect_log "local:home.*: the mode of the sandbox"
	run 'chmod 0 /home/.staging /tmp /home; chmod 0 /home/user'
	remount
	works "mounted after chmod"
	as_owner cat "$MNT/.sandbox/status" >status
	ok "status tells what is repaired" grep -q '"note": "the mode of the sandbox.s directory ' status
	tap_umount "$MNT"
	wait "$DAEMON"
}

for_each_user attack
done_testing
