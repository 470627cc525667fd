# tap_e2b.sh - sandboxes of the E2B test server for tap.sh, which reads this with PROVIDER=e2b.
#
# One server at a time, started at the first mount of each user and running as that user, as whom its sandboxes' users
# then work on STORE. What tap.sh calls "local:demo" is a sandbox that the server made; it stays while the user does.

E2B_SERVER=
E2B_USER=

e2b_field() { # NAME
	sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p' "$E2B_DIR/ready"
}

e2b_is_ready() {
	[ -s "$E2B_DIR/ready" ] || ended "$E2B_SERVER"
}

# Ends the test where no server can be.
e2b_start() {
	[ "$E2B_USER" != "$MOUNT_AS" ] || return 0
	e2b_stop
	E2B_USER=$MOUNT_AS
	E2B_DIR=$SCRATCH/e2b.$MOUNT_AS
	rm -rf "$E2B_DIR" # of a server before, whose sandboxes are gone
	as_owner mkdir -p "$E2B_DIR/sandboxes"
	$(tap_become "$MOUNT_AS") node "$TOP/tests/servers/e2b/main.mjs" --root "$E2B_DIR/sandboxes" \
		>"$E2B_DIR/ready" 2>"$E2B_DIR/err" &
	E2B_SERVER=$!
	wait_until "$PATIENCE" e2b_is_ready
	[ -s "$E2B_DIR/ready" ] || skip_all "the E2B test server does not run here: $(head -n 3 "$E2B_DIR/err")"
	E2B_API_URL=$(e2b_field api_url) E2B_SANDBOX_URL=$(e2b_field sandbox_url) E2B_API_KEY=$(e2b_field key)
	E2B_ADMIN=$(e2b_field admin_url)
	export E2B_API_URL E2B_SANDBOX_URL E2B_API_KEY E2B_ADMIN
}

e2b_stop() {
	[ -n "$E2B_SERVER" ] || return 0
	kill "$E2B_SERVER" 2>/dev/null
	wait_until 10 ended "$E2B_SERVER" || kill -KILL "$E2B_SERVER"
	E2B_SERVER=
}

# e2b_request METHOD URL [BODY]: prints the answer.
e2b_request() {
	python3 -c '
import os, sys, urllib.request
method, url, body = sys.argv[1:]
request = urllib.request.Request(url, body.encode() or None, {"X-API-Key": os.environ["E2B_API_KEY"],
    "Content-Type": "application/json"}, method=method)
print(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20).read().decode())
' "$1" "$2" "${3:-}"
}

# Of the user whom a mount works as (tap_sandbox_options).
e2b_home() {
	if [ "$MOUNT_AS" -eq 0 ]; then
		echo root
	else
		echo home/user
	fi
}

# Sets SANDBOX, the id, and STORE, its shown directory on disk.
e2b_sandbox() { # NAME
	e2b_start
	if [ ! -s "$E2B_DIR/id.$1" ]; then
		e2b_request POST "$E2B_API_URL/v2/sandboxes" '{"templateID":"base","timeout":3600}' |
			sed -n 's/.*"sandboxID": *"\([^"]*\)".*/\1/p' >"$E2B_DIR/id.$1"
	fi
	SANDBOX=$(cat "$E2B_DIR/id.$1")
	STORE=$E2B_DIR/sandboxes/$SANDBOX/$(e2b_home)
}
