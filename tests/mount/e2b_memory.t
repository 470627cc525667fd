#!/bin/sh
# Memory has a bound: where the daemon may have 64 MiB, 64 who write at once are slowed down, and nothing is lost.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs_root
needs python3
[ -z "${SAN:-}" ] || skip_all "a sanitizer takes more memory"

LIMIT_KIB=65536
# Programs and libraries are resident, too, but the kernel can take those pages back.
PEAK_KIB=73728
GROUP=

# Sets GROUP, a new cgroup with that limit; version 2, or 1. false: this system lets nobody make one.
make_group() {
	for place in /sys/fs/cgroup /sys/fs/cgroup/memory; do
		for limit in memory.max memory.limit_in_bytes; do
			GROUP=$place/sandboxfs.$$
			mkdir "$GROUP" 2>/dev/null || continue
			[ -e "$GROUP/$limit" ] && echo $((LIMIT_KIB * 1024)) 2>/dev/null >"$GROUP/$limit" && return
			rmdir "$GROUP"
		done
	done
	GROUP=
	return 1
}

drop_group() {
	[ -z "$GROUP" ] || rmdir "$GROUP"
}

peak_kib() {
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$DAEMON/status"
}

# 64 threads, each of which writes four times a MiB of its own to a file of its own.
WRITE='
import os, sys, threading
def write(n):
    file = os.open(f"{sys.argv[1]}/{n}", os.O_WRONLY | os.O_CREAT)
    for piece in range(4):
        os.write(file, bytes([n]) * (1 << 20))
    os.close(file)
threads = [threading.Thread(target=write, args=(n,)) for n in range(64)]
for thread in threads: thread.start()
for thread in threads: thread.join()'
SUM='
import os, sys
print(sum(open(f"{sys.argv[1]}/{n}", "rb").read() == bytes([n]) * (4 << 20) for n in range(64)))'

trap 'tap_cleanup; drop_group' EXIT
mount_sandbox demo
if make_group && echo "$DAEMON" 2>/dev/null >"$GROUP/cgroup.procs"; then
	diag "the daemon may have $LIMIT_KIB KiB"
else
	diag "no cgroup can be made here: only what is resident is looked at"
fi
ls "$MNT" >/dev/null
ok "64 write at once" deadline "$PATIENCE" python3 -c "$WRITE" "$MNT"
ok "the sandbox has all of it" settle
is "as it was written" "$(python3 -c "$SUM" "$STORE")" 64
ok "the process lives" alive "$DAEMON"
peak=$(peak_kib)
ok "it took $peak KiB at most" test "${peak:-$PEAK_KIB}" -lt "$PEAK_KIB"
unmount
done_testing
