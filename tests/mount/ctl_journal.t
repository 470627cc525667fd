#!/bin/sh
# sandboxctl journal: what a mount that was killed owes a sandbox that is gone is listed, exported and given up.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs node python3 tar
JOURNALS=$SCRATCH/state.$MOUNT_AS/sandboxfs

journal() {
	ctl journal "$@" --dir "$JOURNALS" </dev/null
}

# listed: without the heads and with single spaces.
listed() {
	journal list | sed 1d | tr -s ' '
}

says "no word" 2 "sandboxctl: journal: list, export or discard, as in sandboxctl journal list" ctl journal
says "an unknown word" 2 "sandboxctl: journal: list, export or discard, as in sandboxctl journal list" ctl journal show
says "no journal" 2 \
	"sandboxctl: journal: the journal is missing; sandboxctl journal list shows those there are" ctl journal discard
says "two of them in one archive" 2 \
	"sandboxctl: journal: 'b': one journal an archive, as in sandboxctl journal export JOURNAL -o FILE" ctl journal export a b
says "none on this machine" 0 "JOURNAL  SANDBOX  STATE  CHANGES  REFUSED  SIZE" ctl journal list
says "one that is not there" 1 \
	"sandboxctl: 'none': no such journal; sandboxctl journal list shows those there are" ctl journal export none

# ---- A mount has it ------------------------------------------------------------------------------

mount_sandbox demo timeout=10
expect_log '.*'
mkdir "$MNT/dir"
echo base >"$MNT/dir/old"
echo base >"$MNT/dir/gone"
sync "$MNT/dir/old" "$MNT/dir/gone" "$MNT/dir"
ls -lR "$MNT" >/dev/null
vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/./","times":0},"action":{"type":"stall"}}' >/dev/null
echo new >"$MNT/dir/new"
printf 1234 >>"$MNT/dir/old"
rm "$MNT/dir/gone"
mkdir "$MNT/dir/sub"
ln -s new "$MNT/dir/link"
mv "$MNT/dir/new" "$MNT/dir/sub/moved"
NAME=$(ls "$JOURNALS")
is "a journal that a mount has is shown with it" "$(listed | head -n 1)" "$NAME $SOURCE:$(dirname "$STORE/x" | sed 's,.*/,/,') in use - - -"
says "it is not exported" 1 \
	"sandboxctl: $NAME: in use by process $DAEMON, mounted on $MNT; unmount that one first" journal export "$NAME" -o tar
says "nor given up" 1 \
	"sandboxctl: $NAME: in use by process $DAEMON, mounted on $MNT; unmount that one first" journal discard "$NAME" --yes

# ---- Nobody has it -------------------------------------------------------------------------------

kill -KILL "$DAEMON"
wait "$DAEMON" 2>/dev/null
tap_drop_mount "$MNT"
vendor_request DELETE "$ADMIN/faults" >/dev/null
says "gc keeps a sandbox that does not have it yet" 0 \
	"$SOURCE: kept: it does not have all changes yet; see sandboxctl journal list" \
	env XDG_STATE_HOME="$SCRATCH/state.$MOUNT_AS" "$SANDBOXCTL" gc --older-than 0 e2b
vendor_stop # and with it the sandbox
ok "it is listed with what it owes" sh -c 'echo "$1" | grep -qE "^$2 e2b:[a-z0-9]+:/root left [0-9]+ 0 [0-9.]+ kB$"' - "$(listed)" "$NAME"
is "the same as JSON" "$(journal list --json | python3 -c '
import json, sys
one, = json.load(sys.stdin)
print(one["name"], one["state"], one["changes"] > 4, one["refused"])')" "$NAME left True []"
ok "it is exported by its name" journal export "$NAME" -o tar
is "a file that is there is left alone" "$(journal export "$NAME" -o tar 2>&1)" "sandboxctl: tar: already exists"
mkdir out
ok "tar reads it" tar -xf tar -C out
is "a new file is in it under its last name" "$(cat out/dir/sub/moved)" new
is "a link, too" "$(readlink out/dir/link)" new
is "of a file of the sandbox what was written" "$(tail -c 4 out/dir/old)" 1234
ok "what was removed is listed" grep -qx 'unlink dir/gone' out/.sandboxfs-changes
ok "and what was renamed" grep -qx 'rename dir/new -> dir/sub/moved' out/.sandboxfs-changes
ok "and where a file was written" grep -qxE '(append|write) dir/old \(4 bytes at [0-9]+\)' out/.sandboxfs-changes
is "a pipe has the same" "$(journal export "$NAME" | tar -t | sort)" "$(tar -tf tar | sort)"

cp -r "$JOURNALS/$NAME" "$JOURNALS/broken"
chmod 700 "$JOURNALS/broken"
printf 'no record' | dd of="$JOURNALS/broken/segment-00000001" conv=notrunc status=none
ok "one that cannot be read is named" \
	sh -c 'echo "$1" | grep -q "^broken: unreadable: $2/broken/segment-00000001 is damaged$"' - "$(listed)" "$JOURNALS"
