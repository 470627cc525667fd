#!/bin/sh
# What looks at the sandbox's files here leaves their times of access where they are, unless it reads
# them; a reader's O_NOATIME holds there, too.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount

mount_sandbox access_time
OLD=1000000000
# A file of the mount's maker, who may ask for O_NOATIME, that others filled in the sandbox.
make_old() { # FILE BYTES
	: >"$MNT/$1"
	settle
	head -c "$2" /dev/urandom >"$STORE/$1"
	touch -a -d @$OLD "$STORE/$1"
	wait_until "$PATIENCE" has_size "$1" "$2"
}
has_size() { # FILE BYTES
	[ "$(stat -c %s "$MNT/$1")" = "$2" ]
}
accessed() { # FILE
	stat -c %X "$STORE/$1"
}
is_moved() { # FILE
	[ "$(accessed "$1")" != $OLD ]
}

make_old plain 100
cat "$STORE/plain" >/dev/null
is_moved plain || skip_all "the file system here leaves times of access where they are"

for size in 100 5000000; do
	make_old "f$size" $size
	ok "$size bytes are read with O_NOATIME" \
		dd if="$MNT/f$size" of=/dev/null bs=64k iflag=noatime status=none
	is "that is no access in the sandbox" "$(accessed "f$size")" $OLD
	make_old "g$size" $size
	ok "$size bytes are read without" dd if="$MNT/g$size" of=/dev/null bs=64k status=none
	ok "that is one" wait_until "$PATIENCE" is_moved "g$size"
done

mkdir "$MNT/dir"
: >"$MNT/dir/file"
settle
touch -a -d @$OLD "$STORE/dir"
echo sync >"$MNT/.sandbox/sync"
is "a directory is listed" "$(ls "$MNT/dir")" file
is "that is no access in the sandbox either" "$(accessed dir)" $OLD

# What lists a symbolic link reads it: there is no other way to its text.
ln -s dir "$MNT/link"
touch -h -a -d @$OLD "$MNT/link"
for round in 1 2 3; do
	settle
	is "a link has the time of access that it was given, $round" "$(stat -c %X "$MNT/link")" $OLD
done
touch -h -a -d @$((OLD + 1)) "$STORE/link"
settle
is "and one that it is given in the sandbox" "$(stat -c %X "$MNT/link")" $((OLD + 1))
unmount
done_testing
