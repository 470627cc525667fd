#!/bin/sh
# A stream of changes that was cut begins again however many directories are known, and what it tells is held again: what
# is made then costs a request or two, not one each.
#
#	DIRS    how many there are (1000)
# shellcheck disable=SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_counters.sh
. "$TOP/tests/support/tap_counters.sh"

needs_mount
needs node python3
DIRS=${DIRS:-1000}

# The processes that hear of changes and have the sandbox's staging open, whatever its name is where they run.
watchers() {
	watcher_staging=$(stat -c %d:%i "$STAGING") || return
	for watcher_dir in $(grep -l inotify /proc/[0-9]*/fdinfo/* 2>/dev/null | cut -d/ -f1-3 | sort -u); do
		stat -L -c %d:%i "$watcher_dir"/fd/* 2>/dev/null | grep -qx "$watcher_staging" && echo "${watcher_dir#/proc/}"
	done
}

has_stream() {
	[ "$(sed -n 's/^sandboxfs_stream_live //p' "$MNT/.sandbox/stats")" = 1 ]
}

is_cut() {
	! has_stream
}

streams_again() {
	ls -l "$MNT/out" >/dev/null && has_stream
}

make_files() { # LETTER
	for n in $(seq 100); do
		echo x >"$MNT/out/$1$n" || return
	done
	echo 1 >"$MNT/.sandbox/sync"
}

vendor_sandbox manydirs
python3 - "$STORE" "$DIRS" <<'END'
import os, sys
top, dirs = sys.argv[1], int(sys.argv[2])
for n in range(dirs):
    lib = f"{top}/src/packages/{n // 1000}/component-number-{n}/lib"
    os.makedirs(lib)
    os.close(os.open(f"{lib}/index.js", os.O_CREAT | os.O_WRONLY, 0o644))
END
mount_sandbox manydirs log=warn:lease=debug
mkdir "$MNT/out"
ls -R "$MNT" >/dev/null
ok "there is a stream" wait_until "$PATIENCE" streams_again
reset
ok "files are made" make_files a
at_most "which takes" 6

# shellcheck disable=SC2046 # one or several
kill -KILL $(watchers)
ok "the stream is cut" wait_until "$PATIENCE" is_cut
touch "$STORE/src/packages/0/component-number-7/lib/late"
ok "it begins again" wait_until "$PATIENCE" streams_again
ok "its audit is traced" grep -q 'lease: debug: an audit took [0-9]* ms' "$LOG"
ok "what was changed meanwhile is seen" test -e "$MNT/src/packages/0/component-number-7/lib/late"
reset
ok "files are made again" make_files b
at_most "which takes no more" 6
ok "and nothing is wrong" grep -q '"stream": {"state": "live", "error": null, "unwatched_dirs": 0}' "$MNT/.sandbox/status"
# What the test server starts again keeps a copy of the mount, as long as it runs: the process ends with the script.
ok "it is unmounted" tap_umount "$MNT"
done_testing
