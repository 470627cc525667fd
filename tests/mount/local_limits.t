#!/bin/sh
# What bounds an embedded sandbox: a program that takes all memory and one that starts others
# without an end are ended, and the mount answers; a sandbox without a network reaches none.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs_local
needs bwrap python3
expect_log "local:lim.*: rlimits bound memory"

# run COMMAND: in the sandbox; what it printed and its exit code are in `response`.
run() {
	as_owner sh -c 'echo "$1" >"$2"; cat "$2"' - "$1" "$MNT/.sandbox/exec" >response
}

works() { # NAME
	ok "$1: the mount answers" as_owner sh -c 'echo x >"$1/f" && cat "$1/f" && ls "$1"' - "$MNT"
	run 'echo well'
	ok "$1: the next command runs" grep -q '"stdout": "well' response
}

# bomb NAME DOUBLINGS: of a few times as many processes as there may be, so that nothing else here is harmed where the
# bound does not hold.
bomb() {
	cat >bomb.py <<-'END'
		import os, sys, time
		try:
		    for _ in range(int(sys.argv[1])):
		        os.fork()
		    time.sleep(20)
		    print("all are there", flush=True)
		except OSError:
		    print("no more", flush=True)
	END
	as_owner cp bomb.py "$MNT/bomb.py"
	run 'python3 bomb.py '"$2"' >said 2>&1; grep -c "all are there" said >all; grep -c "no more" said'
	ok "$1: a fork bomb ends" grep -Eq '"stderr": "sandboxfs: more than [0-9]+ processes|"stdout": "[1-9]' response
	works "$1: after a fork bomb"
}

bounded() {
	mount_sandbox "lim.$MOUNT_AS" memory=300M,pids=100,network=none
	run 'python3 -c "x = bytearray(200 << 20); print(len(x))"'
	ok "so much memory is there" grep -q '"stdout": "209715200' response
	run 'python3 -c "x = bytearray(500 << 20); print(len(x))"; echo code $?'
	ok "a program that takes more fails" grep -Eq '"stdout": "code (1|137)' response
	works "after a program that takes all memory"
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		run 'echo well'
		grep -q '"stdout": "well' response && echo
	done >ended
	is "what else this machine runs does not count" "$(wc -l <ended)" 20
	bomb "limited" 8
	run 'tail -n +3 /proc/net/dev | cut -d : -f 1 | xargs; exec 3<>"/dev/tcp/127.0.0.1/'"$PORT"'"'
	ok "there is a loopback alone" grep -Eq '"stdout": " *lo(\\n|")' response
	ok "nothing of this machine is reached" grep -q 'Connection refused' response
	unmount

	# The sandbox keeps its limits; another mount may ask for others.
	mount_sandbox "lim.$MOUNT_AS" network=host
	run 'exec 3<>"/dev/tcp/127.0.0.1/'"$PORT"'" && echo reached'
	ok "another mount may give it this machine's network" grep -q '"stdout": "reached' response
	run 'python3 -c "x = bytearray(500 << 20)"; echo code $?'
	ok "what is not asked for again stays" grep -Eq '"stdout": "code (1|137)' response
	unmount
}

unbounded() {
	mount_sandbox "limless.$MOUNT_AS"
	bomb "by default" 11
	unmount
}

# A port of this machine.
python3 -c 'import socket, time
s = socket.create_server(("", 0))
print(s.getsockname()[1], flush=True)
time.sleep(3600)' >port &
tap_helpers="$tap_helpers $!"
wait_until "$PATIENCE" test -s port
PORT=$(cat port)

# More programs of this machine than a sandbox here may have.
count=0
while [ $((count += 1)) -le 110 ]; do
	sleep 3600 >/dev/null 2>&1 &
	tap_helpers="$tap_helpers $!"
done

