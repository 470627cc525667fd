#!/bin/sh
# Without a link to the sandbox what is known can be read and changed; the rest fails in time. When the link is back everything
# arrives, and what happened in the sandbox meanwhile is seen.
# shellcheck disable=SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
FAULT_KINDS=process
# shellcheck source=tests/support/tap_faults.sh
. "$TOP/tests/support/tap_faults.sh"
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"

needs_mount
needs python3

streams_lost() { sed -n 's/^sandboxfs_streams_lost_total //p' "$MNT/.sandbox/stats"; }
has_lost_another() { [ "$(streams_lost)" -gt "$lost" ]; }
parked() {
	python3 -c 'import json, sys
print(*sorted({parked["path"] for parked in json.load(open(sys.argv[1]))["journal"]["parked"]}))' "$MNT/.sandbox/status"
}
has_text() { [ "$(cat "$1" 2>/dev/null)" = "$2" ]; }

has_stream() { ls -l "$MNT/late" >/dev/null && is_live; }
is_live() { grep -qx 'sandboxfs_stream_live 1' "$MNT/.sandbox/stats"; }
has_failed() { grep -q '"path": "late/' "$MNT/.sandbox/status"; }

# in_time SECONDS COMMAND...: what it prints, and how it ends.
in_time() {
	in_time_s=$1
	shift
	LC_ALL=C timeout "$in_time_s" "$@" 2>&1
	echo "$?"
}

# A part of it is other, and it is longer.
change_in='printf changed | dd of="$1" bs=1 seek=150000 conv=notrunc status=none && echo more >>"$1"'
# Whether it is the same through a mapping: FILE OTHER.
map_it='import mmap, sys
with open(sys.argv[1], "rb") as f, open(sys.argv[2], "rb") as other:
    assert mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:] == other.read()'

vendor_sandbox demo
WANTED=$STORE/../wanted
mkdir "$STORE/dir"
echo 'before' >"$STORE/dir/known"
mkdir "$STORE/theirs"
for name in changed removed moved saved; do
	echo before >"$STORE/theirs/$name"
done
head -c 2M /dev/urandom >"$STORE/unread"
head -c 1M /dev/urandom >"$STORE/part"
cp "$STORE/part" "$WANTED"
start_relay to_control "$E2B_API_URL"
start_relay to_data "$E2B_SANDBOX_URL"
E2B_API_URL=$(relay_url to_control)
E2B_SANDBOX_URL=$(relay_url to_data)
mount_sandbox demo timeout=5
expect_log '.*'
is "a file is read" "$(cat "$MNT/dir/known")" before
is "a larger one is read" "$(cmp "$MNT/part" "$WANTED" 2>&1)" ""
listed=$(ls -lR "$MNT")

lost=$(streams_lost)
link_refuse
ok "the link is gone" wait_until "$PATIENCE" has_lost_another
is "what was read is read again" "$(in_time 20 cat "$MNT/dir/known")" "before
0"
is "the tree is listed" "$(in_time 20 ls -lR "$MNT")" "$listed
0"
names='import os, sys
print(os.listxattr(sys.argv[1]), os.listxattr(sys.argv[2]))'
is "and what has no extended attributes" \
	"$(in_time 20 python3 -c "$names" "$MNT/dir" "$MNT/dir/known")" "[] []
0"
is "a name that is not there is not there" "$(in_time 20 ls "$MNT/dir/none")" \
	"ls: cannot access '$MNT/dir/none': No such file or directory
2"
is "what is not here fails" "$(in_time 20 cat "$MNT/unread")" "cat: $MNT/unread: No route to host
1"
is "a file is made" "$(in_time 20 sh -c 'echo new >"$1/dir/new" && mkdir "$1/dir/sub"' - "$MNT")" 0
is "and read" "$(in_time 20 cat "$MNT/dir/new")" "new
0"
is "one that was there gets other contents" "$(in_time 20 sh -c 'echo after >"$1/dir/known"' - "$MNT")" 0
is "and is read" "$(in_time 20 cat "$MNT/dir/known")" "after
0"
sh -c "$change_in" - "$WANTED"
is "of one that was read a part is changed" "$(in_time 20 sh -c "$change_in" - "$MNT/part")" 0
is "and it is read" "$(in_time 20 cmp "$WANTED" "$MNT/part")" 0
is "also through a mapping" "$(in_time 20 python3 -c "$map_it" "$MNT/part" "$WANTED")" 0
is "and it is that long" "$(in_time 20 stat -c %s "$MNT/part")" "$(stat -c %s "$WANTED")
0"
is "nothing of it is there yet" "$(ls "$STORE/dir")" known
echo foreign >"$STORE/dir/foreign"

mend_link
ok "when it is back, the sandbox gets everything" settle
is "as it was done" "$(cat "$STORE/dir/new" "$STORE/dir/known")" "new
after"
is "also in the midst of a file" "$(cmp "$WANTED" "$STORE/part" 2>&1)" ""
ok "what was done there meanwhile is seen" wait_until "$PATIENCE" has_text "$MNT/dir/foreign" foreign
is "all is the same here" "$(diff -r "$STORE" "$MNT" 2>&1 | grep -v '^Only in .*: \.')" ""

# Others replace files, as editors do, that are changed, removed and moved here meanwhile.
ok "there is a stream of changes again" wait_until "$PATIENCE" is_live
lost=$(streams_lost)
link_refuse
ok "the link is gone again" wait_until "$PATIENCE" has_lost_another
is "files are changed, removed, moved and saved twice" "$(in_time 20 sh -c '
	cd "$1/theirs" && echo ours >changed && rm removed && mv moved elsewhere &&
	echo once >tmp1 && mv tmp1 saved && echo twice >tmp2 && mv tmp2 saved' - "$MNT")" 0
for name in changed removed moved saved; do
	echo "theirs, $name" >"$STORE/theirs/tmp"
	mv "$STORE/theirs/tmp" "$STORE/theirs/$name"
done
mend_link
is "when it is back, who waits is told" "$(settle >/dev/null 2>&1; echo $?)" 1
for name in changed removed moved saved; do
	is "what others did to the file that was $name stays" "$(cat "$STORE/theirs/$name")" "theirs, $name"
	is "and is seen" "$(cat "$MNT/theirs/$name")" "theirs, $name"
done
is "what was written anew here is beside it" "$(cat "$STORE/theirs/changed.sandboxfs-conflict")" ours
is "what else was done here is kept" "$(parked)" "theirs/moved theirs/removed theirs/tmp2"

# Nobody knows yet that nothing arrives: what is sent then is late, too.
mkdir "$STORE/late"
for name in last gone; do
	echo before >"$STORE/late/$name"
	ok "$name is seen" wait_until "$PATIENCE" has_text "$MNT/late/$name" before
done
ok "there is a stream of changes" wait_until "$PATIENCE" has_stream
server_status_502
is "files are removed and changed" "$(in_time 20 sh -c 'cd "$1/late" && rm gone && echo ours >>last' - "$MNT")" 0
ok "which is tried in vain" wait_until "$PATIENCE" has_failed
for name in last gone; do
	echo "theirs, $name" >"$STORE/late/tmp"
	mv "$STORE/late/tmp" "$STORE/late/$name"
done
mend_server
is "when it is back, who waits is told of that" "$(settle >/dev/null 2>&1; echo $?)" 1
for name in last gone; do
	is "what others did to the file stays ($name)" "$(cat "$STORE/late/$name")" "theirs, $name"
done
ok "and then nothing is left to tell" wait_until "$PATIENCE" settle
unmount
done_testing
