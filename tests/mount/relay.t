#!/bin/sh
# The relay (tests/relay), with which other tests make a link slow or let it fail, is itself as slow and as broken as it says.
. "${0%/*}/../support/tap.sh"

PROGRAMS=${PROGRAMS:-$TOP/build/gcc-plain/tests/bin}
RELAY=$PROGRAMS/relay
PEER=$TOP/tests/mount/relay-peer.py
CONTROL=$SCRATCH/control
[ -x "$RELAY" ] || skip_all "$RELAY is not built: make check builds it"
needs python3

# start FILE COMMAND...: in the background; returns when it has written its first line to FILE.
start() {
	start_file=$1
	shift
	"$@" >"$start_file" &
	tap_daemons="$tap_daemons $!"
	wait_until "$PATIENCE" test -s "$start_file"
}

# link OPTIONS...: a relay to the server. Sets PORT and LINK, its process.
link() {
	rm -f "$SCRATCH/ready"
	start "$SCRATCH/ready" "$RELAY" --control="$CONTROL" "$@" "$SERVER" || exit 1
	LINK=$!
	PORT=$(sed 's/[^0-9]//g' "$SCRATCH/ready")
}

end_link() {
	kill "$LINK"
	wait "$LINK"
	is "the relay ends with TERM, and well" $? 0
}

# check NAME FUNCTION ARGUMENTS...: of relay-peer.py, through the link.
check() {
	check_name=$1
	check_function=$2
	shift 2
	ok "$check_name" deadline 300 python3 "$PEER" "$check_function" "$PORT" "$@"
}

start "$SCRATCH/server" python3 "$PEER" serve || exit 1
BEHIND=$!
SERVER=$(cat "$SCRATCH/server")

link
check "without options nothing is slow" round_trip 0
check "many connections at once" many_at_once 100
check "one direction ends before the other" half_close
check "connections are cut" cut "$RELAY" "$CONTROL"
check "new connections are refused for a time" refuse "$RELAY" "$CONTROL"
check "nothing moves for a time, and is held" stall "$RELAY" "$CONTROL"
check "nothing moves until it is resumed" stall_until_resumed "$RELAY" "$CONTROL"
check "those that exist go silent, new ones work" ghost "$RELAY" "$CONTROL"
check "and are not even acknowledged when they are lost" lose "$RELAY" "$CONTROL"
check "a reset after so many bytes both ways" reset_after "$RELAY" "$CONTROL"
check "a reset after so many bytes of the server" reset_after_from_server "$RELAY" "$CONTROL"
"$RELAY" --tell="$CONTROL" zero >/dev/null
check "(one connection to be counted)" transfers 100000
is "what went through is counted" \
	"$("$RELAY" --tell="$CONTROL" counters | sed 's/, "resets.*bytes_to_s/, "bytes_to_s/; s/, "reads.*/}/; s/"open": [0-9]*, //')" \
	'{"connections": 1, "bytes_to_server": 100096, "bytes_to_client": 100070}'
fails "a command that does not exist" "$RELAY" --tell="$CONTROL" explode
fails "a command without its number" "$RELAY" --tell="$CONTROL" stall
fails "a command with a number it does not take" "$RELAY" --tell="$CONTROL" cut 1
fails "a port that is taken" deadline 5 "$RELAY" --listen="$PORT" "$SERVER"
end_link
is "its socket is gone" "$(ls "$CONTROL" 2>/dev/null)" ""

link --window=65536
check "who does not read holds up nobody else" held_back 30000000 "$RELAY" "$CONTROL"
end_link

link --delay=20 --bandwidth=100
check "a round trip takes twice the delay" round_trip 20
check "a new connection takes a round trip more" first_answer 20 2
check "the bandwidth is not exceeded" bandwidth 20 100 2000000
check "two share it fairly" shared_bandwidth 20 100 1000000
"$RELAY" --tell="$CONTROL" delay 50 >/dev/null
check "the delay can be changed" round_trip 50
end_link

link --delay=20 --up=20 --down=100
check "the two ways may differ" ways 20 20 100 1000000
end_link

link --forget=1
check "idle connections are forgotten" forget 1
end_link

link --delay=20 --no-handshake
check "a new connection that costs nothing" first_answer 20 1
end_link

# Ten segments are 14480 bytes; doubling, 100000 need three round trips.
link --delay=20 --slow-start
check "slow start takes a round trip for each doubling" slow_start 20 100000 3
end_link

link --delay=1
kill "$BEHIND"
wait_until "$PATIENCE" ended "$BEHIND"
check "a server that is gone is a reset" server_is_gone
end_link

done_testing
