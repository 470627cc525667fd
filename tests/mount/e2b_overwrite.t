#!/bin/sh
# A file that is opened with O_TRUNC, as `>` does, is written anew: the sandbox sees it whole, and what somebody else wrote
# to it while nobody could tell is not lost.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3

stall() {
	vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/process|files/","times":0},"action":{"type":"stall"}}' >/dev/null
}

mend() {
	vendor_request DELETE "$ADMIN/faults" >/dev/null
}

# writer NAME: opens it with `>`, writes the word `half`, and does what it is told on descriptor 8, a line for each.
writer='import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
os.write(file, b"half")
print("written", flush=True)
for line in sys.stdin:
    if line == "fsync\n":
        os.fsync(file)
    else:
        os.write(file, line.strip().encode())
    print("done", flush=True)
os.close(file)'

begin() { # NAME
	deadline "$PATIENCE" python3 -c "$writer" "$MNT/$1" <ask >answers &
	writing=$!
	exec 8>ask 9<answers
	read -r _ <&9
}

tell() { # LINE
	echo "$1" >&8
	read -r _ <&9
}

end() {
	exec 8>&-
	wait "$writing"
	exec 9<&-
}

# Whether the sandbox has nothing else in the file for as long as other changes take to arrive. What stays open is seen after
# 5 s: on a machine that is too slow for that the file is opened once more.
stays() { # NAME TEXT
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		began=$(date +%s)
		begin "$1"
		for round in 1 2 3; do
			echo "$round" >"$MNT/beside"
			sync "$MNT/beside" || return 1
		done
		seen=$(cat "$STORE/$1")
		if [ $(($(date +%s) - began)) -lt 4 ]; then
			[ "$seen" = "$2" ]
			return
		fi
		end
		echo "$2" >"$MNT/$1"
		sync "$MNT/$1"
	done
	diag "this machine is too slow to tell"
	begin "$1"
}

mkfifo ask answers
mount_sandbox overwrite timeout=15
for file in whole synced settled lost; do
	echo before >"$MNT/$file"
done
settle
ls -lR "$MNT" >/dev/null

stays whole before
is "half a file is not seen in the sandbox" $? 0
is "here it is" "$(cat "$MNT/whole")" half
tell ', whole'
end
ok "it is when it is closed" settle
is "whole" "$(cat "$STORE/whole")" "half, whole"

begin synced
tell fsync
is "fsync shows what is open" "$(cat "$STORE/synced")" half
tell ', more'
tell fsync
is "and what is added" "$(cat "$STORE/synced")" "half, more"
end

begin settled
ok "so does a barrier" settle
is "all of it" "$(cat "$STORE/settled")" half
end
ok "nothing is refused" settle

expect_log 'somebody in the sandbox wrote it, too|no progress|timed out|could not be|stalled'
stall
echo ours >"$MNT/lost"
echo theirs, and longer >"$STORE/lost"
kill -9 "$DAEMON"
wait "$DAEMON" 2>/dev/null
tap_drop_mount "$MNT"
mend
mount_sandbox overwrite timeout=15
settle 2>/dev/null
is "what somebody else wrote before a kill stays" "$(cat "$STORE/lost")" "theirs, and longer"
is "and ours is beside it" "$(cat "$STORE/lost.sandboxfs-conflict")" ours
done_testing
