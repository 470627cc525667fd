#!/bin/sh
# While a file is made on the mount somebody in the sandbox makes one of that name: nothing that either wrote is lost.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs python3

# open(2) with these flags, a write, then somebody else's file of that name, and the close.
make_both() { # NAME FLAGS
	python3 -c '
import os, sys
name, flags, theirs = sys.argv[1:]
fd = os.open(name, os.O_WRONLY | os.O_CREAT | eval(flags), 0o644)
os.write(fd, b"ours")
with open(theirs, "w") as f:
	f.write("theirs")
os.close(fd)
' "$MNT/$1" "$2" "$STORE/$1"
}

# What is in each file of that name, here and there.
versions() { # NAME
	for dir in "$MNT" "$STORE"; do
		(cd "$dir" && for file in "$1"*; do printf '%s=%s ' "$file" "$(cat "$file")"; done)
	done
}

mount_sandbox both
expect_log 'somebody in the sandbox wrote it, too'
ls "$MNT" >/dev/null

for row in 'plain 0' 'exclusive os.O_EXCL' 'append os.O_APPEND'; do
	name=${row% *}
	ok "$name: the file is made and closed" make_both "$name" "${row#* }"
	fails "$name: the next barrier says that there is a conflict" settle
	ok "$name: once" settle
	both="$name=theirs $name.sandboxfs-conflict=ours "
	is "$name: both versions are there" "$(versions "$name")" "$both$both"
done
ok "emptying: the file is made and closed" make_both emptying os.O_TRUNC
ok "emptying: there is no conflict" settle
is "emptying: who asked for that wrote last" "$(versions emptying)" "emptying=ours emptying=ours "
ok "the conflicts are told by name" sh -c 'grep -q "ours is plain.sandboxfs-conflict" "$1/.sandbox/status"' - "$MNT"
unmount
done_testing
