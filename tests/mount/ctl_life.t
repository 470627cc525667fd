#!/bin/sh
# sandboxctl info, delete, pause, resume and extend.
# shellcheck disable=SC2016
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
needs_mount

# What each provider can do, as its documentation has it.
case $PROVIDER in
local | aio) can_pause= can_extend= ;;
modal) can_pause= can_extend= ;;
*) can_pause=1 can_extend=1 ;;
esac

state() {
	ctl info "$SOURCE" --json | field_of state
}

a_sandbox one

# ---- Wrong words ---------------------------------------------------------------------------------

says "no sandbox" 2 "sandboxctl: info: the sandbox is missing, as in sandboxctl info local:demo" ctl info
[ "$PROVIDER" = aio ] || says "no id" 1 "sandboxctl: '$PROVIDER:': the id is missing; sandboxctl list $PROVIDER shows those there are" \
	ctl info "$PROVIDER:"
says "no number" 2 \
	"sandboxctl: extend: option '--timeout=soon': SECONDS is a number of seconds, as in --timeout=1.5" \
	ctl extend -t soon "$SOURCE"

# ---- info ----------------------------------------------------------------------------------------

is "info tells its state" "$(ctl info "$SOURCE" | sed -n 's/^state  *//p')" running
is "and whose it is, as JSON" "$(ctl info "$SOURCE" --json | field_of provider)" "$PROVIDER"
is "what is inside is not looked at" "$(ctl info "$SOURCE" | grep -c '^shell ')" 0
ok "unless that is asked for" sh -c '"$1" info --inside "$2" | grep -q "^directory  */"' - "$SANDBOXCTL" "$SOURCE"
ok "also as JSON" sh -c '"$1" info --inside --json "$2" | grep -q "\"directory\": *\"/"' - "$SANDBOXCTL" "$SOURCE"

# ---- pause, resume, extend -----------------------------------------------------------------------

if [ -n "$can_pause" ]; then
	says "a sandbox is paused" 0 "" ctl pause "$SOURCE"
	ok "then that is its state" sh -c '[ "$1" = paused ] || [ "$1" = stopped ]' - "$(state)"
	says "pausing it again is no failure" 0 "" ctl pause "$SOURCE"
	fails "what is inside cannot be looked at then, and it is not woken" ctl info --inside "$SOURCE"
	ok "it is still paused" sh -c '[ "$1" != running ]' - "$(state)"
	says "it is resumed" 0 "" ctl resume "$SOURCE"
	is "then it runs" "$(state)" running
	says "resuming it again is no failure" 0 "" ctl resume "$SOURCE"
elif [ "$PROVIDER" = aio ]; then
	says "what cannot be paused says so" 1 "sandboxctl: aio: sandboxes cannot be paused" ctl pause "$SOURCE"
else
	says "what cannot be paused says so" 1 "sandboxctl: $PROVIDER: sandboxes cannot be paused" ctl pause "$SOURCE"
	says "nor resumed" 1 "sandboxctl: $PROVIDER: sandboxes cannot be resumed" ctl resume "$SOURCE"
fi
if [ -n "$can_extend" ]; then
	extended=$(ctl extend -t 1200 "$SOURCE" 2>&1)
	like "it is given more time, and how much it has is told" "$extended" "^$SOURCE  *running  *([0-9]|-)"
fi

# ---- snapshot, fork ------------------------------------------------------------------------------

case $PROVIDER in
e2b | daytona | langsmith | runloop) can_snapshot=1 ;;
*) can_snapshot= ;;
esac
case $PROVIDER in
e2b | daytona) can_fork=1 ;;
*) can_fork= ;;
esac
says "no sandbox to keep" 2 "sandboxctl: snapshot: the sandbox is missing, as in sandboxctl snapshot e2b:ID" ctl snapshot
says "no provider" 2 "sandboxctl: snapshot: the provider is missing, as in sandboxctl snapshot --list e2b" ctl snapshot --list
says "two things at once" 2 "sandboxctl: snapshot: options '--list' and '--delete': one of the two" ctl snapshot -l -d "$PROVIDER:x"
says "no snapshot to delete" 1 "sandboxctl: '$PROVIDER': a provider and a snapshot are needed, as sandboxctl snapshot --list shows them" \
	ctl snapshot --delete "$PROVIDER"
