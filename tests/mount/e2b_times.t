#!/bin/sh
# What stat(2) says of a file that was changed here, before the sandbox has it and after.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
needs_mount
needs node python3

# One line for each file of $MNT/made, by which git and make know it again.
seen() {
	(cd "$MNT/made" && stat -c '%n %i %s %a %y %z' ./*)
}

# From descriptors that are still open, as git notes it.
written() {
	python3 -c '
import os, sys
os.chdir(sys.argv[1])
for n in range(60):
    fd = os.open(f"f{n:02}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    os.write(fd, b"int f;\n")
    s = os.fstat(fd)
    print(f"{n:02}", s.st_ino, s.st_mtime_ns, s.st_ctime_ns)
    os.close(fd)' "$MNT/made"
}

closed() {
	python3 -c '
import os, sys
os.chdir(sys.argv[1])
for n in range(60):
    s = os.stat(f"f{n:02}")
    print(f"{n:02}", s.st_ino, s.st_mtime_ns, s.st_ctime_ns)' "$MNT/made"
}

nothing_pending() {
	grep -q '"pending_changes": *0\b' "$MNT/.sandbox/status"
}

landed() {
	[ -e "$STORE/made/f59" ] && nothing_pending
}

vendor_sandbox times
mkdir -p "$STORE/made"
mount_sandbox times
ls "$MNT/made" >/dev/null

first=$(written)
is "a close moves no time" "$(closed)" "$first"
ok "the sandbox has them" wait_until "$PATIENCE" landed
is "nor does the sandbox when it has them" "$(closed)" "$first"
chmod 600 "$MNT/made/f07"
before=$(seen)
ok "and a mode" wait_until "$PATIENCE" nothing_pending
is "after a change, too" "$(seen)" "$before"

# What ext4 keeps of it depends on the size of its inodes; tmpfs keeps all.
touch -d @99999999999 "$MNT/made/f10"
is "a time beyond the file system's range is shown as it is kept" \
	"$(stat -c %Y "$MNT/made/f10")" "$(stat -c %Y "$STORE/made/f10")"

before=$(seen)
ok "a barrier" settle
is "moves no time, either" "$(seen)" "$before"
is "each mtime is the sandbox's" "$(stat -c %y "$MNT"/made/*)" "$(stat -c %y "$STORE"/made/*)"

echo more >"$MNT/made/f08"
before=$(seen)
ok "fsync of one" sync "$MNT/made/f08"
is "nor does that" "$(seen)" "$before"

# Everything that moves a time, before the sandbox has it; what is made after a stamp is newer.
work() (
	cd "$MNT/work" || return 1
	touch src
	touch -d 2001-02-03 dated
	chmod 600 data
	echo more >>data
	mkdir dir
	: >empty
	mkfifo fifo
	ln -s to link
	ln data hard
	mv moved dir/moved
	mv -T over two
	truncate -s 1 cut
	cp data copied
	for i in 1 2 3; do
		touch "stamp$i"
		echo x >"out$i"
	done
)

times_of_work() {
	(cd "$MNT/work" && stat -c '%n %y %z' . * dir/*)
}

newer() {
	for i in 1 2 3; do
		[ -n "$(find "$MNT/work/out$i" -newer "$MNT/work/stamp$i")" ] || return 1
	done
}

mkdir -p "$STORE/work"
for name in src dated data moved over two cut; do
	echo "$name" >"$STORE/work/$name"
done
ln "$STORE/work/two" "$STORE/work/other"
ok "what is there is seen" wait_until "$PATIENCE" test -e "$MNT/work/other"
ls -l "$MNT/work" >/dev/null
ok "all kinds of changes" work
before=$(times_of_work)
ok "the order of times is that of the calls" newer
ok "the sandbox has the changes" settle
is "no time has moved by itself" "$(times_of_work)" "$before"
ok "nor has the order" newer
is "the sandbox has each mtime as it was shown" "$(stat -c '%n %y' "$MNT"/work/* | sed "s,$MNT,,")" \
	"$(stat -c '%n %y' "$STORE"/work/* | sed "s,$STORE,,")"

chmod 640 "$MNT/made/f09"
ok "and another mode" wait_until "$PATIENCE" nothing_pending
chmod 604 "$STORE/made/f09"
ok "what others do is seen" wait_until "$PATIENCE" sh -c '[ "$(stat -c %a "$1")" = 604 ]' - "$MNT/made/f09"
is "with its ctime" "$(stat -c %z "$MNT/made/f09")" "$(stat -c %z "$STORE/made/f09")"

unmount
done_testing
