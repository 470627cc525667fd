#!/bin/sh
# Contents kept on the local disk: read again, after a remount, when damaged, within a size, and by another sandbox.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_counters.sh
. "$TOP/tests/support/tap_counters.sh"

needs_mount
needs node python3 git

FRESH=attr_timeout=600,entry_timeout=600
CACHE=$SCRATCH/cache.$MOUNT_AS/sandboxfs

counter() { # NAME
	awk -v name="sandboxfs_$1" '$1 == name { print $2 }' "$MNT/.sandbox/stats"
}

# Bytes of contents that came from the sandbox since the mount.
fetched() {
	sed -n 's/^sandboxfs_received_bytes_total{verb="fetch"} //p' "$MNT/.sandbox/stats"
}

# So that reads come to us: the kernel forgets what it has of the files.
forget_pages() { # FILE...
	for file; do
		dd if="$file" iflag=nocache count=0 of=/dev/null 2>/dev/null
	done
}

blocks() {
	find "$CACHE/blocks" -type f | sort
}

# make_tree DIRECTORY: 8 MiB in one file, 3 MiB in 120 small ones; always the same bytes.
make_tree() {
	python3 - "$1" <<'END'
import os, random, sys
random.seed(7)
for d in range(12):
    os.makedirs(f"{sys.argv[1]}/tree/d{d}")
    for f in range(10):
        with open(f"{sys.argv[1]}/tree/d{d}/f{f}", "wb") as file:
            file.write(random.randbytes(20000 + d * 10 + f))
with open(f"{sys.argv[1]}/big", "wb") as file:
    file.write(random.randbytes(8 << 20))
END
}

# Everything is what it is in the sandbox.
same() {
	diff -r "$STORE/tree" "$MNT/tree" && cmp "$STORE/big" "$MNT/big"
}

vendor_sandbox one
make_tree "$STORE"
mount_sandbox one "$FRESH"
ok "everything is read" same
cold=$(fetched)
is "and came from the sandbox once ($cold bytes)" "$([ "$cold" -ge 10795748 ] && [ "$cold" -le 11200000 ] && echo yes)" yes

reset
forget_pages "$MNT"/tree/*/* "$MNT/big"
ok "it is read again" same
at_most "from the local disk" 0

# ---- Damage --------------------------------------------------------------------------------------

damaged() { # NAME COMMAND...: of one block of the large file
	damage=$1
	shift
	block=$(blocks | xargs ls -S | sed -n 7p)
	"$@" "$block"
	bad=$(counter blocks_bad_total)
	forget_pages "$MNT/big"
	reset
	ok "$damage: the bytes are right" cmp "$STORE/big" "$MNT/big"
	at_most "$damage" 1
	at_least=$((bad + $(case $damage in *away) echo 0 ;; *) echo 1 ;; esac)))
	is "$damage: counted" "$(counter blocks_bad_total)" "$at_least"
	forget_pages "$MNT/big"
	reset
	ok "$damage: and again" cmp "$STORE/big" "$MNT/big"
	at_most "$damage: whole again" 0
}

flip() {
	printf x | dd of="$1" bs=1 seek=70000 conv=notrunc status=none
}

damaged "a block that was flipped" flip
damaged "a block that was cut" truncate -s 5000
damaged "a block that was emptied" truncate -s 0
damaged "a block that went away" rm -f
unmount

# ---- Another mount -------------------------------------------------------------------------------

mount_sandbox one "$FRESH"
ok "everything is read after a remount" same
is "and no contents came from the sandbox" "$(fetched)" 0
ok "a file is written" sh -c 'echo new >"$1/tree/d0/f0"' - "$MNT"
is "and read back" "$(cat "$MNT/tree/d0/f0")" new
unmount

# ---- Written here --------------------------------------------------------------------------------

# As git does it with an object, and as a program that keeps times. What leaves before a file is closed, where the machine
# is busy, is asked for: then the round counts for nothing.
mount_sandbox one "$FRESH"
round=0
made() {
	for n in 1 2 3 4 5 6 7 8; do
		head -c "${n}0000" "$STORE/big" | cmp - "$MNT/made$round/f$n" || return
	done
}
is_local() {
	round=$((round + 1))
	mkdir "$MNT/made$round"
	for n in 1 2 3 4 5 6 7 8; do
		head -c "${n}0000" "$STORE/big" >tmp
		cp tmp "$MNT/made$round/tmp$n"
		chmod 444 "$MNT/made$round/tmp$n"
		ln "$MNT/made$round/tmp$n" "$MNT/made$round/f$n"
		rm "$MNT/made$round/tmp$n"
		touch -d "2020-01-0$n" "$MNT/made$round/f$n"
	done
	sync "$MNT/made$round"/f*
	forget_pages "$MNT/made$round"/f*
	reset
	made && [ "$(requests)" -eq 0 ]
}
wait_until "$PATIENCE" is_local && is_read=here || is_read=there
is "what was written is read without a request" "$is_read" here
unmount
mount_sandbox one "$FRESH"
ok "and after a remount" made
is "without contents from the sandbox" "$(fetched)" 0
rm -r "$MNT"/made*
unmount

printf 'not a table' >"$CACHE/versions"
printf 'nor a sum' >"$CACHE/usage"
: >"$CACHE/names"
mount_sandbox one "$FRESH"
ok "everything is right where all that was noted is lost" same
unmount
mount_sandbox one "$FRESH"
ok "and again" same
is "without contents from the sandbox" "$(fetched)" 0
unmount

# ---- Another sandbox -----------------------------------------------------------------------------

vendor_sandbox two
make_tree "$STORE"
mount_sandbox two "$FRESH"
ok "an equal tree of another sandbox is read" same
is "and few of its contents travelled ($(fetched) bytes)" "$([ "$(fetched)" -le 300000 ] && echo yes)" yes
unmount

# ---- Options -------------------------------------------------------------------------------------

ok "only its user may look at it" test "$(stat -c %a "$CACHE")" = 700
before=$(blocks | wc -l)
rm -rf "$CACHE"
mount_sandbox two "$FRESH,cache=off"
ok "with cache=off everything is read" same
fails "and nothing is kept on the disk" test -e "$CACHE"
reset
forget_pages "$MNT"/tree/*/* "$MNT/big"
ok "it is read again" same
at_most "from memory" 0
unmount

has_evicted() {
	[ "$(counter blocks_evicted_total)" -gt 0 ]
}

mount_sandbox two "$FRESH,cache_size=2M"
ok "with a small cache everything is read" same
ok "by giving up blocks" wait_until "$PATIENCE" has_evicted
unmount
used=$(blocks | xargs stat -c %b | awk '{ n += $1 } END { print n * 512 }')
is "within its size ($used bytes)" "$([ "$used" -gt 500000 ] && [ "$used" -le 2097152 ] && echo yes)" yes

mount_sandbox two "$FRESH,cache=$SCRATCH/elsewhere/deep"
ok "with a directory of one's own everything is read" same
ok "and kept there" test -d "$SCRATCH/elsewhere/deep/blocks"
unmount

: >"$SCRATCH/file"
expect_log '.*contents are kept in memory only: .*/file: Not a directory'
mount_sandbox two "$FRESH,cache=$SCRATCH/file"
ok "without a directory everything is read" same
unmount

is "there were blocks" "$([ "$before" -gt 100 ] && echo yes)" yes
done_testing