# kept SOURCE: what stands there in the file that the snapshot has.
kept() {
	ctl exec "$1" -- cat kept
}
if [ -n "$can_snapshot" ]; then
	ctl exec "$SOURCE" -- sh -c 'echo then >kept'
	snapshot=$(ctl snapshot "$SOURCE")
	like "a sandbox is kept, and one word printed" "$snapshot" '^[^ ]+$'
	ctl exec "$SOURCE" -- sh -c 'echo now >kept'
	like "the snapshot is listed" "$(ctl snapshot --list "$PROVIDER")" "^$snapshot  "
	is "also as JSON" "$(ctl snapshot --list "$PROVIDER" --json | grep -cF "\"snapshot\": \"$snapshot\"")" 1
	copy=$(ctl create "$PROVIDER" --template "$snapshot")
	is "another is made from it, with what was there then" "$(kept "$copy")" then
	is "and the sandbox goes on" "$(kept "$SOURCE")" now
	ctl delete "$copy"
	is "one with a name says it" "$(ctl snapshot "$SOURCE" mine --json | field_of provider)" "$PROVIDER"
	like "and is listed by it" "$(ctl snapshot --list "$PROVIDER")" "mine"
	says "a snapshot is deleted" 0 "" ctl snapshot --delete "$PROVIDER:$snapshot"
	is "then it is not listed" "$(ctl snapshot --list "$PROVIDER" | grep -c "^$snapshot ")" 0
	says "deleting it again is no failure" 0 "" ctl snapshot --delete "$PROVIDER:$snapshot"
	fails "and nothing can be made from it" ctl create "$PROVIDER" --template "$snapshot"
else
	says "what has no snapshots says so" 1 "sandboxctl: $PROVIDER: sandboxes have no snapshots" ctl snapshot "$SOURCE"
	says "also where they are to be listed" 1 "sandboxctl: $PROVIDER: cannot list snapshots" ctl snapshot --list "$PROVIDER"
	says "or deleted" 1 "sandboxctl: $PROVIDER: cannot delete snapshots" ctl snapshot --delete "$PROVIDER:x"
fi
if [ -n "$can_fork" ]; then
	copy=$(ctl fork "$SOURCE")
	like "a sandbox is forked, and the name of the new one printed" "$copy" "^$PROVIDER:[^ ]+\$"
	is "which has what the other has" "$(kept "$copy")" now
	ctl exec "$copy" -- sh -c 'echo else >kept'
	is "each its own" "$(kept "$SOURCE")" now
	ctl delete "$copy"
else
	like "what cannot be forked says so" "$(ctl fork "$SOURCE" 2>&1)" "^sandboxctl: $PROVIDER: sandboxes cannot be forked"
fi

# ---- network -------------------------------------------------------------------------------------

# reached WORD: what the vendor says of the network.
reached() {
	vendor_request GET "$ADMIN/network/${SOURCE#*:}" | field_of "$1"
}
says "no rule" 2 "sandboxctl: network: one of --open, --block-network and --allow is needed" ctl network "$SOURCE"
says "rules against each other" 2 "sandboxctl: network: one of --open, --block-network and --allow is needed" \
	ctl network "$SOURCE" --open --allow pypi.org
