#!/bin/sh
# The key, and what else of a sandbox is secret, stay where they belong: they are in no argument, in no log of any level, not
# in the mount table, the control directory or an error, also where a server says them back; the key does not reach the
# sandbox. With PROVIDER=VENDOR.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs_vendor
needs node python3

admin() { # METHOD ROUTE [BODY]
	vendor_request "$1" "$ADMIN/$2" "${3:-}"
}

# nowhere NAME WITNESS FILE...: no secret is in the files; WITNESS is, or nothing was looked through.
nowhere() {
	name=$1 witness=$2
	shift 2
	ok "$name is looked through" grep -qaF -e "$witness" -- "$@"
	for secret in $SECRETS; do
		is "$name does not have a secret" "$(grep -laF -e "$secret" -- "$@")" ""
	done
}

# What was sent to the sandbox and what lies in it: true or false.
received() { # TEXT
	admin GET "received?contains=$1" | sed 's/.*"found":\([a-z]*\).*/\1/'
}

# Whoever is asked for something says back what he was sent.
say_back() { # STATUS [PATTERN]: of requests whose path matches
	admin POST faults '{"match":{"kind":"/./","path":"'"${2:-.}"'","times":0},"action":{"type":"say_back","status":'"$1"'}}' >/dev/null
}

mend() {
	admin DELETE faults >/dev/null
}

write_and_move() {
	echo text >"$MNT/written"
	mv "$MNT/written" "$MNT/moved"
}

use() {
	ls -lR "$MNT"
	cat "$MNT/file"
	write_and_move
	echo "echo ran; env; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ" >"$MNT/.sandbox/exec"
	echo "env; echo a job ran" >"$MNT/.sandbox/spawn"
	for fact in exec id ports/8000 spawn jobs/1/status jobs/1/output stats status; do
		cat "$MNT/.sandbox/$fact"
	done
}

# The same, where each of it waits until its time is over: all at once.
use_in_vain() (
	ls -lR "$MNT" &
	cat "$MNT/file" &
	write_and_move &
	echo "echo ran" >"$MNT/.sandbox/exec" &
	echo "echo a job ran" >"$MNT/.sandbox/spawn" &
	for fact in exec id ports/8000 spawn jobs/1/status jobs/1/output stats status; do
		cat "$MNT/.sandbox/$fact" &
	done
	wait
)

# Contents that have a request of their own are refused, and status says why.
is_upload_refused() {
	head -c 2000000 /dev/urandom >"$MNT/large"
	sync "$MNT/large"
	grep 'this is wrong' "$MNT/.sandbox/status"
} >>used 2>&1

# On some vendors contents are the input of a program.
refuse_upload() { # LEVEL
	case $PROVIDER in
	aio | modal) return ;;
	esac
	say_back 400 'file|upload'
	ok "$1: status shows why an upload was refused" wait_until "$PATIENCE" is_upload_refused
	mend
}

# A machine may stall for longer than the time-out of this mount: what failed then is done again.
job_ran() {
	grep -qsE '"state": *"(running|exited)"' "$MNT"/.sandbox/jobs/*/status || use >>used 2>&1
	grep -q 'a job ran' "$MNT"/.sandbox/jobs/*/output
}

# look LEVEL STATUSES: mounts, uses, lets every answer go wrong, and looks for the secrets.
look() {
	mount_sandbox demo "log=$1,timeout=2,attr_timeout=0,entry_timeout=0"
	tr '\0' '\n' <"/proc/$DAEMON/cmdline" >cmdline
	cat /proc/self/mounts >mounts
	use >used 2>&1
	ok "$1: a job runs" wait_until "$PATIENCE" job_ran
	cat "$MNT"/.sandbox/jobs/*/output >>used
	refuse_upload "$1"
	for status in $2; do
		say_back "$status"
		use_in_vain >>used 2>&1
		mend
	done
	cat "$MNT/.sandbox/status" >>used
	tap_umount "$MNT"
	ok "$1: the process ends" wait_until "$PATIENCE" ended "$DAEMON"
	nowhere "$1: the arguments" "$SOURCE" cmdline
	nowhere "$1: the mount table" "$SOURCE" mounts
	nowhere "$1: what is read and said" "$SANDBOX" used
	[ "$1" = error ] || nowhere "$1: the log" sandboxfs "$LOG"
	rm "$LOG"
}

vendor_sandbox demo
echo content >"$STORE/file"
SECRETS="$VENDOR_KEY $(admin GET "secrets/$SANDBOX" | tr -d '[]",')"
look debug "${STATUSES:-400 500}"
# LEVELS: error, warn, info; what they write is in the log of debug.
for level in ${LEVELS:-}; do
	look $level 401
done
is "what the sandbox was sent is looked through" "$(received content)" true
is "and does not have the key" "$(received "$VENDOR_KEY")" false

# ---- What is said when nothing is mounted --------------------------------------------------------

mkdir dir
(umask 077 && echo "$VENDOR_KEY" >key)
for status in ${STATUSES:-401 404}; do
	say_back "$status"
	for source in "$PROVIDER:$SANDBOX" "$PROVIDER:"; do
		deadline 60 "$SANDBOXFS" -f "$source" dir -o timeout=2,log=debug,key_file=key >>said 2>&1
	done
	mend
done
nowhere "errors while mounting" "$PROVIDER" said

done_testing
