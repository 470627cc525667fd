#!/bin/sh
# The process is killed while it tells the kernel of a name in a directory that somebody keeps locked who waits for its
# answer; or it is to end while it tells of pages that are locked in the same way. That ends all the same, with him and
# with it.
# shellcheck disable=SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3

# So that somebody waits for it most of the time.
server_is_slow() {
	vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/./","times":0},"action":{"type":"delay","ms":500}}' >/dev/null
}

# For names that are not there, until that is not the answer.
ask_on() ( # NAME
	cd "$MNT/dir" || exit
	number=0
	until LC_ALL=C ls -d "absent.$1.$number" 2>&1 | grep -v 'No such file'; do
		number=$((number + 1))
	done
)

# No signal reaches a thread that does.
waits_for_a_lock() {
	grep -qs '^[0-9]* ([^)]*) D' "/proc/$DAEMON"/task/*/stat
}

# Each name that goes is one more to be told of.
waits_for_the_directory() {
	rm -f "$STORE/dir/$(ls "$STORE/dir" | head -n 1)"
	waits_for_a_lock
}

# There is always more to be told.
waits_for_a_page() {
	for file in $FILES; do
		echo more >>"$STORE/$file"
	done
	waits_for_a_lock
}

# Pages one by one, several times each at the same time, until that fails: what the kernel has, it would give for ever.
read_on() { # NAME
	python3 -c '
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
while True:
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    for page in range(8):
        os.pread(file, 4096, page * 4096)
' "$MNT/$1"
}

nobody_waits() {
	for waiting in $WAITING; do
		ended "$waiting" || return 1
	done
}

# The first thread of a process is dead before the others.
every_thread_ended() { # PID
	! grep -qs '^[0-9]* ([^)]*) [^ZX]' "/proc/$1"/task/*/stat
}

vendor_sandbox ended
FILES=$(seq 6)
for file in $FILES; do
	seq 10000 >"$STORE/$file"
done
mount_sandbox ended cache=off
server_is_slow
WAITING=
for file in $FILES $FILES; do
	read_on "$file" >/dev/null 2>&1 &
	WAITING="$WAITING $!"
done
ok "of a locked page nothing can be told" wait_until "$PATIENCE" waits_for_a_page
kill -TERM "$DAEMON"
ok "who waits for it is answered when the process is to end" wait_until "$PATIENCE" nobody_waits
ok "and the process does" wait_until "$PATIENCE" ended "$DAEMON"
umount -f "$MNT" 2>/dev/null
tap_drop_mount "$MNT"

vendor_sandbox killed
mkdir "$STORE/dir"
(cd "$STORE/dir" && touch $(seq 1000))
# More ask at once than there are threads: of some requests no thread knows.
mount_sandbox killed max_threads=2
GUARD=$(cat "/proc/$DAEMON"/task/*/children)
GUARD=${GUARD% }
ok "one process guards the mount" wait_until "$PATIENCE" grep -qx sandboxfs-guard "/proc/$GUARD/comm"
ls -l "$MNT/dir" >/dev/null
server_is_slow
WAITING=
for asker in $(seq 6); do
	ask_on "$asker" >refusal &
	WAITING="$WAITING $!"
done
ok "of a locked directory nothing can be told" wait_until "$PATIENCE" waits_for_the_directory
kill -KILL "$DAEMON"
ok "who locked it is answered when the process is killed" wait_until "$PATIENCE" nobody_waits
ok "and the process ends" wait_until "$PATIENCE" every_thread_ended "$DAEMON"
ok "and its guard" wait_until "$PATIENCE" ended "$GUARD"
# Where it does not, root can end it so.
umount -f "$MNT" 2>/dev/null
tap_drop_mount "$MNT"
done_testing
