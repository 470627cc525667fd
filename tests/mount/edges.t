#!/bin/sh
# A sandbox behind the edges that vendors have, with TLS and HTTP/2: connections that may have 20
# requests each, edges that are told of another configuration meanwhile, and one that soon closes what
# is idle. With PROVIDER=VENDOR.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_vendor
needs_mount
needs node git
# shellcheck source=tests/support/tap_edge.sh
. "$TOP/tests/support/tap_edge.sh"
EDGE_REQUESTS=20
COMMANDS=${EDGE_COMMANDS:-80}
CONNECTIONS=4
# After so many requests another process of the edge takes over.
RELOAD=60

# All that leads to the sandbox goes through the edge.
use_edge() { # NAME
	case $PROVIDER in
	e2b) E2B_SANDBOX_URL=$(edge_url "$1") ;;
	runloop) RUNLOOP_BASE_URL=$(edge_url "$1") ;;
	modal)
		vendor_request POST "$ADMIN/router/$(cat "$SCRATCH/$1.port")" >/dev/null
		MODAL_SERVER_URL=$(edge_url "$1")
		;;
	*) skip_all "is not about $PROVIDER" ;;
	esac
}

vendor_url() {
	case $PROVIDER in
	e2b) echo "$E2B_SANDBOX_URL" ;;
	runloop) echo "$RUNLOOP_BASE_URL" ;;
	modal) echo "$MODAL_SERVER_URL" ;;
	esac
}

requests() { # KIND
	wc -l <"$SCRATCH/$1.log"
}

reload_or_finish() { # KIND COUNT
	[ -e finished ] || [ "$(requests "$1")" -ge "$2" ]
}

keep_reloading() { # KIND
	reload_at=$RELOAD
	until [ -e finished ]; do
		wait_until "$PATIENCE" reload_or_finish "$1" $reload_at
		reload_edge "$1"
		reload_at=$((reload_at + RELOAD))
	done
}

# Of the edge.
processes() { # KIND
	awk '{ print $5 }' "$SCRATCH/$1.log" | sort -u | wc -l
}

# Of connections over HTTP/2 that had as many as they may.
full_connections() { # KIND
	awk -v most=$EDGE_REQUESTS '$1 == "HTTP/2.0" && ++count[$5, $4] == most' "$SCRATCH/$1.log" | wc -l
}

# To one process of the edge at once.
connections() { # KIND
	awk '/^HTTP/ && $7 > most { most = $7 } END { print most + 0 }' "$SCRATCH/$1.log"
}

everyday() { # KIND
	vendor_sandbox "$1"
	mkdir "$STORE/there"
	for n in $(seq 0 39); do
		echo "$n" >"$STORE/there/$n"
	done
	start_edge "$1" "$SERVER_URL" "$1"
	use_edge "$1"
	mount_sandbox "$1"
	rm -f finished
	keep_reloading "$1" &
	deadline 600 python3 "$TOP/tests/mount/edges.py" "$MNT" $COMMANDS >said 2>&1
	touch finished
	wait $!
	is "$1: nothing failed" "$(cat said)" ""
	ok "$1: all changes are there" settle
	is "$1: each command ran once" "$(sort -n "$STORE/log")" "$(seq 0 $((COMMANDS - 1)))"
	is "$1: 8 MB are there" "$(stat -c %s "$STORE/large")" $((8 << 20))
	is "$1: three commits are there" "$(git -C "$STORE/git" rev-list --count main)" 3
	# On a busy machine the log may tell of a call that was late.
	ok "$1: unmounted" tap_umount "$MNT"
	ok "$1: the mount's process ended" wait_until "$PATIENCE" ended "$DAEMON"
	ok "$1: several processes of the edge took part" [ "$(processes "$1")" -gt 1 ]
}

# Of clients to an edge: in /proc/net/tcp addresses are hexadecimal, and 01 is established.
has_connections() { # NAME COUNT
	port=$(printf '%04X' "$(cat "$SCRATCH/$1.port")")
	[ "$(awk -v at=":$port" '$4 == "01" && $3 ~ at "$"' /proc/net/tcp | wc -l)" -le "$2" ]
}

save_and_run() { # NUMBER
	head -c 3000000 /dev/urandom >"$MNT/saved$1" && sync "$MNT/saved$1" &&
		cmp "$MNT/saved$1" "$STORE/saved$1" &&
		echo "echo $1 >>log" >"$MNT/.sandbox/exec" && [ "$(tail -n 1 "$STORE/log")" = "$1" ]
}

# What is closed while nothing is asked on it is missed by nobody. A stream of changes stays.
idle() {
	vendor_sandbox idle
	EDGE_IDLE=1
	start_edge idle "$SERVER_URL" nginx
	use_edge idle
	mount_sandbox idle
	for n in 1 2 3; do
		ok "a save and a command ($n)" save_and_run "$n"
		ok "the edge closes what is idle" wait_until "$PATIENCE" has_connections idle 1
	done
	is "each command ran once" "$(cat "$STORE/log")" "$(seq 3)"
	unmount
}

vendor_start
SERVER_URL=$(vendor_url)
everyday nginx
ok "nginx: connections had as many requests as they may" [ "$(full_connections nginx)" -gt 0 ]
everyday haproxy
most=$(connections haproxy)
ok "haproxy: connections were counted" [ "$most" -gt 0 ]
ok "haproxy: it had at most $CONNECTIONS at once ($most)" [ "$most" -le $CONNECTIONS ]
idle
done_testing
