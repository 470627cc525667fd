#!/bin/sh
# The disk of a sandbox is full: each change is judged alone, what there is room for arrives, and
# nothing is left in staging that would keep the disk full.
# shellcheck disable=SC2016,SC2034,SC2317
TAP_WANTS_APART=1
LAYERS=full,24M
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
needs_mount
needs_vendor
needs_root
needs node python3
export LAYERS

# No request reaches the sandbox, and each attempt fails at once.
cut_off() {
	vendor_request POST "$ADMIN/faults" \
		'{"match":{"kind":"/./","times":0},"action":{"type":"status","status":503}}' >/dev/null
}

mend() {
	vendor_request DELETE "$ADMIN/faults" >/dev/null
}

room() { # in kilobytes
	df --output=avail -k "$STORE" | tail -n 1 | tr -d ' '
}

# Behind the mount's back, so that so much is left.
fill() { # KILOBYTES
	fill_count=$(($(room) - $1))
	dd if=/dev/zero of="$FILLER" bs=1k count=$fill_count oflag=append conv=notrunc status=none
}

status() { # FIELD
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$MNT/.sandbox/status" "$1"
}

parked() {
	python3 -c '
import json, sys
parked = json.load(open(sys.argv[1]))["journal"]["parked"]
print(" ".join(sorted({change["path"] for change in parked if not change["path"].startswith("/")})))' \
		"$MNT/.sandbox/status"
}

make_file() { # NAME BYTES
	head -c "$2" /dev/urandom >"$SCRATCH/kept/$1"
}

copy() { # NAME...
	for name in "$@"; do
		cp "$SCRATCH/kept/$name" "$MNT/$name" || return
	done
}

same() { # NAME...
	for name in "$@"; do
		cmp "$SCRATCH/kept/$name" "$STORE/$name" || return
	done
}

# Requests, answers and contents.
left_in_staging() {
	find "$STAGING" -mindepth 1 \( -name 'request-*' -o -name 'answer-*' -o -name 'n-*' -o -name 'u-*' \) -printf '%f '
}

all_answered() {
	[ "$(status pending_changes)" = 0 ]
}

says_full() { # COMMAND...
	full_said=$("$@" 2>&1) && return 1
	case $full_said in *'No space left on device'*) ;; *) echo "$full_said" && return 1 ;; esac
}

mkdir kept
vendor_sandbox full_disk
FILLER=$(dirname "$STORE")/tmp/filler
mount_sandbox full_disk
# Changes are refused here.
expect_log '.*'
mkdir "$MNT/d"
settle
ls -lR "$MNT" >/dev/null

tap_prefix="small files beside a large one: "
for n in 1 2 3 4 5 6 7 8; do
	make_file small$n 3000
done
make_file large 8000000
cut_off
ok "all are acknowledged" copy small1 small2 small3 small4 large small5 small6 small7 small8
fill 2500
mend
ok "all are answered" wait_until "$PATIENCE" all_answered
fails "a barrier tells of what was refused" settle
ok "the small ones are in the sandbox" same small1 small2 small3 small4 small5 small6 small7 small8
is "the large one was refused" "$(parked)" large
fails "and is not there" test -e "$STORE/large"
ok "nothing is pending" settle
is "nothing is left in staging" "$(left_in_staging)" ""

tap_prefix="a full disk: "
ls -l "$MNT" >/dev/null
make_file second 6000000
ok "who writes is told at once" says_full copy second
rm -f "$MNT/second"
ok "a file for which there is room is written" copy small1
settle
ok "and arrives" same small1

tap_prefix="room again: "
rm "$FILLER"
ok "all goes on" copy large
ok "a barrier is content" settle
ok "what was written arrived" same large

tap_prefix="more than half the disk: "
make_file most 12500000
rm "$MNT/large"
settle
ok "such a file is written" copy most
ok "a barrier is content" settle
ok "it arrived" same most
make_file most 12400000
ok "it is written anew" copy most
ok "a barrier is content" settle
ok "it arrived" same most
fill 5000
dd if=/dev/urandom of=kept/most bs=1M count=10 conv=notrunc status=none
ok "it is written to in place" dd if=kept/most of="$MNT/most" bs=1M count=10 conv=notrunc status=none
ok "a barrier is content" settle
ok "it arrived" same most
is "nothing is left in staging" "$(left_in_staging)" ""

tap_prefix="a file is removed: "
make_file small9 3000000
fill 1000
rm "$MNT/most"
ok "its room is used at once" copy small9
ok "a barrier is content" settle
ok "what was written arrived" same small9
unmount

tap_prefix="a disk that was full before: "
fill 0
mount_sandbox full_disk
ok "a file is read" cmp kept/small9 "$MNT/small9"
ok "a file is removed" rm "$MNT/small9"
ok "a barrier is content" settle
fails "it is gone" test -e "$STORE/small9"
ok "a file is written" copy small2
ok "a barrier is content" settle
ok "it arrived" same small2
unmount
done_testing
