#!/bin/sh
# A mount that is killed leaves what watches for it in the sandbox. The next one ends that: however many are killed, one
# watcher is there. Nothing that lives loses its own.
#
#	KILLS   how often (4)
# shellcheck disable=SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3

# The processes that hear of changes and have the sandbox's staging open, whatever its name is where they run.
watchers() {
	watcher_staging=$(stat -c %d:%i "$STAGING") || return
	for watcher_dir in $(grep -l inotify /proc/[0-9]*/fdinfo/* 2>/dev/null | cut -d/ -f1-3 | sort -u); do
		stat -L -c %d:%i "$watcher_dir"/fd/* 2>/dev/null | grep -qx "$watcher_staging" && echo "${watcher_dir#/proc/}"
	done
}

there_are() { # COUNT
	[ "$(watchers | wc -l)" -eq "$1" ]
}

has_stream() {
	[ "$(sed -n 's/^sandboxfs_stream_live //p' "$MNT/.sandbox/stats")" = 1 ]
}

streams() {
	ls -lR "$MNT" >/dev/null && has_stream
}

is_shown() { # NAME
	[ -e "$MNT/$1" ]
}

vendor_sandbox killed
mkdir "$STORE/dir"
kills=0
while [ $kills -lt "${KILLS:-4}" ]; do
	mount_sandbox killed
	ok "mount $kills has a stream" wait_until "$PATIENCE" streams
	kill -KILL "$DAEMON"
	wait "$DAEMON" 2>/dev/null
	tap_drop_mount "$MNT"
	kills=$((kills + 1))
done
ok "of what watched for those that were killed the last is still there" wait_until "$PATIENCE" there_are 1

mount_sandbox killed attr_timeout=600,entry_timeout=600
ok "the next mount has a stream" wait_until "$PATIENCE" streams
ok "and nothing else watches" wait_until "$PATIENCE" there_are 1
LIVES=$(watchers)
fails "what is not there is not there" is_shown dir/late
: >"$STORE/dir/late"
ok "its stream tells of changes" wait_until "$PATIENCE" is_shown dir/late

mkdir second
XDG_STATE_HOME=$SCRATCH/state.$MOUNT_AS deadline "$PATIENCE" "$SANDBOXFS" -f "$SOURCE" second 2>err
is "a second mount of the sandbox is refused" $? 32
ok "what watched for it goes" wait_until "$PATIENCE" there_are 1
is "and what watches for the first one has stayed" "$(watchers)" "$LIVES"
ok "with its stream" has_stream
unmount
ok "a mount that ends leaves nothing that watches" wait_until "$PATIENCE" there_are 0
done_testing