case $PROVIDER in
e2b | daytona)
	says "a network is blocked" 0 "" ctl network "$SOURCE" --block-network
	is "then it is" "$(reached blocked) $(reached allowed)" "true "
	says "some hosts are allowed" 0 "" ctl network "$SOURCE" --allow pypi.org --allow 10.0.0.0/8
	is "these and no others" "$(reached blocked) $(reached allowed)" "true pypi.org 10.0.0.0/8"
	says "others take their place" 0 "" ctl network "$SOURCE" --allow 8.8.8.8
	is "all of it" "$(reached allowed)" 8.8.8.8/32
	says "a network is opened" 0 "" ctl network "$SOURCE" --open
	is "then it is open" "$(reached blocked) $(reached allowed)" "false "
	;;
*)
	says "what cannot be changed says so" 1 "sandboxctl: $PROVIDER: the network of a sandbox that exists cannot be changed" \
		ctl network "$SOURCE" --block-network
	;;
esac

# ---- logs ----------------------------------------------------------------------------------------

case $PROVIDER in
e2b | daytona | runloop)
	like "the log has times, and the oldest line first" "$(ctl logs "$SOURCE" | head -n 2)" \
		'^20[^ ]*Z [^ :]*: the sandbox starts
20[^ ]*Z [^ :]*: the sandbox answers$'
	is "also as JSON" "$(ctl logs "$SOURCE" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["message"])')" \
		"the sandbox starts"
	;;
*) says "what has no log says so" 1 "sandboxctl: $PROVIDER: no logs of sandboxes are kept" ctl logs "$SOURCE" ;;
esac

# ---- delete --------------------------------------------------------------------------------------

if [ "$PROVIDER" = aio ]; then
	says "the container itself cannot be deleted" 1 "sandboxctl: aio: cannot delete sandboxes" ctl delete "$SOURCE"
	done_testing
fi
says "a sandbox is deleted" 0 "" ctl delete "$SOURCE"
says "then it is not listed" 0 "[]" ctl list "$PROVIDER" --json
says "deleting it again is no failure" 0 "" ctl delete "$SOURCE"
for command in info ${can_pause:+resume}; do
	like "and $command tells how to find others" "$(ctl $command "$SOURCE" 2>&1)" \
		"^sandboxctl: .*; sandboxctl list $PROVIDER shows those there are\$"
done

if [ "$PROVIDER" = local ]; then
	says "one that is not there is not made by asking" 1 "sandboxctl: local:nobody: there is no such sandbox; sandboxctl list local shows those there are" \
		ctl info local:nobody
	says "and there is still none" 0 "[]" ctl list local --json
	mount_sandbox two
	says "what is mounted is not deleted, but all others" 1 "sandboxctl: 'local:/': an id is letters, digits, '.', '_' and '-', starting with none of '.' and '-'
sandboxctl: local:two is in use; unmount it first" ctl delete local:/ local:two local:three
	unmount
fi

# ---- gc ------------------------------------------------------------------------------------------

[ "$PROVIDER" != local ] || ctl delete local:two
mount_sandbox old
old=$(echo "$SOURCE" | cut -d: -f1,2)
says "gc wants to know which" 2 \
	"sandboxctl: gc: which sandboxes: --older-than SECONDS, --label KEY=VALUE, or both" ctl gc "$PROVIDER"
ok "the list has an age" sh -c '[ "$("$1" list "$2" --json | grep -o "\"age_s\": [0-9]*" | wc -l)" -ge 1 ]' - "$SANDBOXCTL" "$PROVIDER"
says "no sandbox is that old" 0 "" ctl gc --older-than 1000000 "$PROVIDER"
says "one that is mounted is kept" 0 "$old: kept: mounted on $MNT" ctl gc -o 0 "$PROVIDER"
ok "and works" touch "$MNT/f"
unmount
says "--dry-run names it" 0 "$old" ctl gc -n -o 0 "$PROVIDER"
like "and leaves it" "$(ctl list "$PROVIDER" --json)" "\"${old#*:}\""
says "gc deletes it and says so" 0 "$old" ctl gc -o 0 "$PROVIDER"
says "then none is left" 0 "[]" ctl list "$PROVIDER" --json

done_testing
