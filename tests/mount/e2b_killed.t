#!/bin/sh
# The process is killed while it tells the kernel of a name in a directory that somebody keeps locked who waits for its
# answer: that ends all the same, with him and with it.
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
ask_on() (
	cd "$MNT/dir" || exit
	number=0
	until LC_ALL=C ls -d "absent.$number" 2>&1 | grep -v 'No such file'; do
		number=$((number + 1))
	done
)

# No signal reaches a thread that does. Each name that goes is one more to be told of.
waits_for_the_lock() {
	rm -f "$STORE/dir/$(ls "$STORE/dir" | head -n 1)"
	grep -qs '^[0-9]* ([^)]*) D' "/proc/$DAEMON"/task/*/stat
}

vendor_sandbox killed
mkdir "$STORE/dir"
(cd "$STORE/dir" && touch $(seq 1000))
mount_sandbox killed
ls -l "$MNT/dir" >/dev/null
server_is_slow
ask_on >refusal &
ASKING=$!
ok "of a locked directory nothing can be told" wait_until "$PATIENCE" waits_for_the_lock
kill -KILL "$DAEMON"
ok "who locked it is answered when the process is killed" wait_until "$PATIENCE" ended "$ASKING"
ok "and the process ends" wait_until "$PATIENCE" ended "$DAEMON"
# Where it does not, root can end it so.
umount -f "$MNT" 2>/dev/null
tap_drop_mount "$MNT"
done_testing
