#!/bin/sh
# A file that stays open is seen in the sandbox, and what is written to it from then on: a log can be followed there.
# shellcheck disable=SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount

# In the sandbox, whatever has to be asked for on the mount.
has() { # TEXT FILE
	[ "$(cat "$STORE/$2" 2>/dev/null)" = "$1" ]
}

mount_sandbox open
ls "$MNT" >/dev/null
echo yesterday >"$MNT/old"
settle

exec 5>"$MNT/new" 6>"$MNT/old"
echo one >&5
echo today >&6
ok "a new file that stays open is seen in the sandbox" wait_until "$PATIENCE" has one new
ok "and one that was emptied" wait_until "$PATIENCE" has today old
for word in two three; do
	echo $word >&5
	ok "what is added follows: $word" wait_until "$PATIENCE" grep -qx $word "$STORE/new"
done
exec 5>&- 6>&-
settle
is "all of it is there in the end" "$(tr '\n' ' ' <"$STORE/new")" "one two three "
unmount
done_testing
