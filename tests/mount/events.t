#!/bin/sh
# .sandbox/events: a stream that lets its readers wait, and nobody else.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs python3

mount_sandbox events
EVENTS=$MNT/.sandbox/events

events() {
	python3 -B "$TOP/tests/mount/events.py" "$EVENTS" "$@"
}

is "without events there is nothing to poll or to read" "$(events polls)" "nothing yet"

# More of them than there are workers to serve requests.
python3 -B "$TOP/tests/mount/events.py" "$EVENTS" wait 70 >waits &
readers=$!
ok "many wait for events" wait_until "$PATIENCE" grep -q waiting waits
echo 1 >"$MNT/file"
is "the mount answers meanwhile" "$(cat "$MNT/file")" 1
kill $readers
ok "a signal ends their waiting" wait_until "$PATIENCE" ended $readers
# Its threads, which have the files open, may end after it.
wait $readers 2>/dev/null
fails "nobody writes it" sh -c 'echo x >"$1"' - "$EVENTS"
fails "it has no offsets" python3 -c 'import os, sys; os.lseek(os.open(sys.argv[1], os.O_RDONLY), 0, 0)' "$EVENTS"
told() { # SCRIPT KIND NAME
	is "what others do is told: $2 $3" "$(events hears "$1" "$2" "$3" | tail -n 1)" "$2 $3"
}

if [ "$PROVIDER" != local ]; then
	export STORE
	told 'echo x >"$STORE/made"' created made
	told 'echo more >>"$STORE/made"' changed made
	told 'chmod 600 "$STORE/made"' attr made
	told 'rm "$STORE/made"' removed made
fi
unmount
done_testing
