#!/bin/sh
# What keeps a sandbox of E2B from being mounted, or ends it later, is said in one line that names the thing and the way
# out, with mount(8)'s exit status; nothing is left mounted, and no sandbox that was made for the mount is left behind.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3 openssl

mkdir dir
expect_log '.*'

# refused NAME STATUS LINE SOURCE [OPTIONS]: LINE is a pattern (grep -E) for the one line that is said.
refused() {
	deadline 60 "$SANDBOXFS" -f "$4" dir -o "timeout=5${5:+,$5}" >out 2>err
	is "$1: exit status" $? "$2"
	is "$1: one line" "$(wc -l <err)" 1
	is "$1: it says what and what to do" "$(grep -vE "^sandboxfs: $3\$" err)" ""
	is "$1: nothing is mounted" "$(tap_is_mounted "$SCRATCH/dir" && echo yes)" ""
}

vendor_sandbox demo
good=e2b:$SANDBOX
KEY=$E2B_API_KEY

# ---- The key -------------------------------------------------------------------------------------

unset E2B_API_KEY
refused "no key" 1 'e2b: no key: set E2B_API_KEY, log in with e2b auth login, or give -o key_file=FILE \(mode 0600\), with sandboxctl --key-file FILE; sudo and mount\(8\) do not pass the environment on' \
	"$good"
echo "two words" >key
chmod 600 key
refused "a key file without a key" 1 "key_file $SCRATCH/key: its first line is not a key: it holds characters that no key has, or is too long" \
	"$good" key_file=key
: >key
refused "an empty key file" 1 "key_file $SCRATCH/key: its first line is not a key: it is empty" "$good" key_file=key
echo "$KEY" >key
chmod 644 key
refused "a key file that others can read" 1 "key_file $SCRATCH/key: mode 0644 lets others at the key; chmod 600 $SCRATCH/key" \
	"$good" key_file=key
E2B_API_KEY=e2b_0000000000000000000000000000000000000000
export E2B_API_KEY
refused "a wrong key" 1 'e2b: the key is not accepted: .*; E2B_API_KEY or -o key_file= must be a key of the sandbox.s team' \
	"$good"
E2B_API_KEY=$KEY

# ---- The sandbox ---------------------------------------------------------------------------------

refused "an unknown id" 32 'e2b:i0123456789: no such sandbox, or it belongs to another team' e2b:i0123456789
refused "a malformed id" 1 "e2b: 'No_Such' is no sandbox ID: they are letters a to z and digits" e2b:No_Such
refused "a path that is not there" 32 '.*/home/user/none.*' "$good:/home/user/none"
echo x >"$STORE/file"
refused "a path that is a file" 32 ".*/file.*" "$good:$([ "$MOUNT_AS" -eq 0 ] && echo /root || echo /home/user)/file"
refused "an unknown user" 1 '.*nobody-there.*' "$good" user=nobody-there
refused "a template for a sandbox that is there" 1 \
	"option 'template=': e2b:.* exists already; leave one of the two out" "$good" template=base

for asked in name=box cpus=2 memory=1G disk=10G gpu=T4 region=eu idle=60 delete_after=60; do
	refused "$asked for a new sandbox" 32 "e2b: a new sandbox cannot be given '${asked%%=*}='; leave it out" e2b: "$asked"
done

# ---- The way there -------------------------------------------------------------------------------

with_api() { # URL NAME STATUS LINE SOURCE
	api=$E2B_API_URL E2B_API_URL=$1
	shift
	refused "$@"
	E2B_API_URL=$api
}

# A port where nobody listens, found by listening and letting go.
closed_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

openssl req -x509 -newkey rsa:2048 -nodes -keyout tls.key -out tls.pem -days 2 -subj /CN=localhost \
	-addext subjectAltName=DNS:localhost 2>/dev/null
