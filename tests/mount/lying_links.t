#!/bin/sh
# A hostile sandbox whose helper lies about symbolic links: a link deep down is nearer to the root,
# too, by a name that no listing has; the text is reported when that name is gone; a directory has
# two names; a program that follows a link is held up until its user has moved the directory up. No
# file of the user's machine is read.
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
needs_mount
needs_vendor
needs python3 node

DEEP=d0/d1/d2/d3/d4/d5/d6/d7/d8/d9/d10/d11
CLIMB=../../../../../../../../../../../..
SECRET=$SCRATCH/secret
WIRE=$(sed -n 's/^#define WIRE_VERSION *//p' "$TOP/providers/helper/wire.h")

# The real helper is there after a mount.
install_liar() {
	mount_sandbox lies
	unmount
	LIAR=$(find "$VENDOR_DIR/sandboxes/$SANDBOX" -name 'sandboxfs-helper-*')
	LIES=${LIAR%/*}
	python3 "$TOP/tests/mount/lying_links.py" "$LIAR" "$WIRE" "$SECRET"
	say 0
}

# The number of the phase, and an event by which the mount asks again for what is beside PATH.
say() { # PHASE [PATH]
	echo "$1" >"$LIES/phase.new"
	mv "$LIES/phase.new" "$LIES/phase"
	[ -z "${2:-}" ] || python3 - "$LIES" "$2" <<'END'
import fcntl, os, sys
lies, path = sys.argv[1], os.fsencode(sys.argv[2])
with open(lies + "/count.events", "a+") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    file.seek(0)
    name = lies + "/event.%d" % len(file.read())
    file.write("1")
with open(name + ".new", "wb") as file:
    file.write(b"\x02\0" + len(path).to_bytes(4, "little") + path + b"\0\0")
os.rename(name + ".new", name)
END
}

climbs() { # PATH: more than once, or from the root of this machine
	deadline "$PATIENCE" readlink "$1" | grep -qE '^(/|\.\./\.\.)'
}

is_secret() { # PATH
	deadline "$PATIENCE" cat "$1" 2>/dev/null | cmp -s - "$SECRET"
}

# A link that is less than two directories deep.
is_out_of_reach() { # NAME PATH
	fails "$1: what is shown stays inside" climbs "$2"
	fails "$1: the secret is out of reach" is_secret "$2"
}

seen_in() { # NAME DIRECTORY-IN-MOUNT
	wait_until "$PATIENCE" sh -c 'ls "$1" | grep -qx "$2"' - "$MNT/$2" "$1" ||
		tap_line 1 "$1 is seen at last in $2"
}

unseen_in() { # NAME DIRECTORY-IN-MOUNT
	wait_until "$PATIENCE" sh -c '! ls "$1" | grep -qx "$2"' - "$MNT/$2" "$1" ||
		tap_line 1 "$1 is gone at last from $2"
}

name_that_no_listing_has() {
	is "a link is shown where it stands" "$(readlink "$MNT/$DEEP/link")" "$CLIMB/${SECRET#/}"
	ok "it has a name in the root, too" readlink "$MNT/trap"
	is_out_of_reach "a name in the root" "$MNT/trap"
	is "where it stands it is as it was" "$(readlink "$MNT/$DEEP/link")" "$CLIMB/${SECRET#/}"
}

directory_of_two_names() {
	is "a link is shown in its directory" \
		"$(readlink "$MNT/$DEEP/way/link")" "../$CLIMB/${SECRET#/}"
	ls "$MNT/way" >/dev/null 2>&1
	is_out_of_reach "by the other name" "$MNT/way/link"
}

name_that_is_gone_when_asked() {
	seen_in first x
	say 1 "$DEEP/other"
	seen_in other "$DEEP"
	say 2 x/last
	seen_in last x
	say 3 x/first
	unseen_in first x
	is "it has two names" "$(stat -c %h "$MNT/x/last")" 2
	say 4 x/none
	is_out_of_reach "a name that is left" "$MNT/x/last"
}

# rename(2) alone: mv asks for attributes first, and would be held up as well.
rename() { # PATH-IN-MOUNT PATH-IN-MOUNT
	deadline 20 python3 -c 'import os, sys; os.rename(*sys.argv[1:])' "$MNT/$1" "$MNT/$2"
}

directory_that_is_moved_up_meanwhile() {
	ls "$MNT/s0/s1/s2/rise" >/dev/null
	say 5
	deadline "$PATIENCE" cat "$MNT/s0/s1/s2/rise/link" >"$SCRATCH/read" 2>/dev/null &
	reader=$!
	if wait_until 20 test -e "$LIES/count.held" && rename s0/s1/s2/rise rise 2>/dev/null; then
		tap_line 0 "a user moves the directory"
	else
		skip "a user moves the directory" "another question than the reader's is held up"
	fi
	rm -f "$LIES/hold"
	wait $reader
	fails "moved up meanwhile: the secret is out of reach" cmp -s "$SCRATCH/read" "$SECRET"
	is_out_of_reach "where it was moved to" "$MNT/rise/link"
}

echo "not for the sandbox's eyes" >"$SECRET"
expect_log '.' # it is a liar that answers
install_liar
mount_sandbox lies
name_that_no_listing_has
directory_of_two_names
name_that_is_gone_when_asked
directory_that_is_moved_up_meanwhile
unmount
done_testing
