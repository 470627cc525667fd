#!/bin/sh
# A mount by the root of a user namespace that has one user alone, as a container without root has it: the sandbox's user has
# no number there.
# shellcheck disable=SC2016
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node unshare
as_user unshare -Urm true 2>/dev/null || skip_all "no user namespaces here"

MOUNT_AS=$TEST_UID
tap_sandbox demo "$SCRATCH/home"
mkdir -m 777 dir state
cat >inside <<'END'
"$1" "$2" "$3" -o "$4" || exit
echo text >"$3/file"
cat "$3/file"
stat -c %u "$3/file"
chmod 600 "$3/file" && mkdir "$3/new" && mv "$3/file" "$3/new" && echo changed
umount -i "$3"
END

inside() { # OPTIONS
	as_user env XDG_STATE_HOME="$SCRATCH/state" XDG_CACHE_HOME="$SCRATCH/state" unshare -Urm \
		sh inside "$SANDBOXFS" "$SOURCE" "$SCRATCH/dir" "$1" 2>&1
}

is "files are its own and can be written" "$(inside timeout=60)" "text
0
changed"
ok "the sandbox has them" wait_until "$PATIENCE" grep -qx text "$STORE/new/file"
fails "shown as the sandbox has them they are nobody's" sh -c 'echo "$1" | grep -qx changed' - "$(inside timeout=60,idmap=none)"
done_testing
