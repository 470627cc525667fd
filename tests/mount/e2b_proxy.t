#!/bin/sh
# A sandbox behind a proxy, which https_proxy names: all goes through CONNECT.
# shellcheck disable=SC2016
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node tinyproxy
# shellcheck source=tests/support/tap_edge.sh
. "$TOP/tests/support/tap_edge.sh"
COMMANDS=20
PORTS_TRIED=20

proxy_config() { # PORT
	cat <<-END
		Listen 127.0.0.1
		Port $1
		Allow 127.0.0.1
		Timeout 600
		MaxClients 100
		LogFile "$SCRATCH/proxy.log"
		LogLevel Info
	END
}

free_port() {
	python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'
}

proxy_decided() {
	grep -q 'Accepting connections' "$SCRATCH/proxy.log" || ended "$PROXY"
}

# Somebody else may take the port before the proxy does.
start_proxy() {
	for _ in $(seq $PORTS_TRIED); do
		port=$(free_port)
		proxy_config "$port" >"$SCRATCH/proxy.conf"
		: >"$SCRATCH/proxy.log"
		tinyproxy -d -c "$SCRATCH/proxy.conf" >"$SCRATCH/proxy.out" 2>&1 &
		PROXY=$!
		wait_until "$PATIENCE" proxy_decided
		if alive "$PROXY"; then
			tap_helpers="$tap_helpers $PROXY"
			return
		fi
	done
	skip_all "tinyproxy does not run here: $(head -n 3 "$SCRATCH/proxy.out")"
}

# How many were asked for, and how many there were at a time.
tunnels() { # asked | most
	awk -v want="$1" '
		/: CONNECT / { asked++ }
		/Established connection/ { if (++now > most) most = now }
		/Closed connection/ { now-- }
		END { print (want == "most" ? most : asked) + 0 }' "$SCRATCH/proxy.log"
}

# Of the edge, with requests.
connections() {
	awk '/^HTTP/ { print $4 }' "$SCRATCH/edge.log" | sort -u | wc -l
}

# One command after the other, each over an opening of its own.
run_commands() {
	for n in $(seq $COMMANDS); do
		exec 3<>"$MNT/.sandbox/exec"
		echo "echo $n >>log" >&3
		cat <&3 >/dev/null
		exec 3>&-
	done
}

vendor_start
start_edge edge "$E2B_SANDBOX_URL"
start_proxy
E2B_SANDBOX_URL=$(edge_url edge)
unset no_proxy NO_PROXY HTTPS_PROXY all_proxy ALL_PROXY
export https_proxy="http://127.0.0.1:$port"
mount_sandbox proxy
head -c 3M /dev/urandom >big

ok "3 MB are written" dd if=big of="$MNT/written" bs=128k conv=fsync status=none
ok "they are there" cmp big "$STORE/written"
cp big "$STORE/there"
sees there
ok "3 MB are read" cmp big "$MNT/there"
run_commands
is "each command ran once" "$(cat "$STORE/log")" "$(seq $COMMANDS)"
unmount

# The edge tells of all that has ended before it ends itself.
kill -USR1 "$EDGE"
wait_until "$PATIENCE" ended "$EDGE"
diag "$(tunnels asked) tunnels, $(tunnels most) at a time"
ok "the edge had requests" [ "$(connections)" -gt 0 ]
ok "no connection of the edge's went around the proxy" [ "$(connections)" -le "$(tunnels asked)" ]
done_testing
