# tap_relay.sh - links in trouble (tests/relay), sourced after tap.sh.
RELAY=${PROGRAMS:-$TOP/build/gcc-plain/tests/bin}/relay
[ -x "$RELAY" ] || skip_all "$RELAY is not built: make check builds it"

# start_relay NAME URL: between clients and the server that has this URL.
start_relay() {
	"$RELAY" --control="$SCRATCH/$1" "${2##*:}" >"$SCRATCH/$1.port" &
	tap_helpers="$tap_helpers $!"
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

# ---- Two links, to_control and to_data, in the same trouble ----------------------------------------

relay_url() { # NAME
	echo "http://127.0.0.1:$(relay_port "$1")"
}

tell() { # COMMAND...
	tell_relay to_control "$@" && tell_relay to_data "$@"
}

link_stall() { tell stall 0; }
link_ghost() { tell ghost; }
link_refuse() { tell refuse 600 && tell cut; }
link_reset() { tell reset-after-from-server 700; }
mend_reset() { tell reset-after-from-server 0; }
mend_link() { tell resume; }