python3 -u -c '
import http.server, ssl
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("tls.pem", "tls.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1])
server.serve_forever()' >tls.port 2>/dev/null &
tap_daemons="$tap_daemons $!"
wait_until "$PATIENCE" test -s tls.port

with_api "http://127.0.0.1:$(closed_port)" "nobody listens" 32 'GET http://127.0.0.1:.*' "$good"
with_api "https://localhost:$(cat tls.port)" "a certificate that nobody vouches for" 1 \
	'GET https://localhost:.*; SSL_CERT_FILE can name the authority to be trusted' "$good"
with_api http://api.example.com "a key in plain text over the network" 1 '.*http://api.example.com.*https.*' "$good"
with_api "$E2B_SANDBOX_URL" "an address that is not the control plane's" 32 '.*E2B_API_URL.*' "$good"

# ---- A sandbox that sleeps, and one that dies ------------------------------------------------------

admin() { # METHOD ROUTE
	vendor_request "$1" "$ADMIN/$2"
}

requests() {
	admin GET counters | sed 's/.*"total":{"requests":\([0-9]*\).*/\1/'
}

state() {
	vendor_request GET "$E2B_API_URL/sandboxes/$SANDBOX" | sed 's/.*"state":"\([a-z]*\)".*/\1/'
}

# error_of COMMAND...: the words for its errno.
error_of() {
	deadline "$PATIENCE" "$@" 2>&1 >/dev/null | sed 's/.*: //'
}

vendor_sandbox sleeper
admin POST "pause/$SANDBOX" >/dev/null
refused "a sandbox that is paused and must not be woken" 32 \
	"sandbox e2b:$SANDBOX is paused; -o resume=access lets a mount wake it" "e2b:$SANDBOX" resume=never
is "it still sleeps" "$(state)" paused

mount_sandbox sleeper
is "mounting wakes it" "$(state)" running
echo text >"$MNT/file"
settle
admin POST "pause/$SANDBOX" >/dev/null
is "a sandbox that is paused later" "$(state)" paused
is "is woken by who uses it" "$(deadline "$PATIENCE" cat "$MNT/file" 2>&1)" text
is "and it is written to" "$(echo more 2>&1 >"$MNT/more" && settle && cat "$STORE/more")" more
is "it runs" "$(state)" running
unmount

# Only a user's access wakes it, not the thread that gives it more time at half of what is left.
admin POST "pause/$SANDBOX" >/dev/null
mount_sandbox sleeper lifetime=8
echo more >"$MNT/more"
settle
admin POST "pause/$SANDBOX" >/dev/null
admin POST reset >/dev/null
renewals() {
	admin GET counters | grep -qE '"POST /sandboxes/\{id\}/(refreshes|timeout)"'
}
ok "it is given more time while it sleeps" wait_until "$PATIENCE" renewals
is "which does not wake it" "$(state)" paused
unmount
# umount(8) may have woken it: then it ends by itself while the sandboxes are counted below.
admin POST "kill/$SANDBOX" >/dev/null

# A sandbox of its own: whether umount(8) looked at the one before, and woke it, depends on what was
# still known of it.
vendor_sandbox dozer
echo text >"$STORE/file"
mount_sandbox dozer resume=never,attr_timeout=0,entry_timeout=0
admin POST "pause/$SANDBOX" >/dev/null
is "one that must not be woken is gone" "$(error_of stat "$MNT/file")" "Transport endpoint is not connected"
is "and sleeps on" "$(state)" paused
tap_umount "$MNT"
ok "the process ends" wait_until "$PATIENCE" ended "$DAEMON"

vendor_sandbox mortal
mount_sandbox mortal attr_timeout=0,entry_timeout=0
ls "$MNT" >/dev/null
admin POST "kill/$SANDBOX" >/dev/null
is "one that was killed is gone" "$(error_of stat "$MNT/file")" "Transport endpoint is not connected"
before=$(requests)
is "for whoever asks again" "$(error_of ls "$MNT/file")" "Transport endpoint is not connected"
is "who writes" "$(error_of sh -c 'echo x >"$1"' - "$MNT/new")" "Transport endpoint is not connected"
echo true >"$MNT/.sandbox/exec"
ok "who runs a command" grep -q '"exit_code": null.*"error": "[^"]*is gone' "$MNT/.sandbox/exec"
is "without a request" "$(requests)" "$before"
ok "its status says why" grep -q 'is gone"' "$MNT/.sandbox/status"
tap_umount "$MNT"
ok "its process ends" wait_until "$PATIENCE" ended "$DAEMON"
is "and said so in one line" "$(cat "$LOG")" "sandboxfs: cache: warn: /: sandbox e2b:$SANDBOX is gone"

# ---- A sandbox of the mount's own ------------------------------------------------------------------

sandboxes() {
	vendor_request GET "$E2B_API_URL/v2/sandboxes?state=running,paused" | grep -o '"sandboxID":"[^"]*"' | sort
}

# mount_own OPTIONS: sets OWN, its id, as the line on stdout says it.
mount_own() {
	: >out
	"$SANDBOXFS" -f e2b: dir -o "timeout=5${1:+,$1}" >out 2>err &
	DAEMON=$!
	tap_daemons="$tap_daemons $DAEMON"
	tap_mounts="$tap_mounts $SCRATCH/dir"
	wait_until "$PATIENCE" grep -q made out
	OWN=$(sed -n 's/^sandboxfs: made e2b:\([a-z0-9]*\).*/\1/p' out)
}

own_field() { # NAME
	vendor_request GET "$E2B_API_URL/sandboxes/$OWN" | sed 's/.*"'"$1"'":"\([^"]*\)".*/\1/'
}

seconds_left() {
	echo $(($(date -d "$(own_field endAt)" +%s) - $(date +%s)))
}

before=$(sandboxes)
mount_own template=fancy,lifetime=900,env=COLOUR=red,env=SHAPE=a=b,label=team=blue
ok "without an id one is made" test -n "$OWN"
is "from the template that was asked for" "$(own_field templateID)" fancy
is "with the label" "$(own_field team)" blue
echo 'echo $COLOUR $SHAPE' >dir/.sandbox/exec
is "and the variables" "$(grep -o '"stdout": "red a=b' dir/.sandbox/exec)" '"stdout": "red a=b'
left=$(seconds_left)
is "for the time that was asked for ($left s)" "$([ "$left" -gt 840 ] && [ "$left" -le 900 ] && echo yes)" yes
ok "it can be written to" sh -c 'echo x >dir/file'
tap_umount "$SCRATCH/dir"
ok "the process ends" wait_until "$PATIENCE" ended "$DAEMON"
is "after the unmount it is deleted" "$(sandboxes)" "$before"

mount_own
kill -TERM "$DAEMON"
ok "SIGTERM ends it" wait_until "$PATIENCE" ended "$DAEMON"
is "and it is deleted as well" "$(sandboxes)" "$before"
is "nothing is mounted" "$(tap_is_mounted "$SCRATCH/dir" && echo yes)" ""

refused "a sandbox of its own whose path cannot be made" 32 '.*/dev/null/none.*' e2b::/dev/null/none
is "leaves none behind" "$(sandboxes)" "$before"

mount_own keep
tap_umount "$SCRATCH/dir"
ok "with keep: the process ends" wait_until "$PATIENCE" ended "$DAEMON"
ok "and the sandbox stays" test "$(own_field state)" = running
vendor_request DELETE "$E2B_API_URL/sandboxes/$OWN" >/dev/null

done_testing
