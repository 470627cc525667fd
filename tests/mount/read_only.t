#!/bin/sh
# A sandbox whose file system is read-only, as of a container that was started with --read-only: it is mounted for reading, and
# changes are refused at once.
# shellcheck disable=SC2016,SC2034,SC2086
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
needs_mount
needs_vendor
needs_root
needs nsenter python3

children() { # PID
	cat /proc/"$1"/task/*/children
}

# The first process inside the sandbox's namespaces is the child of the one that made them.
remount() { # OPTION DIRECTORY...
	option=$1
	shift
	for jail in $(children "$VENDOR_SERVER"); do
		for inside in $(children "$jail"); do
			for directory in "$@"; do
				nsenter -t "$inside" -m mount -o "remount,bind,$option" "$directory"
			done
		done
	done
}

refused() { # COMMAND: with DIR for the mount
	if said=$(sh -c "$(printf '%s' "$1" | sed "s#DIR#$MNT#g")" 2>&1); then
		tap_line 1 "$1 is refused"
	else
		case $said in
		*'Read-only file system'*) tap_line 0 "$1 is refused" ;;
		*) is "$1 is refused" "$said" 'Read-only file system' ;;
		esac
	fi
}

all_is_refused() {
	for change in 'echo x >DIR/new' 'echo x >DIR/file' 'echo x >>DIR/file' 'mkdir DIR/d' 'rm DIR/file' \
		'mv DIR/file DIR/g' 'chmod 600 DIR/file' 'ln -s x DIR/l' 'ln DIR/file DIR/k' 'rmdir DIR/dir' \
		'touch DIR/file' 'truncate -s 0 DIR/file'; do
		refused "$change"
	done
	is "nothing is pending, and nothing was lost" \
		"$(grep -o '"pending_changes": [0-9]*\|"parked_changes": [0-9]*' "$MNT/.sandbox/status" | tr '\n' ' ')" \
		'"pending_changes": 0 "parked_changes": 0 '
}

vendor_sandbox read_only
echo text >"$STORE/file"
mkdir "$STORE/dir"

tap_prefix="home: "
remount ro /root
mount_sandbox read_only
is "a file is read" "$(cat "$MNT/file")" text
is "a directory is listed" "$(find "$MNT" -mindepth 1 -printf "%f\n" | sort | tr '\n' ' ')" "dir file "
all_is_refused
echo 'echo ran' >"$MNT/.sandbox/exec"
ok "a command runs" grep -q '"stdout": "ran\\n"' "$MNT/.sandbox/exec"
unmount

tap_prefix="home and /tmp: "
remount ro /root /tmp
mount_sandbox read_only
is "a file is read" "$(cat "$MNT/file")" text
all_is_refused
remount rw /root
settle
ok "what can be written again is" sh -c 'echo more >>"$1/file"' - "$MNT"
settle
is "and arrives" "$(cat "$STORE/file")" "text
more"
unmount

tap_prefix="all but /run: "
remount ro /root /var/tmp
mount_sandbox read_only
is "a file is read" "$(cat "$MNT/file")" "text
more"
refused 'echo x >DIR/file'
unmount
done_testing
