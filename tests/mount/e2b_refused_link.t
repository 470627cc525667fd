#!/bin/sh
# Connections to the sandbox are refused for some seconds: what asks meanwhile waits and is served, a small read as well as a
# large one, a save with fsync, a command.
#
#	REFUSED_S   for so many seconds (5)
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"

needs_mount
needs_vendor

vendor_sandbox demo
head -c 2000 /dev/urandom >small
head -c 3000000 /dev/urandom >large
for name in small large; do
	mkdir "$STORE/$name.d" && cp "$name" "$STORE/$name.d/"
done
start_relay to_control "$E2B_API_URL"
start_relay to_data "$E2B_SANDBOX_URL"
E2B_API_URL=$(relay_url to_control)
E2B_SANDBOX_URL=$(relay_url to_data)
mount_sandbox demo
expect_log '.*'
is "both files are seen" "$(cd "$MNT" && find . -name 'small' -o -name 'large' | sort | tr '\n' ' ')" "./large.d/large ./small.d/small "
# It ends by itself.
tell refuse "${REFUSED_S:-5}" && tell cut

# in_the_background NAME COMMAND...: its exit status goes to NAME.status.
in_the_background() {
	name=$1
	shift
	(deadline "$PATIENCE" "$@" >"$name.out" 2>&1; echo "$?" >"$name.status") &
}

in_the_background small_read cmp small "$MNT/small.d/small"
in_the_background large_read cmp large "$MNT/large.d/large"
in_the_background save sh -c 'cp "$1" "$2" && sync "$2"' sh small "$MNT/saved"
in_the_background command sh -c 'echo "echo ran >>log" >"$1"' sh "$MNT/.sandbox/exec"
wait_until "$PATIENCE" test -s small_read.status -a -s large_read.status -a -s save.status -a -s command.status
for name in small_read large_read save command; do
	is "$name waits and is done" "$(cat "$name.status" "$name.out")" 0
done
is "what was saved is in the sandbox" "$(cmp small "$STORE/saved" 2>&1)" ""
is "the command ran once" "$(cat "$STORE/log")" ran
unmount
done_testing
