#!/bin/sh
# Sandboxes of E2B with a daemon of each age, which a template or a paused sandbox keeps: what a mount does works on each.
#
#	ENVD_VERSIONS    the daemon's versions, instead of those here: each is the last before, or the first with, what the
#	                 newer ones can
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3
VERSIONS=${ENVD_VERSIONS:-0.1.1 0.2.0 0.3.0 0.5.6 0.5.7 0.6.13}

# A server of that age.
begin() { # VERSION
	vendor_stop
	VENDOR_USER=
	VENDOR_OPTIONS="--envd $1"
	tap_prefix="$1: "
	mount_sandbox "v$1" attr_timeout=600,entry_timeout=600
}

run() { # COMMAND: in the sandbox, by .sandbox/exec; prints its output
	printf '%s' "$1" >"$MNT/.sandbox/exec" &&
		python3 -c 'import json, sys; print(json.load(sys.stdin)["output"], end="")' <"$MNT/.sandbox/exec"
}

job_prints() { # NUMBER TEXT
	[ "$(cat "$MNT/.sandbox/jobs/$1/output")" = "$2" ]
}

# Nothing but the stream tells: what is known of names lasts for ten minutes.
is_told() { # NAME TEXT
	[ "$(cat "$MNT/$1" 2>/dev/null)" = "$2" ]
}

empty_files() {
	find "$HOME_THERE" -type f -size 0 ! -path '*/.sandboxfs/*'
}

works_on() { # VERSION
	begin "$1"
	cp small large "$MNT/"
	ok "what was written arrives" settle
	# Root's home, or the usual user's: the mount names that one where the daemon has no default.
	HOME_THERE=$(dirname "$(find "$VENDOR_DIR/sandboxes/$SANDBOX" -name small)")
	ok "a small file is whole there" cmp small "$HOME_THERE/small"
	ok "and a large one" cmp large "$HOME_THERE/large"
	is "no file is left empty" "$(empty_files)" ""
	cp large "$HOME_THERE/beside"
	ok "what is made there is told of" wait_until "$PATIENCE" cmp large "$MNT/beside"
	is "a command runs, and its input ends" "$(run 'cat; wc -c <large; whoami >/dev/null && echo ended')" "$(wc -c <large)
ended"
	is "a job runs" "$(printf 'cat small' >"$MNT/.sandbox/spawn" && cat "$MNT/.sandbox/spawn")" 1
	ok "and prints" wait_until "$PATIENCE" job_prints 1 "$(cat small)"
	ok "what a command prints at length comes" sh -c '"$1" exec "$2" cat large </dev/null | cmp - large' - "$SANDBOXCTL" "$SOURCE"
	unmount
}

printf 'a few words\n' >small
head -c 3000000 /dev/urandom >large
for version in $VERSIONS; do
	works_on "$version"
done

# ---- One that is older than it says --------------------------------------------------------------

is_refused() {
	python3 -c 'import json, sys
status = json.load(open(sys.argv[1]))
sys.exit(status["pending_changes"] != 0 or status["parked_changes"] == 0)' "$MNT/.sandbox/status"
}

uploads() {
	vendor_request GET "$ADMIN/counters" | python3 -c '
import json, sys
print(json.load(sys.stdin)["kinds"].get("POST /files", {}).get("requests", 0))'
}

# Whatever is done the answer stays the same: to ask again each second would help nobody.
begin 0.6.13
vendor_request POST "$ADMIN/faults" '{"match":{"kind":"POST /files","times":0},"action":{"type":"status","status":500,
	"body":{"code":500,"message":"error parsing multipart form: request Content-Type isn'"'"'t multipart/form-data"}}}' >/dev/null
before=$(uploads)
cp large "$MNT/"
ok "what it cannot store is refused" wait_until "$PATIENCE" is_refused
is "and was asked of it once" "$(($(uploads) - before))" 1
tap_umount "$MNT"
wait_until "$PATIENCE" ended "$DAEMON"
wait "$DAEMON"
is "the end of the mount tells that" $? 32
done_testing
