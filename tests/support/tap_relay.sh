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

relay_url() { # NAME
	echo "http://127.0.0.1:$(relay_port "$1")"
}

tell_relay() { # NAME COMMAND...
	tap_relay=$1
	shift
	"$RELAY" --tell="$SCRATCH/$tap_relay" "$@" >/dev/null
}

# ---- A link to the sandbox of any vendor -----------------------------------------------------------

tap_vendor_said() { # NAME
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' \
		"$VENDOR_DIR/ready" "$1"
}

# Where the data plane is, of vendors whose control plane says so.
tap_data_url() {
	case $PROVIDER in
	daytona) tap_vendor_said proxy_url ;;
	langsmith) tap_vendor_said sandbox_url ;;
	modal) tap_vendor_said api_url ;;
	esac
}

# A container of AIO's is named after its address.
tap_rename_sandbox() { # NAME NEW
	ln -s "$VENDOR_DIR/sandboxes/$SANDBOX" "$VENDOR_DIR/sandboxes/$2"
	echo "$2" >"$VENDOR_DIR/id.$1"
}

# All that goes to the sandbox of this name goes through the link "link".
lay_link() { # NAME
	case $PROVIDER in
	e2b)
		start_relay link "$E2B_SANDBOX_URL"
		E2B_SANDBOX_URL=$(relay_url link)
		;;
	runloop)
		start_relay link "$RUNLOOP_BASE_URL"
		RUNLOOP_BASE_URL=$(relay_url link)
		;;
	aio)
		start_relay link "${SANDBOX#*_}"
		tap_rename_sandbox "$1" "127.0.0.1_$(relay_port link)"
		;;
	*)
		start_relay link "$(tap_data_url)"
		vendor_request POST "$ADMIN/router/$(relay_port link)" >/dev/null
		;;
	esac
}

# ---- Two links, to_control and to_data, in the same trouble ----------------------------------------

tell() { # COMMAND...
	tell_relay to_control "$@" && tell_relay to_data "$@"
}

link_stall() { tell stall 0; }
link_ghost() { tell ghost; }
link_refuse() { tell refuse 600 && tell cut; }
link_reset() { tell reset-after-from-server 700; }
mend_reset() { tell reset-after-from-server 0; }
mend_link() { tell resume; }
