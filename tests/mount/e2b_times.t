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

ok "a barrier" settle
is "then each ctime is the sandbox's" "$(stat -c '%y %z' "$MNT"/made/*)" "$(stat -c '%y %z' "$STORE"/made/*)"

echo more >"$MNT/made/f08"
ok "fsync of one" sync "$MNT/made/f08"
is "likewise" "$(stat -c '%y %z' "$MNT/made/f08")" "$(stat -c '%y %z' "$STORE/made/f08")"

chmod 640 "$MNT/made/f09"
ok "and another mode" wait_until "$PATIENCE" nothing_pending
chmod 604 "$STORE/made/f09"
ok "what others do is seen" wait_until "$PATIENCE" sh -c '[ "$(stat -c %a "$1")" = 604 ]' - "$MNT/made/f09"
is "with its ctime" "$(stat -c %z "$MNT/made/f09")" "$(stat -c %z "$STORE/made/f09")"

unmount
done_testing
