#!/bin/sh
# Files whose contents are made when they are read, in /proc and /sys of a sandbox whose root is mounted: their size is 0, or a
# page, whatever they hold.
# shellcheck disable=SC2016,SC2034,SC2317
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs_vendor

# The whole machine.
tap_sandbox() {
	vendor_sandbox "$1"
	SOURCE=$PROVIDER:$SANDBOX:/
	STORE=
	STAGING=
}

# What a command in the sandbox prints.
there() { # COMMAND
	echo "$1" >"$MNT/.sandbox/exec"
	python3 -c 'import json, sys; sys.stdout.write(json.load(open(sys.argv[1]))["output"])' \
		"$MNT/.sandbox/exec"
}

uptime_is_another() {
	[ "$(cat "$MNT/proc/uptime")" != "$first" ]
}

# A module that is loaded between both looks makes it longer.
is_as_long() {
	[ "$(wc -c <"$MNT/proc/kallsyms")" = "$(there 'wc -c </proc/kallsyms')" ]
}

needs python3
mount_sandbox made_contents

is "a file of /proc is read to its end" "$(cat "$MNT/proc/version")" "$(there 'cat /proc/version')"
is "its size stays what stat says of it there" "$(stat -c %s "$MNT/proc/version")" 0
ok "a long one, too" wait_until "$PATIENCE" is_as_long
is "a file of /sys has fewer bytes than stat says" \
	"$(cat "$MNT/sys/class/net/lo/mtu")" "$(there 'cat /sys/class/net/lo/mtu')"
is "grep -r finds what is in them" "$(grep -rh . "$MNT/proc/sys/kernel/ostype")" Linux
cp "$MNT/proc/version" "$SCRATCH/copied"
ok "cp copies one" cmp "$SCRATCH/copied" "$MNT/proc/version"
first=$(cat "$MNT/proc/uptime")
ok "what was read once is made again" wait_until "$PATIENCE" uptime_is_another

# A process may always be made likelier to be killed.
echo 7 >"$MNT/proc/1/oom_score_adj"
is "what is written arrives at once" "$(there 'cat /proc/1/oom_score_adj')" 7
is "and is read" "$(cat "$MNT/proc/1/oom_score_adj")" 7

# A directory of another file system, which has sizes.
there 'mkdir /var/tmp/plain && : >/var/tmp/plain/empty'
is "an empty file is empty" "$(cat "$MNT/var/tmp/plain/empty")" ""
echo text >"$MNT/var/tmp/plain/empty"
is "until it is written" "$(cat "$MNT/var/tmp/plain/empty")" text
unmount
done_testing
