#!/bin/sh
# A user whose home takes no directory mounts all the same, and is told where changes can be kept.
# shellcheck disable=SC2016,SC2034,SC2086,SC2317
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
needs_mount
needs_vendor
needs_root

MOUNT_AS=$TEST_UID

# mount_from HOME [OPTIONS]: what is printed goes to $SCRATCH/said.
mount_from() {
	$(tap_become "$MOUNT_AS") env HOME="$1" XDG_CACHE_HOME= XDG_STATE_HOME= \
		timeout "$PATIENCE" "$SANDBOXFS" ${2:+-o "$2"} "$SOURCE" "$MNT" >"$SCRATCH/said" 2>&1
}

says() { # TEXT...
	for text in "$@"; do
		grep -qF -- "$text" "$SCRATCH/said" || return 1
	done
}

gone() {
	! tap_is_mounted "$MNT"
}

tap_sandbox no_home
MNT=$SCRATCH/home/mnt
tap_mounts=$MNT
mkdir "$SCRATCH/locked"
as_owner mkdir "$MNT" "$SCRATCH/home/kept"

for home in /nonexistent "$SCRATCH/locked"; do
	ok "a mount with the home $home" mount_from "$home"
	ok "its message names the directory and what to do" says "$home/.local/state/sandboxfs/" journal= cache= || tap_why "$(cat "$SCRATCH/said")"
	ok "a change" as_owner sh -c 'echo "$2" >"$1/file" && sync "$1/file"' - "$MNT" "$home"
	is "is in the sandbox" "$(cat "$STORE/file")" "$home"
	ok "and in no directory here" as_owner grep -q '"journal": {"dir": null' "$MNT/.sandbox/status"
	as_owner fusermount3 -u "$MNT"
	wait_until "$PATIENCE" gone
done

ok "a mount with a place for its journal" mount_from /nonexistent "journal=$SCRATCH/home/kept,cache=off"
is "says nothing" "$(cat "$SCRATCH/said")" ""
JOURNAL=$SCRATCH/locked/.local/state/sandboxfs/$(ls "$SCRATCH/home/kept")
as_owner fusermount3 -u "$MNT"
wait_until "$PATIENCE" gone

fails "a journal that was asked for and cannot be" mount_from /nonexistent "journal=$SCRATCH/locked/j"
ok "is told, with what to do" says "$SCRATCH/locked/j" journal= cache=

# Where there is a directory already, changes may be pending in it.
mkdir -p "$JOURNAL"
fails "a journal that is another user's" mount_from "$SCRATCH/locked"
ok "is told, too" says "belongs to another user" journal= cache=
done_testing
