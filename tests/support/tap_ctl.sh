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

# limited SUBCOMMAND WORDS...: with --timeout 1, or with more where the machine is so busy that nothing is printed by then.
limited() {
	tap_verb=$1
	shift
	for tap_limit_s in 1 4 16 64; do
		tap_limited=$(ctl "$tap_verb" --timeout $tap_limit_s "$@" 2>&1)
		tap_status=$?
		[ -z "$tap_limited" ] || break
	done
	printf '%s\n' "$tap_limited"
	return $tap_status
}

# completes NAME CANDIDATES WORD...: sooner or later, where a program is asked, which has two seconds at a time.
completes() {
	tap_completes=$1 tap_wanted=$2
	shift 2
	ok "$tap_completes" wait_until "$PATIENCE" tap_completes_so "$@"
}

tap_completes_so() {
	[ "$("$SANDBOXCTL" --complete "$@" | cut -f 1 | sort | tr '\n' ' ')" = "$tap_wanted" ]
}

# a_sandbox NAME: sets SOURCE, "PROVIDER:ID" of a sandbox, and STORE, its working directory on disk.
a_sandbox() {
	tap_sandbox "$1" "$XDG_DATA_HOME"
	"$SANDBOXCTL" exec "$SOURCE" true </dev/null
}
