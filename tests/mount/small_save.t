#!/bin/sh
# A small file that is synced does not wait for what is large, over a link that takes minutes for
# that, nor does what is read. With PROVIDER=VENDOR.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"

needs_mount
needs_vendor
needs node python3

# Of this much nothing is in its place before the limit is lifted: at 1 Mbit/s it takes 200 s.
BULK=25000000
MBIT=1

save() { # NAME TEXT [OPTION OF dd]
	printf %s "$2" >text
	deadline "$PATIENCE" dd if=text of="$MNT/$1" conv="${3:+$3,}fsync" status=none
}

# As editors do that never leave a file half written.
save_over() { # DIRECTORY NAME TEXT
	deadline "$PATIENCE" python3 -c '
import os, sys
directory, name, text = sys.argv[1:]
with open(directory + "/.new", "x") as file:
    file.write(text)
    file.flush()
    os.fsync(file.fileno())
os.rename(directory + "/.new", directory + "/" + name)
fd = os.open(directory, os.O_RDONLY)
os.fsync(fd)' "$MNT/$1" "$2" "$3"
}

is_leaving() {
	grep -q '"leaving_bytes": *[1-9]' "$MNT/.sandbox/status"
}

in_sandbox() { # NAME...
	for name in "$@"; do
		[ -e "$STORE/$name" ] || continue
		printf '%s: %s\n' "$name" "$(head -c 20 "$STORE/$name")"
	done
}

vendor_sandbox slow
lay_link slow
expect_log '.*'
mount_sandbox slow
mkdir "$MNT/d"
echo before >"$MNT/d/known"
printf 'old part, rest' >"$MNT/d/part"
echo 1 >"$MNT/.sandbox/sync"
mkdir "$STORE/cold"
echo there >"$STORE/cold/file"
ls -l "$MNT" "$MNT/d" >/dev/null
tell_relay link bandwidth $MBIT
head -c $BULK /dev/urandom >bulk
cp bulk "$MNT/bulk"
ok "much is on its way" wait_until "$PATIENCE" is_leaving
is "a file that nobody has read is read" "$(deadline "$PATIENCE" cat "$MNT/cold/file")" there
ok "a new file is saved in the same directory" save small saved
ok "and another one" save second "saved, too"
ok "a file in another directory is written anew" save d/known anew
ok "one is written in place" save d/part new notrunc
ok "one is put over another, and its directory synced" save_over d over "put over"
is "the sandbox has these" "$(in_sandbox small second d/known d/part d/over bulk)" "small: saved
second: saved, too
d/known: anew
d/part: new part, rest
d/over: put over"

kill -KILL "$DAEMON"
wait "$DAEMON"
tap_drop_mount "$MNT"
tell_relay link bandwidth 0
mount_sandbox slow
echo 1 >"$MNT/.sandbox/sync"
is "after a kill the next mount sends what was large" "$(cmp bulk "$STORE/bulk" 2>&1)" ""
is "and leaves the saves as they were" "$(in_sandbox small second d/known d/part d/over)" \
	"small: saved
second: saved, too
d/known: anew
d/part: new part, rest
d/over: put over"
is "nothing is parked" "$(grep -o '"parked_changes": *[0-9]*' "$MNT/.sandbox/status")" '"parked_changes": 0'
unmount
done_testing