# Where this machine has an address besides those of its loopback.
translated() {
	mount_sandbox "nat.$MOUNT_AS" network=nat
	run 'tail -n +3 /proc/net/dev | cut -d : -f 1 | xargs; cat /etc/resolv.conf'
	is "a network of its own has a name server" "$(grep -o '"stdout": "[^"]*"' response)" \
		'"stdout": "lo tap0\nnameserver 10.0.2.3\n"'
	for address in 127.0.0.1 10.0.2.2; do
		run "timeout 20 bash -c 'exec 3<>/dev/tcp/$address/$PORT' && echo reached"
		fails "this machine's 127.0.0.1 is not reached at $address" grep -q '"stdout": "reached' response
	done
	run "exec 3<>/dev/tcp/$ADDRESS/$PORT && echo reached"
	ok "others are" grep -q '"stdout": "reached' response
	unmount
}

for_each_user bounded
ADDRESS=$(hostname -I | tr ' ' '\n' | grep -m1 -F .)
if command -v slirp4netns >/dev/null && [ -r /dev/net/tun ] && [ -w /dev/net/tun ]; then
	if [ -n "$ADDRESS" ]; then
		translated
	else
		skip "a network of its own" "this machine has no address but its own"
	fi
else
	like "what it needs is told" "$(ctl create local --network nat 2>&1)" \
		"needs slirp4netns, which (is not installed: apt install slirp4netns|could not make one here)"
fi
if [ "$(id -u)" -eq 0 ] && command -v slirp4netns >/dev/null && ! as_user test -w /dev/net/tun; then
	like "a device that its user cannot open is told" \
		"$(as_user env XDG_DATA_HOME="$SCRATCH/data.nat" "$SANDBOXCTL" create local --network nat 2>&1)" \
		"needs slirp4netns, which could not make one here: /dev/net/tun cannot be opened"
fi
for_each_user unbounded

name=$(ctl create local --memory 300M --pids 50 --network none 2>err)
like "create says how it is bounded" "$(cat err; ctl info --inside "$name")" 'rlimits|a cgroup'
like "info tells the limits" "$(ctl info "$name")" '^limits +300 MiB of memory, 50 processes; no network$'
like "its ports are nobody's" "$(ctl url "$name" 8000 2>&1)" 'has no network of this machine; its commands alone reach its ports'
like "a network that is two" "$(ctl create local --network host --block-network 2>&1)" \
	"'--block-network' and '--network=host': one of them"
ctl delete "$name"
is "no cgroup of its is left" "$(find /sys/fs/cgroup -name "sandboxfs-${name#local:}-*" 2>/dev/null)" ""

# ---- A disk of its own ---------------------------------------------------------------------------

if [ "$(id -u)" -ne 0 ]; then
	like "a disk that an ordinary user cannot have" "$(ctl create local --disk 1G 2>&1)" 'takes root; leave its size out'
elif ! name=$(ctl create local --disk 40M 2>err); then
	like "where no disk can be made that is said" "$(cat err)" 'no disk of its own can be made here'
else
	id=${name#*:}
	store=$XDG_DATA_HOME/sandboxfs
	like "info tells the size" "$(ctl info "$name")" '^limits .*; 40 MiB of disk; '
	ctl exec "$name" 'dd if=/dev/zero of=big bs=1M count=60 2>&1; rm big' </dev/null >said 2>&1
	ok "a command has no more room" grep -q 'No space left on device' said
	MNT=$SCRATCH/mnt.disk
	tap_mounts="$tap_mounts $MNT $store/$id"
	mkdir "$MNT"
	"$SANDBOXFS" "$name" "$MNT" 2>err
	dd if=/dev/zero of="$MNT/big" bs=1M count=60 conv=fsync 2>said
	ok "nor has the mount" grep -q 'No space left on device' said
	expect_log "big: .*(o space|full)"
	rm -f "$MNT/big"
	tap_umount "$MNT"
	like "it has another size already" "$("$SANDBOXFS" "$name" "$MNT" -o disk=1G 2>&1)" 'was made with a disk of 40 MiB'
	ctl exec local:before true </dev/null
	like "one that was made without a disk gets none" "$("$SANDBOXFS" local:before "$MNT" -o disk=1G 2>&1)" \
		'was made without a disk of its own'
	ctl exec "$name" 'echo kept >file' </dev/null
	ok "its disk is unmounted, as by a restart" wait_until "$PATIENCE" umount "$store/$id"
	is "where it is not mounted any more it is mounted again" "$(ctl exec "$name" 'cat file' </dev/null)" kept
	wait_until "$PATIENCE" umount "$store/$id"
	ok "one that is not mounted can be deleted" ctl delete "$name"
	is "it goes with the sandbox" "$(ls -A "$store" | grep -c "$id"; grep -c "$id" /proc/self/mounts)" "0
0"
fi
done_testing
