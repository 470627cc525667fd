#!/bin/sh
# A helper that answers with lies about names, types and places: each listing fails or is shown without the lie, nothing hangs,
# and the mount ends within seconds.
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh disable=SC2016
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3

# What the helper tells from now on.
phase() {
	echo "$1" >"$STORE/.lies/new"
	mv "$STORE/.lies/new" "$STORE/.lies/phase"
}

heard() {
	sed -n 's/^sandboxfs_events_total \([0-9]*\)$/\1/p' "$MNT/.sandbox/stats"
}

# What is counted was heard.
is_heard() {
	[ "$(heard)" -gt "$heard" ]
}

# send KIND PATH: as an event, which the mount has heard then: 2 created, 5 removed.
send() {
	heard=$(heard)
	echo "$1 $2" >"$STORE/.lies/new"
	mv "$STORE/.lies/new" "$STORE/.lies/events"
	wait_until "$PATIENCE" is_heard
}

# Within seconds where nothing else runs.
ends() {
	deadline 60 "$@" >/dev/null 2>&1
	[ $? -ne 124 ]
}

mount_sandbox lies
unmount
mkdir -p "$STORE/.lies"
phase 0
ok "a helper that lies takes the place of the other" \
	"$TOP/tests/mount/lying_helper.py" "$(echo "$STORE"/.sandboxfs/sandboxfs-helper-*)"
mount_sandbox lies
is "what is no lie is shown" "$(ls "$MNT/honest")" f

# hold PATH: the listing of PATH is held, and something happens in it meanwhile: what it tells is no news.
hold() {
	echo "$1" >"$STORE/.lies/new"
	mv "$STORE/.lies/new" "$STORE/.lies/hold"
	send 2 "$1/new"
	ls "$MNT/$1" >/dev/null 2>&1 &
	HELD=$!
	ok "the listing of $1 is held" wait_until "$PATIENCE" test -e "$STORE/.lies/held"
	send 2 "$1/newer"
}

# It comes.
let_go() {
	rm "$STORE/.lies/held"
	wait_until "$PATIENCE" ended $HELD
}

# ---- A directory that is below itself ----

is "a directory is in another" "$(ls "$MNT/circle")" x
hold circle/x
phase 1
send 5 circle
ok "the other goes" wait_until "$PATIENCE" sh -c '! ls "$1" | grep -qx circle' - "$MNT"
let_go
for path in . circle circle/x circle/x/y circle/x/y/x; do
	ok "no request for $path hangs" ends ls -la "$MNT/$path"
done
hold honest
let_go
ok "the root in a directory of its own hangs nothing" ends ls -la "$MNT" "$MNT/honest"
ok "nor what walks through it" ends find "$MNT" -maxdepth 6
ok "nor a look at the mount's state" ends cat "$MNT/.sandbox/status"

# ---- Entries and listings that are none ----

phase 2
send 2 slash
ok "the lies are there" wait_until "$PATIENCE" test -d "$MNT/slash"

for lie in slash dot dots empty nul long typeless huge no-time far-time no-number long-link no-link twice root itself parent \
	elsewhere nested ended over strange-start no-end; do
	ok "no listing of $lie hangs" ends ls -la "$MNT/$lie"
	ok "nor a name that it has" ends stat "$MNT/$lie/f"
done
is "no name with a slash is shown" "$(ls "$MNT/slash" 2>/dev/null)" ""
is "no file of a time beyond all clocks is shown" "$(ls "$MNT/far-time" 2>/dev/null)" ""
is "a name that came twice is shown once" "$(ls "$MNT/twice" 2>/dev/null | uniq -d)" ""
is "what another directory was said to have is not in this one" "$(ls "$MNT/elsewhere" 2>/dev/null)" ""
is "what is no lie is shown as ever" "$(ls "$MNT/honest")" f
ok "a walk of it all ends" ends find "$MNT" -maxdepth 6
began=$(date +%s)
expect_log 'the sandbox|helper|list:|listing'
unmount
diag "unmounted in $(($(date +%s) - began)) s"
done_testing
