#!/bin/sh
# The URLs of a sandbox's ports, through .sandbox/ports.
. "${0%/*}/../support/tap.sh"
needs_mount
needs python3

mount_sandbox ports
PORTS=$MNT/.sandbox/ports

is "no port is listed" "$(ls "$PORTS")" ""
is "each is a file for its owner" "$(stat -c '%F %a' "$PORTS/8080")" "regular empty file 400"
fails "0 is no port" stat "$PORTS/0"
fails "nor is 65536" stat "$PORTS/65536"
fails "nor is 080, which would be one" stat "$PORTS/080"
fails "nor is a word" stat "$PORTS/http"
fails "none can be made" mkdir "$PORTS/new"
fails "none can be removed" rm -f "$PORTS/8080"

if [ "$PROVIDER" = modal ]; then
	expect_log 'port 8080 was not opened'
	# Its sandboxes have the ports that they were made with.
	fails "a port that was not opened has no URL" cat "$PORTS/8080"
else
	is "a URL is one line and names its port" "$(grep -c '^https\{0,1\}://[^ ]*8080' "$PORTS/8080")" 1
	is "it can be read in parts" "$(dd if="$PORTS/8080" bs=3 2>/dev/null | grep -c '://.*8080')" 1
fi

if [ "$PROVIDER" = local ]; then
	# The port is its own choice, so that nobody else has it.
	cat >"$MNT/serve.py" <<'END'
import http.server, threading

server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
with open("port", "w") as out:
    print(server.server_port, file=out)
server.handle_request()
END
	echo found >"$MNT/page"
	echo 'exec python3 serve.py' >"$MNT/.sandbox/exec" &
	server=$!
	ok "a program listens" wait_until "$PATIENCE" test -s "$MNT/port"
	url=$(cat "$PORTS/$(cat "$MNT/port")")
	is "and is reached there" "$(python3 -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1] + "/page").read().decode().strip())' "$url")" found
	wait "$server"
fi

unmount
done_testing
