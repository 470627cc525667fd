#!/bin/sh
# What stat(2) and readlink(2) have shown of files made here is shown after a remount, too, and of
# those alone: not of what somebody else made, changed or moved meanwhile.
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
needs_mount
needs git python3
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t

remount() {
	unmount
	mount_sandbox remembered
}

# Names, numbers and times to the nanosecond, and the texts of links: what git, rsync, tar and
# backups know a file again by.
seen() { # DIRECTORY-IN-MOUNT
	(cd "$MNT/$1" && find . -printf '%p %y %i %T@ %C@ %l\n' | sort)
}

# What is not as it was in $SCRATCH/before.
differs() {
	seen made | diff "$SCRATCH/before" - | head -n 20
}

# No barrier first: what is shown then is of before the sandbox had it.
make_files() {
	mkdir -p "$MNT/made/deep/er" "$MNT/made/moved"
	for n in $(seq 40); do echo "line $n" >"$MNT/made/deep/f$n"; done
	dd if=/dev/urandom of="$MNT/made/large" bs=1M count=3 status=none
	: >"$MNT/made/empty"
	mkfifo "$MNT/made/fifo"
	echo changed >>"$MNT/made/deep/f3"
	chmod 600 "$MNT/made/deep/f4"
	touch -d 2001-02-03 "$MNT/made/deep/f5"
	mv "$MNT/made/deep/f6" "$MNT/made/deep/er/renamed"
	ln "$MNT/made/deep/f7" "$MNT/made/second"
	rm "$MNT/made/deep/f8"
	echo saved >"$MNT/made/deep/.new"
	mv "$MNT/made/deep/.new" "$MNT/made/deep/f9"
	ln "$MNT/made/deep/f10" "$MNT/made/other"
	mv "$MNT/made/deep/f11" "$MNT/made/deep/f10"
}

make_links() {
	ln -s /usr/bin/python3 "$MNT/made/python3"
	ln -s ../../../outside "$MNT/made/deep/climbs"
	ln -s er/../../empty "$MNT/made/deep/winds"
	ln -s "$MNT/made/empty" "$MNT/made/deep/er/absolute"
	ln -s ./f1 "$MNT/made/deep/dot"
	ln -s /etc/hostname "$MNT/made/deep/before"
	mv "$MNT/made/deep/before" "$MNT/made/deep/er/after"
	ln -s /etc/hostname "$MNT/made/moved/in"
	mv "$MNT/made/moved" "$MNT/made/away"
	ln -P "$MNT/made/python3" "$MNT/made/deep/python"
	ln -s "/$(printf '%0900d' 0)" "$MNT/made/long"
}

repository() {
	git init -q "$SCRATCH/origin"
	mkdir "$SCRATCH/origin/bin"
	ln -s /usr/bin/env "$SCRATCH/origin/bin/env"
	for n in $(seq 30); do echo "$n" >"$SCRATCH/origin/$n.c"; done
	git -C "$SCRATCH/origin" add -A
	git -C "$SCRATCH/origin" commit -q -m files
	git clone -q "$SCRATCH/origin" "$MNT/clone"
	git -C "$MNT/clone" status >/dev/null
}

# Of files of one name no two have one number.
numbers_are_apart() {
	[ -z "$(find "$MNT" -type f -links 1 -printf '%i\n' | sort | uniq -d)" ]
}

# Those that somebody else's touch leaves alone.
untouched() {
	seen made | grep -v -e '^\./deep/f2 ' -e '^\./deep/er '
}

mount_sandbox remembered
mkdir -p "$STORE/theirs"
echo theirs >"$STORE/theirs/file"
ln -s /usr/bin/python3 "$STORE/theirs/link"
make_files
make_links
repository
seen made >"$SCRATCH/before"
theirs=$(stat -c '%i' "$STORE/theirs/file")
remount
is "a file is shown as it was" "$(differs)" ""
is "somebody else's has the sandbox's number" "$(stat -c '%i' "$MNT/theirs/file")" "$theirs"
is "and a link a text that stays inside" "$(readlink "$MNT/theirs/link")" ../usr/bin/python3
is "git finds nothing changed" "$(git -C "$MNT/clone" status --porcelain)" ""
for n in $(seq 40); do echo "$n" >"$MNT/made/away/new$n"; done
ok "what is made now has numbers of its own" numbers_are_apart
seen made >"$SCRATCH/before"
remount
is "after one more remount, too" "$(differs)" ""
ok "which are apart as well" numbers_are_apart

before=$(untouched)

touch "$STORE/made/deep/f2" "$STORE/made/deep/er"
remount
is "what others touched has the sandbox's times" \
	"$(stat -c %z "$MNT/made/deep/f2")" "$(stat -c %z "$STORE/made/deep/f2")"
is "the rest is as it was" "$(untouched)" "$before"

# A text that leads out of the mount is shown where it was written, and nowhere else.
unmount
mv "$STORE/made/python3" "$STORE/made/deep/python3"
mv "$STORE/made/away" "$STORE/made/elsewhere"
rm "$STORE/made/deep/climbs"
ln -s ../../../outside "$STORE/made/deep/climbs"
mount_sandbox remembered
is "a link that others moved stays inside" \
	"$(readlink "$MNT/made/deep/python3")" ../../usr/bin/python3
is "so does one below a directory that they moved" \
	"$(readlink "$MNT/made/elsewhere/in")" ../../etc/hostname
is "and one of theirs in the place of one made here" \
	"$(readlink "$MNT/made/deep/climbs")" ../../outside
is "one that they left alone is as it was written" \
	"$(readlink "$MNT/made/deep/er/after")" /etc/hostname

# The records may go, or be spoiled, at any time.
unmount
python3 - "$SCRATCH/cache.$MOUNT_AS/sandboxfs/shown" <<'END'
import random, sys
with open(sys.argv[1], "r+b") as table:
    size = table.seek(0, 2)
    table.seek(0)
    table.write(random.Random(1).randbytes(size))
END
mount_sandbox remembered
is "without a record a link stays inside" \
	"$(readlink "$MNT/made/deep/er/after")" ../../../etc/hostname
is "and a file has the number of the sandbox" \
	"$(stat -c %i "$MNT/made/deep/f1")" "$(stat -c %i "$STORE/made/deep/f1")"
echo again >"$MNT/made/again"
before=$(stat -c '%i %z' "$MNT/made/again")
remount
is "what is made then is remembered" "$(stat -c '%i %z' "$MNT/made/again")" "$before"
unmount
done_testing
