# tap_relay.sh - links in trouble (tests/relay), sourced after tap.sh.
RELAY=${PROGRAMS:-$TOP/build/gcc-plain/tests/bin}/relay
[ -x "$RELAY" ] || skip_all "$RELAY is not built: make check builds it"

# start_relay NAME URL: between clients and the server that has this URL.
start_relay() {
	"$RELAY" --control="$SCRATCH/$1" "${2##*:}" >"$SCRATCH/$1.port" &
	tap_daemons="$tap_daemons $!"
	wait_until "$PATIENCE" test -s "$SCRATCH/$1.port" || exit 1
}

# Where clients connect instead.
relay_port() { # NAME
	sed 's/[^0-9]//g' "$SCRATCH/$1.port"
}

tell_relay() { # NAME COMMAND...
	tap_relay=$1
	shift
	"$RELAY" --tell="$SCRATCH/$tap_relay" "$@" >/dev/null
}
