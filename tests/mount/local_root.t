#!/bin/sh
# All of an embedded sandbox: what a command sees is at the same path below the mount, the system
# cannot be changed, and what is outside of the sandbox stays hidden.
# shellcheck disable=SC2016,SC2034,SC2154,SC2317
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs_local
needs bwrap python3

# run COMMAND: in the sandbox; prints its output.
run() {
	as_owner sh -c 'echo "$1" >"$2"; cat "$2"' - "$1" "$MNT/.sandbox/exec" | field_of output
}

# refused WHAT COMMAND: with "$1" for the mount.
refused() {
	said=$(as_owner timeout "$PATIENCE" sh -c "$2" - "$MNT" 2>&1)
	case $?:$said in
	[!0]*:*"$1"*) tap_line 0 "$2 is refused" ;;
	*) is "$2 is refused" "$said" "$1" ;;
	esac
}

changes() {
	run 'echo theirs >/tmp/theirs' >/dev/null
	is "a command's file is seen" "$(as_owner cat "$MNT/tmp/theirs")" theirs
	as_owner sh -c 'echo ours >"$1/tmp/ours"; echo more >>"$1/tmp/ours"; mkdir "$1/home/made"' - "$MNT"
	is "a command sees ours" "$(run 'cat /tmp/ours; ls /home')" "ours
more
made
user"
	is "its home is there, too" \
		"$(run 'echo x >~/file; pwd')$(as_owner cat "$MNT/home/user/file")" /x
	ok "a file moves between them" as_owner mv "$MNT/tmp/ours" "$MNT/home/user/ours"
	is "and has arrived" "$(run 'cat ~/ours' | head -n 1)" ours
	is "numbers are those that commands see" \
		"$(as_owner stat -c %i "$MNT" "$MNT/tmp" "$MNT/home/user")" \
		"$(run 'stat -c %i / /tmp /home/user')"
}

# Staging is on another mount than each of them.
removed_while_open() { # DIRECTORY
	is "a file of $1 that is removed or replaced stays open" "$(as_owner python3 -c '
import os, sys, tempfile
name = sys.argv[1] + "/open"
open(name, "w").write("first ")
with open(name, "r+") as file:
    os.fchmod(file.fileno(), 0o200)
    os.unlink(name)
    file.seek(0, 2)
    file.write("and more")
    file.flush()
    file.seek(0)
    print(file.read())
open(name, "w").write("old")
open(name + ".new", "w").write("new")
with open(name) as file:
    os.rename(name + ".new", name)
    print(file.read(), open(name).read())
with tempfile.TemporaryFile(dir=sys.argv[1]) as file:
    file.write(b"x" * 300000)
    file.seek(0)
    print(len(file.read()))
os.unlink(name)
' "$MNT$1" 2>&1)" "first and more
old new
300000"
	is "and nothing of it is left" \
		"$(as_owner ls -A "$MNT$1" | grep -c open)$(find "$STAGING" -name 'u-*' | wc -l)" 00
}

the_system_stays() {
	for place in usr usr/bin etc run dev var .; do
		refused 'Read-only file system' 'mkdir "$1/'$place'/new"'
	done
	for change in 'mv "$1/tmp" "$1/tmp2"' 'rm "$1/bin"' 'mv "$1/tmp/theirs" "$1/theirs"' \
		'touch "$1/usr/bin"'; do
		refused 'Read-only file system' "$change"
	done
	refused '' 'mkdir "$1/proc/new"'
	refused '' 'echo x >>"$1/etc/os-release"'
	refused '' 'echo x >>"$1/usr/bin/env"'
	ok "/etc is read" as_owner cmp "$MNT/etc/passwd" /etc/passwd
	is "/proc is that of the jail" \
		"$(as_owner cat "$MNT/proc/sys/kernel/hostname")" "root.$MOUNT_AS"
	ok "what has no size is read whole" \
		[ "$(as_owner cat "$MNT/proc/self/status" | wc -l)" -gt 20 ]
}

hidden() {
	ok "no secret of /etc is there" [ ! -e "$MNT/etc/shadow" ]
	is "nothing of this machine is there" "$(as_owner ls "$MNT" | grep -vxE \
		'bin|dev|etc|home|lib|lib32|lib64|libx32|proc|run|sbin|tmp|usr|var')" ""
	is "no process of this machine is" \
		"$(as_owner grep -l sandboxfs "$MNT"/proc/[0-9]*/comm 2>/dev/null)" ""
	is "staging is not shown" "$(as_owner ls -A "$MNT/home" | tr '\n' ' ')" "made user "
	as_owner timeout "$PATIENCE" find "$MNT/dev" "$MNT/proc" "$MNT/etc" "$MNT/var" >walked 2>/dev/null
	ok "all of it can be walked" [ $? -ne 124 ]
	ok "the devices are there" grep -qx "$MNT/dev/null" walked
}

of_sandboxctl() {
	as_owner sh -c 'echo pushed >pushed'
	ctl() {
		as_owner env XDG_DATA_HOME="$tap_data" "$SANDBOXCTL" "$@"
	}
	ok "a file is pushed" ctl push pushed "local:root.$MOUNT_AS:/tmp/pushed"
	is "and is there" \
		"$(ctl exec "local:root.$MOUNT_AS" --workdir /tmp -- cat pushed)" pushed
	ok "and pulled" ctl pull "local:root.$MOUNT_AS:/tmp/pushed" pulled
	is "as it was" "$(cat pulled)" pushed
	is "a command runs where it is told to" \
		"$(ctl exec "local:root.$MOUNT_AS:/var/tmp" -- 'pwd; ls pushed')" "/var/tmp
pushed"
	is "what is no directory is named" "$(ctl exec "local:root.$MOUNT_AS:/srv" -- pwd 2>&1)" \
		"sandboxctl: local: /srv: no such file or directory"
	rm -f pushed pulled
}

# A sandbox of before has no root; the mount of its home shows what it always did.
whole() {
	SHOWN=/
	mount_sandbox "root.$MOUNT_AS"
	changes
	removed_while_open /tmp
	removed_while_open /home/user
	the_system_stays
	hidden
	unmount
	of_sandboxctl
	SHOWN=
	mount_sandbox "root.$MOUNT_AS"
	is "the home shows what is in it" "$(as_owner ls "$MNT" | tr '\n' ' ')" "file ours "
	unmount
}

for_each_user whole
done_testing
