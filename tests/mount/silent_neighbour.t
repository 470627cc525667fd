#!/bin/sh
# A mount that takes every request and answers none, of this user and of another: no command hangs on it, nor does what
# reads a command's output.
# shellcheck disable=SC2317
# In a mount namespace of its own: other tests ask every mount of root's.
[ "$(id -u)" -ne 0 ] || [ "$IS_APART" ] || IS_APART=yes exec "${0%/*}/../support/apart" "$0" "$@"
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs python3
needs_root
UMOUNT=${SANDBOXFS%/*}/umount.fuse.sandboxfs

# silent DIR UID
silent() {
	mkdir -p "$1"
	"$TOP/tests/mount/silent_mount.py" "$1" "$2" &
	tap_daemons="$tap_daemons $!"
	tap_mounts="$tap_mounts $1"
	wait_until "$PATIENCE" tap_is_mounted "$1"
}

# ends COMMAND...: with all that it started and that holds its output.
ends() {
	ok "$* ends" timeout "$PATIENCE" sh -c '"$@" 2>&1 </dev/null | cat >out' - "$@"
}

mount_sandbox here
silent "$SCRATCH/mine" 0
silent "$SCRATCH/others" "$TEST_UID"
ends "$SANDBOXCTL" status
like "and says that it is silent" "$(grep "$SCRATCH/mine" out)" "silent"
like "as of the other's" "$(grep "$SCRATCH/others" out)" "silent"
like "what answers is shown as ever" "$(grep "$MNT" out)" "mounted"
ends "$SANDBOXCTL" status --json
ends "$SANDBOXCTL" sync
ends "$SANDBOXCTL" sync --timeout 2 "$SCRATCH/mine"
ends "$SANDBOXCTL" sync --timeout 2 "$SCRATCH/mine/x"
ends "$SANDBOXCTL" doctor
ends "$SANDBOXCTL" --complete sandboxctl sync ""
ends "$SANDBOXCTL" --complete umount.fuse.sandboxfs "$SCRATCH/"
ends "$SANDBOXFS" local:over "$SCRATCH/mine"
like "a mount is not made over it" "$(cat out)" "a dead mount is still on it"
ends "$SANDBOXFS" local:over "$SCRATCH/mine/x"
like "nor in it" "$(cat out)" "$SCRATCH/mine/x: cannot be mounted on: timed out"
ends "$SANDBOXCTL" with local: "$SCRATCH/mine" -- true
ends "$UMOUNT" "$SCRATCH/mine/x"
ends "$UMOUNT" -o timeout=2 "$SCRATCH/mine"
ends "$UMOUNT" -l "$SCRATCH/mine"
done_testing
