#!/bin/sh
# Under the change stream nothing is asked again, what others change is seen at once, and what is changed here costs
# nothing but the change.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_counters.sh
. "$TOP/tests/support/tap_counters.sh"

needs_mount
needs node python3

costs() { # NAME COUNT
	is "$1: requests" "$(requests)" "$2" || diag "$(counters)"
}

count() { # DIRECTORY
	find "$1" -mindepth 1 | wc -l
}

vendor_sandbox lease
python3 - "$STORE/lease" <<'END'
import os, sys
for d in range(20):
    os.makedirs(f"{sys.argv[1]}/dir{d}")
    for f in range(10):
        with open(f"{sys.argv[1]}/dir{d}/file{f}", "w") as file:
            file.write(f"{d} {f}\n")
END
mount_sandbox lease attr_timeout=0.001,entry_timeout=0.001
IN=$STORE/lease/dir1
DIR=$MNT/lease/dir1
now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

reset
ls -lR "$MNT/lease" >first
at_most "ls -lR, cold, with the stream" 2
echo true >"$MNT/.sandbox/exec"
began=$(now_ms)
ls -lR "$MNT/lease" >second
# Without a stream it would be believed ten times as long as that took to ask, or for 1 ms.
believed_until=$((began + 10 * ($(now_ms) - began) + 1))
reset
until ls -lR "$MNT/lease" >second && [ "$(now_ms)" -gt $believed_until ]; do
	:
done
is "again: the same" "$(cmp first second)" ""
costs "again, later" 0
# ls(1) of coreutils 9.6 and later asks each file for their names.
names='import os, sys
for dir, dirs, files in os.walk(sys.argv[1]):
    for name in [".", *files]:
        print(name, os.listxattr(f"{dir}/{name}"))'
is "there are no extended attributes" \
	"$(python3 -c "$names" "$MNT/lease" 2>&1 | grep -c ' \[\]$')" 221
costs "their names" 0
fails "what is not there is not there" test -e "$DIR/none"
costs "a name that is not there" 0
is "stats say that there is a stream" "$(sed -n 's/^sandboxfs_stream_live //p' "$MNT/.sandbox/stats")" 1

# ---- Changes of others ---------------------------------------------------------------------------

sees_content() {
	[ "$(cat "$DIR/file1" 2>/dev/null)" = "changed inside" ]
}

sees_new() {
	[ -e "$DIR/none" ]
}

sees_gone() {
	[ ! -e "$DIR/file2" ]
}

sees_mode() {
	[ "$(stat -c %a "$DIR/file3")" = 600 ]
}

cat "$DIR/file1" >/dev/null
echo "changed inside" >"$IN/file1"
ok "contents that others changed" wait_until "$PATIENCE" sees_content
touch "$IN/none"
ok "a name that was looked for before" wait_until "$PATIENCE" sees_new
rm "$IN/file2"
ok "a name that went" wait_until "$PATIENCE" sees_gone
chmod 600 "$IN/file3"
ok "a mode" wait_until "$PATIENCE" sees_mode
mv "$IN" "$STORE/lease/moved"
moved() {
	[ -e "$MNT/lease/moved/none" ] && [ ! -e "$DIR" ]
}
ok "a directory that moved" wait_until "$PATIENCE" moved
is "and what is in it" "$(count "$MNT/lease/moved")" "$(count "$STORE/lease/moved")"

# Some 20 ms where nothing else runs. A machine that is busy with other things may hold up any of them: a quarter of the 20
# changes count, and looking again every so many seconds would show.
WITHIN_MS=2000
python3 - "$STORE/lease/dir9" "$MNT/lease/dir9" >delays <<'END'
import os, sys, time
inside, shown = sys.argv[1:]

def delay_ms(change, is_seen):
    assert not is_seen()
    change()
    began = time.monotonic()
    while not is_seen():
        assert time.monotonic() < began + 60
        time.sleep(0.001)
    return (time.monotonic() - began) * 1000

def write(name, text):
    with open(name, "w") as file:
        file.write(text)

def read(name):
    with open(name) as file:
        return file.read()

delays = []
for n in range(10):
    name, text = f"new{n}", f"text {n}\n"
    delays.append(delay_ms(lambda: write(f"{inside}/{name}", "x"), lambda: os.path.exists(f"{shown}/{name}")))
    delays.append(delay_ms(lambda: write(f"{inside}/file1", text), lambda: read(f"{shown}/file1") == text))
print(*(round(delay) for delay in sorted(delays)))
END
diag "changes were seen after so many ms: $(cat delays)"
is "what others change is seen within $WITHIN_MS ms" "$([ "$(cut -d ' ' -f 5 delays)" -le $WITHIN_MS ] && echo yes)" yes

# ---- After a command -----------------------------------------------------------------------------

ls -lR "$MNT/lease" >/dev/null
reset
echo 'cd lease && for d in 2 3 4 5; do echo more >>dir$d/file0; rm dir$d/file1; done' >"$MNT/.sandbox/exec"
at_most "a command" 1
reset
for d in 2 3 4 5; do
	is "dir$d as the command left it" "$(stat -c %s "$MNT/lease/dir$d/file0") $(count "$MNT/lease/dir$d")" \
		"$(stat -c %s "$STORE/lease/dir$d/file0") 9"
done
ls -lR "$MNT/lease" >/dev/null
costs "trust in everything" 1

# ---- Changes of ours -----------------------------------------------------------------------------

own() {
	echo one >"$MNT/lease/dir7/new"
	mv "$MNT/lease/dir7/new" "$MNT/lease/dir7/newer"
	echo two >"$MNT/lease/dir7/file1"
	rm "$MNT/lease/dir7/file2"
	mkdir "$MNT/lease/dir7/sub"
}
ls -lR "$MNT/lease" >/dev/null
reset
own
ok "the sandbox has the changes" sync "$MNT/lease/dir7" "$MNT/lease/dir7/newer" "$MNT/lease/dir7/file1"
diag "changes: $(requests) requests"
# So that the stream has told all of it.
marker_seen() {
	[ -e "$MNT/lease/marker" ]
}
touch "$STORE/lease/marker"
ok "the stream goes on" wait_until "$PATIENCE" marker_seen
ls -lR "$MNT/lease" >/dev/null
reset
ls -lR "$MNT/lease/dir7" >third
stat "$MNT/lease/dir7/newer" >/dev/null
fails "what was removed here stays away" test -e "$MNT/lease/dir7/file2"
costs "what was changed here is known" 0
is "and is what the sandbox has" "$(cd "$MNT/lease/dir7" && ls -R && cat newer file1)" \
	"$(cd "$STORE/lease/dir7" && ls -R && cat newer file1)"
unmount
done_testing
