# tap_vendor.sh - sandboxes of a vendor's test server for tap.sh, which reads this with PROVIDER=VENDOR.
#
# One server at a time, started at the first mount of each user and running as that user; root's sandboxes work as root,
# so that root here may do there all that it may on a disk. What tap.sh calls "local:demo" is a sandbox that the server
# made; it stays while the user does. Exported: what the server says that clients need; ADMIN is its admin port.
# VENDOR_OPTIONS, set before the first mount, are more options of the server, separated by spaces; VENDOR_UNDER is a program
# that runs it. LAYERS and IMAGE say what the sandboxes' files lie on (tests/servers/lib/disk.mjs).

VENDOR_SERVER=
VENDOR_USER=

vendor_is_ready() {
	[ -s "$VENDOR_DIR/ready" ] || ended "$VENDOR_SERVER"
}

# Of the line that it printed: NAME='VALUE' for each variable that clients need, and for what the tests do.
vendor_environment() {
	python3 -IS -c '
import json, shlex, sys
ready = json.load(open(sys.argv[1]))
ours = {"ADMIN": ready["admin_url"], "VENDOR_KEY": ready.get("key", "")}
for name, value in {**ready["env"], **ours}.items():
    print("export %s=%s" % (name, shlex.quote(value)))
' "$VENDOR_DIR/ready"
}

# Ends the test where no server can be.
vendor_start() {
	[ "$VENDOR_USER" != "$MOUNT_AS" ] || return 0
	vendor_stop
	VENDOR_USER=$MOUNT_AS
	VENDOR_DIR=$SCRATCH/$PROVIDER.$MOUNT_AS
	rm -rf "$VENDOR_DIR" # of a server before, whose sandboxes are gone
	as_owner mkdir -p "$VENDOR_DIR/sandboxes"
	vendor_as=
	[ "$MOUNT_AS" -ne 0 ] || vendor_as=root
	# shellcheck disable=SC2086 # several words
	$(tap_become "$MOUNT_AS") ${VENDOR_UNDER:-} node "$TOP/tests/servers/$PROVIDER/main.mjs" --root "$VENDOR_DIR/sandboxes" \
		${vendor_as:+--user "$vendor_as"} ${VENDOR_OPTIONS:-} >"$VENDOR_DIR/ready" 2>"$VENDOR_DIR/err" &
	VENDOR_SERVER=$!
	wait_until "$PATIENCE" vendor_is_ready
	[ -s "$VENDOR_DIR/ready" ] ||
		skip_all "the test server of $PROVIDER does not run here: $(head -n 3 "$VENDOR_DIR/err")"
	eval "$(vendor_environment)"
}

vendor_stop() {
	[ -n "$VENDOR_SERVER" ] || return 0
	kill "$VENDOR_SERVER" 2>/dev/null
	wait_until "$PATIENCE" ended "$VENDOR_SERVER" || kill -KILL "$VENDOR_SERVER"
	VENDOR_SERVER=
	vendor_unmount
}

# What the server mounted below itself, the last first.
vendor_unmount() {
	while read -r _ vendor_at _; do
		case $vendor_at in "$VENDOR_DIR"/*) echo "$vendor_at" ;; esac
	done </proc/self/mounts | sort -r | while read -r vendor_at; do
		umount -l "$vendor_at"
	done
}

# vendor_request METHOD URL [BODY]: prints the answer of the admin port, or of an API whose key is a header X-API-Key; fails
# where the server refuses. The key is in no argument.
vendor_request() {
	curl -sS --fail --noproxy '*' --max-time "$PATIENCE" -K - -X "$1" ${3:+--data-binary "$3"} "$2" <<-END
		header = "X-API-Key: $VENDOR_KEY"
		header = "Content-Type: application/json"
	END
}

# Of the user whom the sandboxes of a mount's owner work as.
vendor_home() { # DIRECTORY
	if [ "$MOUNT_AS" -eq 0 ]; then
		echo "$1/root"
	else
		echo "$1/home"/*
	fi
}

# Sets SANDBOX, the id, and STORE, its shown directory on disk; VENDOR_SHOWN, where that is nobody's
# home inside.
vendor_sandbox() { # NAME
	vendor_start
	if [ ! -s "$VENDOR_DIR/id.$1" ]; then
		vendor_request POST "$ADMIN/create" | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p' >"$VENDOR_DIR/id.$1"
	fi
	SANDBOX=$(cat "$VENDOR_DIR/id.$1")
	STORE=$(vendor_home "$VENDOR_DIR/sandboxes/$SANDBOX")
	VENDOR_SHOWN=
	[ "$LAYERS" != no-home ] || VENDOR_SHOWN=${STORE#"$VENDOR_DIR/sandboxes/$SANDBOX"}
}