fails "and not exported" journal export broken -o broken.tar
fails "no half archive stays" test -e broken.tar
ok "it is still there" test -s "$JOURNALS/broken/segment-00000001"

says "without --yes nothing is given up where nobody can be asked" 1 \
	"sandboxctl: $NAME: nobody to ask whether its changes may be given up; say --yes" journal discard "$NAME"
ok "given up it is gone" journal discard "$NAME" broken --yes
mkdir "$JOURNALS/else"
is "what is no journal is not listed" "$(listed)" ""
is "and stays" "$(ls "$JOURNALS")" else

# ---- What the sandbox refused ----------------------------------------------------------------------

refused() { # EXPRESSION
	journal list --json | python3 -c '
import json, sys
journal, = [j for j in json.load(sys.stdin) if j["name"] == sys.argv[1]]
print(eval(sys.argv[2]))' "$NAME" "$1"
}

VENDOR_USER=
mount_sandbox refusing timeout=10
mkdir "$MNT/dir" "$MNT/kept"
# It would make a line of its own; the rest of it would clear a terminal and turn the text around.
forging=$(printf 'f\nrefused: append forged: no\033[2J\302\2332J\342\200\256')
echo base >"$MNT/kept/old"
echo base >"$MNT/kept/$forging"
sync "$MNT/kept/old" "$MNT/kept/$forging" "$MNT/kept" "$MNT/dir"
ls -lR "$MNT" >/dev/null
vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/./","times":0},"action":{"type":"stall"}}' >/dev/null
echo new >"$MNT/dir/new"
{ head -c 3000000 /dev/zero && echo big; } >"$MNT/dir/big"
printf more >>"$MNT/kept/old"
printf more >>"$MNT/kept/$forging"
rm -r "$STORE/dir" "$STORE/kept"
vendor_request DELETE "$ADMIN/faults" >/dev/null
fails "what others removed cannot be written to" settle
ok "status names both by the names that they were to have" sh -c \
	'"$1" status | grep -F "$2: refused: place dir/new: " && "$1" status | grep -E "^$2: refused: (append|write) kept/old: "' \
	- "$SANDBOXCTL" "$MNT"
# harmless FILE: it has lines of ASCII and nothing else, and no line that the name forged.
harmless() {
	is "$1 has no control and no mark of direction" \
		"$(LC_ALL=C tr -d '\n -~' <"$1" | od -An -c)" ""
	is "no name makes a line of $1" "$(grep -c '^refused: append forged' "$1")" 0
}
"$SANDBOXCTL" status >told.status
ok "the name is in status" grep -qE \
	"^$MNT: refused: (append|write) kept/f.?refused: append forged: no.?\\[2J" told.status
harmless told.status
cat "$MNT/.sandbox/status" >told.sandbox
harmless told.sandbox
is "as JSON nothing of it is lost" "$(python3 -c '
import json, sys
told = json.load(open("told.sandbox"))["journal"]["parked"]
print("kept/" + sys.argv[1] in [one["path"] for one in told])' "$forging")" True
NAME=$(ls "$JOURNALS" | grep -v else)
tap_umount "$MNT"
ok "the mount ends" wait_until "$PATIENCE" ended "$DAEMON"
wait "$DAEMON"
is "its journal is left with what was refused" \
	"$(refused '{"dir/new", "kept/old"} <= {r["path"] for r in journal["refused"]}')" True
ok "each is a line for people" sh -c 'echo "$1" | grep -q "^refused: place dir/new: " && echo "$1" | grep -qE "^refused: (append|write) kept/old: "' \
	- "$(listed)"
listed >told.list
ok "the name is in the list" grep -qE \
	'^refused: (append|write) kept/f.?refused: append forged: no.?\[2J' told.list
harmless told.list
mkdir refused
ok "it is exported by its name" sh -c '"$1" journal export "$2" --dir "$3" | tar -xf - -C refused' - "$SANDBOXCTL" "$NAME" "$JOURNALS"
is "what a file of the sandbox was to get is in it" "$(tail -c 4 refused/kept/old)" more
like "what was refused says so" "$(cat refused/.sandboxfs-changes)" '^(append|write) kept/old \(4 bytes at [0-9]+\) \(refused: '
harmless refused/.sandboxfs-changes
is "a small new file is in it, of which nothing had been sent" "$(cat refused/dir/new)" new
staged=$(sed -n "s/^place dir.big (refused: .*; what was sent of it is in the sandbox's staging directory: \(.*\))$/\1/p" \
	refused/.sandboxfs-changes)
is "where a large one waits is told, and it is there" "$(tail -c 4 "$STAGING/$staged")" big
ok "given up by its name it is gone" journal discard "$NAME" --yes
is "with all that was refused" "$(listed)" ""
done_testing
