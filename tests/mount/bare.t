#!/bin/sh
# A sandbox of which something is missing: a root that cannot be written, a user without a home, no
# program but BusyBox's. It is mounted all the same; without a shell one line says why it is not.
# shellcheck disable=SC2016,SC2034
TAP_WANTS_APART=1
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

WRITABLE='for d in / ~ /tmp /var/tmp /run /dev/shm; do touch "$d/x" && rm "$d/x" && echo "$d"; done 2>&-'
PROGRAMS_THERE='for f in /bin/* /sbin/* /usr/local/bin/*; do [ ! -e "$f" ] || readlink -f "$f"; done | sort -u'

# The word's promise, so that no switch is without effect.
is_so() {
	case $LAYERS in
	ro) is "only the home can be written" "$(run "$WRITABLE")" /root ;;
	no-home) is "there is no home" "$(run '[ -d ~ ] || echo none')" none ;;
	busybox-only) is "all programs are BusyBox's" "$(run "$PROGRAMS_THERE")" "$(readlink -f /bin)/busybox" ;;
	esac
}

works() {
	ok "a file can be written" sh -c 'mkdir -p "$1/dir" && echo text >"$1/dir/file"' - "$MNT"
	settle
	is "and is there" "$(cat "$STORE/dir/file")" text
	echo more >>"$STORE/dir/file"
	settle
	is "what others write is seen" "$(cat "$MNT/dir/file")" "text
more"
	ok "a file is changed, and a directory renamed" sh -c 'echo new >"$1/dir/file" && mv "$1/dir" "$1/other"' - "$MNT"
	is "a command sees both" "$(run 'cat other/file')" new
}

for LAYERS in ro no-home busybox-only; do
	tap_prefix="$LAYERS: "
	VENDOR_USER=
	mount_sandbox "bare-$LAYERS"
	is_so
	works
	unmount
	vendor_stop
done

tap_prefix="no-shell: "
LAYERS=no-shell
VENDOR_USER=
tap_sandbox bare-no-shell
MNT=$SCRATCH/mnt.bare-no-shell
mkdir "$MNT"
is "one line says why nothing is mounted" "$("$SANDBOXFS" -f "$SOURCE" "$MNT" 2>&1; echo "exit status $?")" \
	"sandboxfs: the sandbox's /bin/sh does not run: no such file or directory
exit status 32"
tap_prefix=
vendor_stop
done_testing
