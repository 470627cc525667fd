#!/bin/sh
# sandboxctl url: where a port of a sandbox is reached.
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
needs_mount
needs python3

a_sandbox url
needed="sandboxctl: url: a sandbox and a port are needed, as in sandboxctl url local:demo 8080"
says "no words" 2 "$needed" ctl url
if [ "$PROVIDER" = aio ]; then
	like "without a port the web pages are told" "$(ctl url "$SOURCE")" '^desktop http://[^ ]*/vnc/index.html'
	like "also as JSON" "$(ctl url --json "$SOURCE" | field_of editor)" '^http://[^ ]*/code-server/$'
else
	says "no port" 1 "sandboxctl: $PROVIDER: its sandboxes have no web pages of their own; give a port" ctl url "$SOURCE"
fi
for port in 0 65536 080 http 80x -1; do
	fails "$port is no port" ctl url -- "$SOURCE" "$port"
done
says "a word is no port" 2 "sandboxctl: url: 'http': a port is a number from 1 to 65535" ctl url "$SOURCE" http

if [ "$PROVIDER" = modal ]; then
	# Its sandboxes have the ports that they were made with.
	ctl url "$SOURCE" 8080 >said 2>&1
	is "a port that was not opened has no URL" "$? $(grep -c '^sandboxctl: .*8080.* was not opened' said)" "1 1"
	is "and the way to one is told" "$(sed -n 's/.*; \(sandboxctl create .*\) makes one that has it$/\1/p' said)" \
		"sandboxctl create modal --port 8080"
	SOURCE=$(ctl create modal --port 8080 --port 9000)
	is "one that was opened has" "$(ctl url "$SOURCE" 8080 | grep -c '^https://[^ ]*-8080\.')" 1
	is "each of several" "$(ctl url "$SOURCE" 9000 | grep -c '^https://[^ ]*-9000\.')" 1
	fails "and no other" ctl url "$SOURCE" 9001
	ctl delete "$SOURCE"
else
	is "a URL is one line and names its port" "$(ctl url "$SOURCE" 8080 | grep -c '^https\{0,1\}://[^ ]*8080')" 1
	is "one is there as JSON" "$(ctl url --json "$SOURCE" 8080 | field_of url | grep -c '^https\{0,1\}://[^ ]*8080')" 1
fi
says "no port to open" 2 "sandboxctl: create: option '--port=0': PORT is 1 to 65535" ctl create "$PROVIDER" --port 0
case $PROVIDER in
modal | aio) ;;
*) says "a port that need not be opened" 1 \
	"sandboxctl: $PROVIDER: every port has a URL, none is opened beforehand; leave '--port=' out" \
	ctl create "$PROVIDER" --port 8080 ;;
esac
if [ "$PROVIDER" = e2b ]; then
	made=$(vendor_request POST "$E2B_API_URL/v2/sandboxes" '{"templateID":"base","network":{"allowPublicTraffic":false},
		"volumeMounts":[{"name":"data","path":"/home/user/data"}]}')
	SOURCE=e2b:$(echo "$made" | field_of sandboxID)
	token=$(echo "$made" | field_of trafficAccessToken)
	is "a private port has a URL and the header that it needs" "$(ctl url "$SOURCE" 8080 | sed 1d)" "e2b-traffic-access-token: $token"
	is "one of two lines" "$(ctl url "$SOURCE" 8080 | sed -n 1p | grep -c '^https\{0,1\}://[^ ]*8080[^ ]*$')" 1
	is "also as JSON" "$(ctl url --json "$SOURCE" 8080 | field_of header)" "e2b-traffic-access-token: $token"
	is "the volume in it is told" "$(ctl info "$SOURCE" | sed -n 's/^volume  *//p')" "data on /home/user/data"
	is "as JSON" "$(ctl info --json "$SOURCE" | python3 -c 'import json, sys; print(json.load(sys.stdin)["volumes"])')" \
		"[{'name': 'data', 'path': '/home/user/data'}]"
	mkdir "$SCRATCH/volume"
	ok "and is a mount's root" "$SANDBOXFS" "$SOURCE:/home/user/data" "$SCRATCH/volume"
	echo kept >"$SCRATCH/volume/file"
	is "whose ports tell the header, too" "$(sed 1d "$SCRATCH/volume/.sandbox/ports/8080")" "e2b-traffic-access-token: $token"
	ok "it is unmounted" tap_umount "$SCRATCH/volume"
	is "with what was written" "$(ctl exec "$SOURCE" 'cat /home/user/data/file')" kept
	ctl pause "$SOURCE"
	says "the token of a paused one is not known, and it stays so" 1 \
		"sandboxctl: $SOURCE: its ports are private, and their token is not told while it is paused; sandboxctl resume wakes it" \
		ctl url "$SOURCE" 8080
	is "paused" "$(ctl info "$SOURCE" --json | field_of state)" paused
	ctl delete "$SOURCE"
fi
done_testing
