#!/bin/sh
# After kill -9 with thousands of changes pending the next mount shows the changes and reads them at
# once, over a slow link and without one, and sends them behind that.
# shellcheck disable=SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
FAULT_KINDS=process
# shellcheck source=tests/support/tap_faults.sh
. "$TOP/tests/support/tap_faults.sh"
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"

needs_mount
needs python3

FILES=3000
# In Mbit/s: the contents take minutes over this link. Random contents cannot be compressed.
SLOW=0.2
fill='import os, sys
top, count = sys.argv[1], int(sys.argv[2])
for n in range(count):
    if n % 100 == 0:
        os.makedirs(f"{top}/work/{n // 100}")
    with open(f"{top}/work/{n // 100}/{n}", "wb") as file:
        file.write(os.urandom(1500))
with open(f"{top}/work/large", "wb") as file:
    file.write(os.urandom(4 << 20))'

read_key='import json, sys
print(json.load(open(sys.argv[1]))[sys.argv[2]])'
status() { python3 -c "$read_key" "$MNT/.sandbox/status" "$1"; } # KEY
streams_lost() { sed -n 's/^sandboxfs_streams_lost_total //p' "$MNT/.sandbox/stats"; }
has_lost_another() { [ "$(streams_lost)" -gt "$lost" ]; }

# in_time COMMAND...: what it prints. Who waits for all to be sent waits longer.
in_time() { deadline "$PATIENCE" "$@" 2>&1; }

# Takes away what was mounted last, whose process is dead.
bury() {
	wait "$DAEMON" 2>/dev/null
	tap_drop_mount "$MNT"
}

vendor_sandbox recover
mkdir "$STORE/dir"
for name in known removed moved; do
	echo before >"$STORE/dir/$name"
done
start_relay to_control "$E2B_API_URL"
start_relay to_data "$E2B_SANDBOX_URL"
E2B_API_URL=$(relay_url to_control)
E2B_SANDBOX_URL=$(relay_url to_data)
mount_sandbox recover timeout=5
expect_log '.*'
listed=$(cat "$MNT/dir"/* && ls -lR "$MNT")
lost=$(streams_lost)
link_refuse
ok "the link is gone" wait_until "$PATIENCE" has_lost_another || diag "$listed"
ok "thousands of files are made" deadline 300 python3 -c "$fill" "$MNT" $FILES
echo after >"$MNT/dir/known"
rm "$MNT/dir/removed"
mv "$MNT/dir/moved" "$MNT/dir/elsewhere"
ln -s /dir/known "$MNT/dir/link"
echo whole >"$MNT/dir/tmp"
mv "$MNT/dir/tmp" "$MNT/dir/saved"
cp -r "$MNT/work" "$SCRATCH/wanted"
shown=$(cd "$MNT" && find dir work | sort)
kill -9 "$DAEMON"
bury
mend_link
tell_relay to_data bandwidth $SLOW

mount_sandbox recover timeout=30
is "the next mount lists what is pending" "$(cd "$MNT" && find dir work | sort)" "$shown"
is "and reads it" "$(in_time cat "$MNT/dir/known" "$MNT/dir/saved")" "after
whole"
is "also the text of a link" "$(in_time readlink "$MNT/dir/link")" /dir/known
is "and a file among thousands" "$(in_time cmp "$MNT/work/7/777" "$SCRATCH/wanted/7/777")" ""
is "with its size" "$(in_time stat -c %s "$MNT/work/29/2999" "$MNT/work/large")" "1500
4194304"
ok "before all was sent" test "$(status pending_changes)" -gt 0
fails "the last file is not there yet" test -e "$STORE/work/large"

lost=$(streams_lost)
link_refuse
ok "the link is gone again" wait_until "$PATIENCE" has_lost_another
is "what is pending is listed" "$(find "$MNT/work" | wc -l)" "$(find "$SCRATCH/wanted" | wc -l)"
is "and read" "$(in_time cmp "$MNT/work/large" "$SCRATCH/wanted/large")" ""
append='echo more >>"$1/work/3/333"'
ok "a file among the pending ones is written to" in_time sh -c "$append" - "$MNT"
echo more >>"$SCRATCH/wanted/3/333"
is "and read" "$(in_time cmp "$MNT/work/3/333" "$SCRATCH/wanted/3/333")" ""
rm "$MNT/work/4/444" "$SCRATCH/wanted/4/444"
mv "$MNT/work/5" "$MNT/work/five"
mv "$SCRATCH/wanted/5" "$SCRATCH/wanted/five"

tell_relay to_data bandwidth 0
mend_link
ok "when the link is back the sandbox gets everything" settle
is "nothing is pending or refused" "$(status pending_changes) $(status parked_changes)" "0 0"
is "the sandbox has what was made" "$(diff -r "$SCRATCH/wanted" "$STORE/work" 2>&1)" ""
is "and what was changed" "$(cd "$STORE/dir" && cat known elsewhere saved && ls)" "after
before
whole
elsewhere
known
link
saved"
is "all is the same here" "$(diff -r "$STORE/work" "$MNT/work" 2>&1)" ""
unmount
done_testing
