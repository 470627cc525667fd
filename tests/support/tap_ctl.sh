# tap_ctl.sh - what the tests of sandboxctl share, sourced after tap.sh.

ctl() {
	deadline "$PATIENCE" "$SANDBOXCTL" "$@"
}

# says NAME STATUS TEXT COMMAND...: its exit status, and all that it prints on both streams.
says() {
	tap_wanted="exit status $2
$3"
	tap_says=$1
	shift 3
	tap_got=$("$@" 2>&1)
	tap_got="exit status $?
$tap_got"
	is "$tap_says" "$tap_got" "$tap_wanted"
}

# like NAME GOT PATTERN: a line of it matches (grep -E).
like() {
	printf '%s\n' "$2" | grep -Eq -e "$3" && tap_line 0 "$1" && return
	tap_line 1 "$1"
	diag "got:    $2"
	diag "wanted: $3"
}

# What a JSON object on standard input has: field NAME
field() {
	python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}

# a_sandbox NAME: sets SOURCE, "PROVIDER:ID" of a sandbox, and STORE, its working directory on disk.
a_sandbox() {
	tap_sandbox "$1" "$XDG_DATA_HOME"
	"$SANDBOXCTL" exec "$SOURCE" true </dev/null
}
