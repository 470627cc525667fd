#!/bin/sh
# The mount's process dies at each step of a change's life (cache/session/fault.h), and again while the next one sends what is left:
# what was acknowledged is in the sandbox in the end, once and whole. Needs a build with FAULTS=1: make check-faults.
#
#	POINTS      only these: lines of POINT TIMES SCENARIO [OPTIONS]
#	CRASH_SEED  the first seed (1)
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_counters.sh
. "$TOP/tests/support/tap_counters.sh"

needs_mount
needs node python3
grep -q SANDBOXFS_FAULT "$SANDBOXFS" || skip_all "needs fault points: make check-faults"
CRASH=$TOP/tests/mount/crash.py
seed=${CRASH_SEED:-1}

# At which place, for the how-many-th time, under what load. Segments of a small journal come and go all
# the time. For journal.based there has to be more behind what is on its way: a quick writer fills a
# journal of 8 MB before its first batch is due, and waits for room until all of it was answered.
POINTS=${POINTS:-'
journal.add.before 40 load
journal.add.torn 41 load
journal.add.after 42 load
journal.note.torn 2 load
journal.note.torn 30 load
journal.sent 1 load
journal.sent 30 load
journal.done 1 load
journal.done 7 load
pending.staged 5 load
pending.held 6 load
pending.released 7 load
pending.answered 1 load
pending.answered 6 load
pending.answered.plain 1 overwrite journal_size=8M
pending.answered.plain 4 overwrite journal_size=8M
journal.sent 3 overwrite journal_size=8M
journal.based 1 overwrite journal_size=32M
journal.based 4 overwrite journal_size=32M
pending.placed 1 load
pending.placed 9 load
journal.segment.ended 3 load journal_size=4M
journal.segment.made 4 load journal_size=4M
journal.segment.gone 1 load journal_size=4M
journal.segment.gone 5 load journal_size=4M
journal.done 1 cancel
pending.conflict 1 conflict
pending.answered 2 conflict
pending.conflict 1 followed
journal.parked 1 followed
journal.done 2 followed
journal.parked 1 refused
journal.aside 1 unreadable
'}

# ---- Life and death --------------------------------------------------------------------------------

mount_to_die() { # POINT TIMES [OPTIONS]
	export SANDBOXFS_FAULT="$1:$2"
	start_mount crash "${3:-}"
	unset SANDBOXFS_FAULT
	wait_until "$PATIENCE" tap_answers_or_ended
}

is_dead() {
	ok "$what: the process dies there" wait_until "$PATIENCE" ended "$DAEMON"
	kill -KILL "$DAEMON" 2>/dev/null
	bury
}

# Takes away what was mounted last, whose process is dead.
bury() {
	wait "$DAEMON" 2>/dev/null
	tap_drop_mount "$MNT"
}

# The next mount dies, too, if it comes to this place; else it is killed.
die_again() { # POINT
	mount_to_die "$1" 1
	settle 2>/dev/null
	kill -KILL "$DAEMON" 2>/dev/null
	bury
}

leave() {
	tap_umount "$MNT"
	ok "$what: the mount ends" wait_until "$PATIENCE" ended "$DAEMON"
}

status() { # FIELD
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$MNT/.sandbox/status" "$1"
}

# ---- What is under way -----------------------------------------------------------------------------

stop_watching() {
	kill "$WATCHER" 2>/dev/null
	wait "$WATCHER" 2>/dev/null
}

load() { # POINT TIMES OPTIONS
	mount_to_die "$@"
	python3 "$CRASH" watch "$STORE/work" >half 2>&1 &
	WATCHER=$!
	diag "seed $seed: $(deadline "$PATIENCE" python3 "$CRASH" run "$MNT/work" model 0 "$seed" 3 2>&1)"
	is_dead
	stop_watching
	is "$what: no new file was ever there in part" "$(cat half)" ""
	for again in journal.sent pending.answered; do
		die_again $again
	done
	mount_sandbox crash "$3"
	ok "$what: the next mount sends what is left" settle
	is "$what: and all of it" "$(status pending_changes) $(status parked_changes)" "0 0"
	ok "$what: the sandbox has what was acknowledged, once and whole" python3 "$CRASH" check "$STORE/work" model
	ok "$what: and so has the mount" python3 "$CRASH" check "$MNT/work" model
	leave
}

# Blocks of a file that the sandbox has are written anew, one after another: what is sent so has no record there.
overwrite() { # POINT TIMES OPTIONS
	file=over.$seed
	head -c 4194304 /dev/zero >"$STORE/$file"
	mount_to_die "$@"
	blocks=$(deadline "$PATIENCE" python3 -c '
import itertools, os, sys
file = os.open(sys.argv[1], os.O_WRONLY)
for n in itertools.count():
    try:
        os.pwrite(file, b"%08d" % n * 512, n % 1024 * 4096)
    except OSError:
        print(n)
        break' "$MNT/$file")
	is_dead
	die_again pending.answered
	mount_sandbox crash "$3"
	ok "$what: the next mount sends what is left" settle
	is "$what: and all of it" "$(status pending_changes) $(status parked_changes)" "0 0"
	for place in "$STORE" "$MNT"; do
		ok "$what: ${place##*/} has the $blocks blocks that were acknowledged, and one more at most" python3 -c '
import sys
blocks = int(sys.argv[2])
old = lambda n: b"%08d" % n * 512 if n >= 0 else bytes(4096)
with open(sys.argv[1], "rb") as file:
    for at in range(1024):
        last = blocks - 1 - (blocks - 1 - at) % 1024
        right = [old(last)] + [old(blocks)] * (blocks % 1024 == at)
        assert file.read(4096) in right, at' "$place/$file" "$blocks"
	done
	rm "$STORE/$file"
	leave
}

# What is made and removed again before the sandbox hears of it.
cancel() { # POINT TIMES OPTIONS
	mount_to_die "$@"
	deadline "$PATIENCE" sh -c 'echo text >"$1" && rm "$1"' - "$MNT/gone" 2>/dev/null
	is_dead
	mount_sandbox crash "$3"
	ok "$what: the next mount has nothing to complain of" settle
	is "$what: nothing is left" "$(status pending_changes) $(ls "$STORE/gone" "$MNT/gone" 2>/dev/null)" "0 "
	leave
}

# Somebody in the sandbox makes a file while we write a new one of that name.
conflict() { # POINT TIMES OPTIONS
	mount_to_die "$@"
	set -C
	exec 5>"$MNT/both.$seed"
	set +C
	echo ours >&5
	echo theirs >"$STORE/both.$seed"
	exec 5>&-
	is_dead
	mount_sandbox crash "$3"
	settle
	is "$what: both are there" "$(cat "$STORE/both.$seed" "$STORE/both.$seed.sandboxfs-conflict" 2>&1)" "theirs
ours"
	is "$what: once" "$(cd "$STORE" && echo both."$seed"*)" "both.$seed both.$seed.sandboxfs-conflict"
	is "$what: and nothing was refused" "$(status pending_changes) $(status parked_changes)" "0 0"
	leave
}

stall() {
	vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/process|files/","times":0},"action":{"type":"stall"}}' >/dev/null
}

mend() {
	vendor_request DELETE "$ADMIN/faults" >/dev/null
}

is_asked() {
	[ "$(requests)" -gt 0 ]
}

# The same, and while ours is on its way it is moved.
followed() { # POINT TIMES OPTIONS
	mount_to_die "$@"
	set -C
	exec 5>"$MNT/both.$seed"
	set +C
	echo ours >&5
	stall
	reset
	exec 5>&-
	ok "$what: ours is on its way" wait_until "$PATIENCE" is_asked
	mv "$MNT/both.$seed" "$MNT/moved.$seed"
	echo theirs >"$STORE/both.$seed"
	mend
	is_dead
	mount_sandbox crash "$3"
	settle
	is "$what: both are there" "$(cat "$STORE/both.$seed" "$STORE/both.$seed.sandboxfs-conflict" 2>&1)" "theirs
ours"
	is "$what: and theirs is not moved" "$(ls "$STORE/moved.$seed" 2>/dev/null)" ""
	leave
}

# Somebody in the sandbox makes a file where we make a directory.
refused() { # POINT TIMES OPTIONS
	mount_to_die "$@"
	ls -lR "$MNT" >/dev/null
	stall
	mkdir "$MNT/taken.$seed"
	echo theirs >"$STORE/taken.$seed"
	mend
	is_dead
	mount_sandbox crash "$3"
	echo more >"$MNT/more.$seed"
	ok "$what: what comes later is sent" settle
	is "$what: it is" "$(cat "$STORE/more.$seed")" more
	is "$what: what was refused is kept" "$(status pending_changes) $(status journal |
		grep -o "'taken.$seed', 'op': 'mkdir'")" "0 'taken.$seed', 'op': 'mkdir'"
	leave
}

# A journal that is damaged.
unreadable() { # POINT TIMES OPTIONS
	mount_sandbox crash "$3"
	ls -lR "$MNT" >/dev/null
	stall
	echo owed >"$MNT/owed.$seed"
	kill -KILL "$DAEMON"
	bury
	mend
	journals=$SCRATCH/state.$MOUNT_AS/sandboxfs
	find "$journals" -name 'segment-*' -exec dd if=/dev/urandom of={} bs=64 seek=1 count=1 conv=notrunc status=none \;
	mount_to_die "$1" "$2" "$3"
	is_dead
	mount_sandbox crash "$3"
	echo more >"$MNT/more.$seed"
	ok "$what: the next mount works" settle
	is "$what: and sends" "$(cat "$STORE/more.$seed")" more
	is "$what: what cannot be read is kept, once" "$(find "$journals" -path '*.unreadable-*/segment-*' | wc -l)" 1
	leave
}

vendor_sandbox crash
mkdir "$STORE/work"
expect_log '.*'
while read -r point times scenario options <&4; do
	[ -n "$point" ] || continue
	what="$point $times $scenario"
	$scenario "$point" "$times" "$options"
	seed=$((seed + 1))
done 4<<END
$POINTS
END
done_testing
