#!/bin/sh
# A copy of a request that arrives when others have been answered since does not go over what they wrote, and one that arrives
# beside it does nothing a second time.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3

# Each line over the beginning of the file, which stays open: so it leaves alone.
write_lines() {
	python3 -c '
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY)
for line in sys.stdin:
    os.pwrite(file, line.encode(), 0)' "$MNT/file" <go
}

has() { # TEXT
	[ "$(cat "$STORE/file")" = "$1" ]
}

nothing_pending() {
	grep -q '"pending_changes": *0\b' "$MNT/.sandbox/status"
}

# arrives TEXT: it is written, and answered.
arrives() {
	echo "$1" >&8
	ok "$1 is in the sandbox" wait_until "$PATIENCE" has "$1"
	ok "$1 is answered" wait_until "$PATIENCE" nothing_pending
}

vendor_sandbox demo
echo before >"$STORE/file"
mkfifo go
mount_sandbox demo
cat "$MNT/file" >/dev/null
write_lines &
writer=$!
exec 8>go
arrives opened
vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/process/"},"action":{"type":"keep_copy"}}' >/dev/null
arrives first.
arrives second
is "a copy of the first arrives" "$(vendor_request POST "$ADMIN/deliver")" "[200]"
ok "the second is still there" has second
is "here, too" "$(cat "$MNT/file")" second
arrives third.
exec 8>&-
wait $writer
unmount

# What the sandbox decides is asked of it name by name, and all of that arrives twice at once.
each_new() {
	for n in $(seq 12); do
		mkdir "$MNT/d$n" && echo "$n" >"$MNT/d$n/new" && ln "$MNT/d$n/new" "$MNT/d$n/link" &&
			mv "$MNT/d$n/link" "$MNT/d$n/moved" && rm "$MNT/d$n/new" || return
	done
}

mount_sandbox demo excl=remote
vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/process/","times":0},"action":{"type":"duplicate"}}' >/dev/null
ok "what arrives twice is done once" each_new
vendor_request DELETE "$ADMIN/faults" >/dev/null
unmount
is "and all of it is there" "$(cd "$STORE" && cat d*/* | sort -n | tr '\n' ' ')$(ls -d "$STORE"/d*/* | wc -l)" \
	"$(seq -s ' ' 12) 12"
done_testing
