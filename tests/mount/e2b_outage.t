#!/bin/sh
# The link to the sandbox is gone while git clones into the mount: it goes on when the link is back, and everything is there.
#
#	OUTAGE_S   for so many seconds (5)
# shellcheck disable=SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"

needs_mount

tell() { # COMMAND...
	tell_relay to_control "$@" && tell_relay to_data "$@"
}

fill_origin() {
	mkdir origin && for n in $(seq 300); do
		echo "$n" >"origin/f$n"
	done
	git -C origin init -q && git -C origin add . && git -C origin -c user.name=a -c user.email=a@b commit -qm one
}

has_begun() { test -s "$MNT/clone/.git/HEAD"; }
has_noticed() { grep -q '^sandboxfs_streams_lost_total [1-9]' "$MNT/.sandbox/stats"; }

vendor_sandbox demo
ok "a repository of 300 files" fill_origin
start_relay to_control "$E2B_API_URL"
start_relay to_data "$E2B_SANDBOX_URL"
E2B_API_URL=http://127.0.0.1:$(relay_port to_control)
E2B_SANDBOX_URL=http://127.0.0.1:$(relay_port to_data)
mount_sandbox demo "timeout=$((60 + ${OUTAGE_S:-0}))"
expect_log '.*'

deadline "$((PATIENCE + ${OUTAGE_S:-0}))" git clone -q "file://$PWD/origin" "$MNT/clone" 2>clone.err &
clone=$!
ok "a clone is under way" wait_until "$PATIENCE" has_begun
tell refuse 600 && tell cut
ok "the link is gone" wait_until "$PATIENCE" has_noticed
wait_until "${OUTAGE_S:-5}" false
tell resume
wait "$clone"
is "when it is back the clone comes to its end" "$? $(cat clone.err)" "0 "
ok "the sandbox has all of it" settle
is "what is shown is whole" "$(git -C "$MNT/clone" fsck 2>&1; git -C "$MNT/clone" status --porcelain)" ""
is "and so is what the sandbox has" "$(diff -r --exclude=.git origin "$STORE/clone")$(git -C "$STORE/clone" fsck 2>&1)" ""
unmount
done_testing
