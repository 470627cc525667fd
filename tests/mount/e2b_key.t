#!/bin/sh
# The key and the sandbox's access token stay where they belong: neither is in an argument, the mount table, a log of any
# level, the control directory or an error, also where a server says them back; the key does not reach the sandbox.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3

admin() { # METHOD ROUTE [BODY]
	vendor_request "$1" "$ADMIN/$2" "${3:-}"
}

sandbox_field() { # NAME
	vendor_request GET "$E2B_API_URL/sandboxes/$SANDBOX" | sed 's/.*"'"$1"'":"\([^"]*\)".*/\1/'
}

# nowhere NAME FILE...: neither secret is in the files; WITNESS is, or nothing was looked through.
nowhere() {
	name=$1 witness=$2
	shift 2
	ok "$name is looked through" grep -qaF -e "$witness" -- "$@"
	is "$name does not have the key" "$(grep -laF -e "$E2B_API_KEY" -- "$@")" ""
	is "$name does not have the access token" "$(grep -laF -e "$TOKEN" -- "$@")" ""
}

# What was sent to the sandbox and what lies in it: true or false.
received() { # TEXT
	admin GET "received?contains=$1" | sed 's/.*"found":\([a-z]*\).*/\1/'
}

# say_back KIND STATUS SECRET: who is asked for something answers with what it was sent.
say_back() {
	admin POST faults '{"match":{"kind":"/'"$1"'/","times":0},"action":{"type":"status","status":'"$2"',
		"body":{"code":'"$2"',"message":"'"$3"' is wrong: '"$3"'"}}}' >/dev/null
}

say_all_back() { # STATUS
	say_back sandboxes "$1" "$E2B_API_KEY"
	say_back 'process|files' "$1" "$TOKEN"
}

mend() {
	admin DELETE faults >/dev/null
}

use() {
	ls -lR "$MNT"
	cat "$MNT/file"
	echo text >"$MNT/written"
	echo "echo ran; env; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ" >"$MNT/.sandbox/exec"
	mv "$MNT/written" "$MNT/moved"
	for fact in exec id status; do
		cat "$MNT/.sandbox/$fact"
	done
}

# look NAME LEVEL: mounts, uses, lets every kind of answer go wrong, and looks for the secrets.
look() {
	mount_sandbox demo "log=$2,timeout=2,attr_timeout=0,entry_timeout=0${3:+,$3}"
	tr '\0' '\n' <"/proc/$DAEMON/cmdline" >cmdline
	cat /proc/self/mounts >mounts
	use >used 2>&1
	for status in 400 401 403 404 500 502; do
		say_all_back $status
		use >>used 2>&1
		mend
	done
	cat "$MNT/.sandbox/status" >>used
	tap_umount "$MNT"
	ok "$1: the process ends" wait_until "$PATIENCE" ended "$DAEMON"
	nowhere "$1: the arguments" "e2b:$SANDBOX" cmdline
	nowhere "$1: the mount table" "e2b:$SANDBOX" mounts
	nowhere "$1: what is read and said" "$SANDBOX" used
	[ "$2" = error ] || nowhere "$1: the log" sandboxfs "$LOG"
	rm "$LOG"
}

vendor_sandbox demo
echo content >"$STORE/file"
TOKEN=$(sandbox_field envdAccessToken)
ok "there is a token" test ${#TOKEN} -ge 32
for level in error warn info debug; do
	look $level $level
done
(umask 077 && echo "$E2B_API_KEY" >key)
key=$E2B_API_KEY
ok "a key in a file" test -s key

is "what the sandbox was sent is looked through" "$(received content)" true
is "and does not have the key" "$(received "$key")" false

# ---- What is said when nothing is mounted --------------------------------------------------------

mkdir dir
for status in 400 401 403 404 500; do
	say_back sandboxes $status "$E2B_API_KEY"
	for source in "e2b:$SANDBOX" e2b:; do
		deadline 30 "$SANDBOXFS" -f "$source" dir -o timeout=2,log=debug,key_file=key >>said 2>&1
	done
	mend
done
for status in 401 500; do
	say_back 'process|files' $status "$TOKEN"
	deadline 30 "$SANDBOXFS" -f "e2b:$SANDBOX" dir -o timeout=2,log=debug >>said 2>&1
	mend
done
nowhere "errors while mounting" "e2b" said

done_testing
