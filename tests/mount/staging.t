#!/bin/sh
# What was removed while it was open leaves nothing in the sandbox: not at its last close, not when the mount ends before
# that, and on this machine after a mount that was killed not once somebody mounts again.
. "${0%/*}/../support/tap.sh"

[ "$TARGET" = mount ] || skip_all "a plain directory has no staging"
needs_mount
needs find git

staged() {
	find "$STAGING" -name 'u-*' | wc -l
}

# Nobody waits for a close to be known.
nothing_staged() {
	[ "$(staged)" -eq 0 ]
}

# Leaves a file open on descriptor 5 that has no name.
open_removed() {
	echo text >"$MNT/file"
	exec 5<"$MNT/file"
	rm "$MNT/file"
	settle
}

mount_sandbox staging
open_removed
is "a removed open file is kept" "$(cat <&5):$(staged)" text:1
exec 5<&-
ok "until its last close" wait_until "$PATIENCE" nothing_staged

open_removed
kill -TERM "$DAEMON"
wait_until "$PATIENCE" ended "$DAEMON"
exec 5<&-
is "nothing is left by a mount that ends before it" "$(staged)" 0

mount_sandbox staging
open_removed
first=$MNT
mkdir other
"$SANDBOXFS" -o "$(tap_options "")" "$SOURCE" other
is "another mount leaves it alone" "$(cat <&5):$(staged)" text:1
umount other
kill -KILL "$DAEMON"
wait_until "$PATIENCE" ended "$DAEMON"
exec 5<&-
tap_drop_mount "$first"
is "a mount that is killed leaves it" "$(staged)" 1
mount_sandbox staging
if [ "$PROVIDER" = local ]; then
	is "the next one removes it" "$(staged)" 0
else
	is "the next one leaves it: the other may live on, on another machine" "$(staged)" 1
	git -C "$STORE" init -q
	ok "git in the sandbox adds a work tree in which staging lies" git -C "$STORE" add .
	is "but nothing of staging" "$(git -C "$STORE" ls-files | grep -c sandboxfs)" 0
fi
unmount
done_testing
