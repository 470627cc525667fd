#!/bin/sh
# Editors on a mount: vim, sed -i, a save by rename; find, grep, tail -f, flock beside them.
. "${0%/*}/../support/tap.sh"
needs vim flock python3

edit_with_vim() {
	as_owner timeout -k 5 300 vim -es -u NONE -N "$MNT/text" -c '%s/two/TWO/' -c 'normal Gofour' -c wq </dev/null
}

# As careful programs do: a new file beside the old one, synced, renamed over it, the directory synced.
save_by_rename() {
	as_owner timeout -k 5 300 python3 - "$MNT/saved" <<'PYTHON'
import os, sys
path = sys.argv[1]
for text in ("first\n", "second\n", "third\n"):
    with open(path + ".tmp", "w") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    before = os.stat(path + ".tmp").st_ino
    os.rename(path + ".tmp", path)
    d = os.open(os.path.dirname(path), os.O_RDONLY)
    os.fsync(d)
    os.close(d)
    assert os.stat(path).st_ino == before
    assert open(path).read() == text
PYTHON
}

map_with_python() {
	as_owner timeout -k 5 300 python3 - "$MNT/mapped" <<'PYTHON'
import mmap, sys
with open(sys.argv[1], "w+b") as f:
    f.truncate(100000)
    with mmap.mmap(f.fileno(), 100000) as m:
        m[50000:50005] = b"hello"
        m.flush()
        f.seek(50000)
        assert f.read(5) == b"hello"
        f.seek(99999)
        f.write(b"!")
        f.flush()
        assert m[99999:100000] == b"!"
assert open(sys.argv[1], "rb").read()[50000:50005] == b"hello"
PYTHON
}

follow_a_log() {
	as_owner touch "$MNT/log"
	as_owner sh -c 'timeout 300 tail -n +1 -f "$1" >"$2" & echo $! >"$3"' - "$MNT/log" "$SCRATCH/home/followed$MOUNT_AS" "$SCRATCH/home/tail$MOUNT_AS"
	for line in 1 2 3; do
		as_owner sh -c 'echo "line $2" >>"$1"' - "$MNT/log" $line
	done
	wait_until "$PATIENCE" grep -q "line 3" "$SCRATCH/home/followed$MOUNT_AS"
	followed=$?
	as_owner kill "$(cat "$SCRATCH/home/tail$MOUNT_AS")"
	return $followed
}

# Twenty processes each add one to a number, one at a time.
count_under_flock() {
	as_owner timeout -k 5 600 sh -c '
		cd "$1" && echo 0 >count && touch lock
		for i in $(seq 20); do
			flock lock sh -c "read -r n <count; echo \$((n + 1)) >count" & pids="$pids $!"
		done
		for pid in $pids; do wait $pid || exit; done
		[ "$(cat count)" = 20 ]' - "$MNT"
}

editing() {
	mount_sandbox "editors$MOUNT_AS"
	as_owner sh -c 'printf "one\ntwo\nthree\n" >"$1/text"; chmod 640 "$1/text"' - "$MNT"
	ok "vim edits" edit_with_vim
	is "the text is vim's" "$(as_owner cat "$MNT/text")" "one
TWO
three
four"
	is "and the mode stayed" "$(as_owner stat -c %a "$MNT/text")" 640
	is "no swap file is left" "$(as_owner find "$MNT" -name '*.sw?')" ""
	ok "sed -i" as_owner sed -i s/TWO/2/ "$MNT/text"
	ok "grep -r finds it" as_owner grep -rqx 2 "$MNT"
	ok "a save by rename" save_by_rename
	ok "a file mapped by python" map_with_python
	ok "tail -f sees what is added" follow_a_log
	ok "flock(1) lets one in at a time" count_under_flock
	ok "mv to the mount from elsewhere" as_owner sh -c 'echo moved >"$HOME/m" && mv "$HOME/m" "$1/m" && [ "$(cat "$1/m")" = moved ]' - "$MNT"
	ok "and back" as_owner sh -c 'mv "$1/m" "$HOME/m2" && [ "$(cat "$HOME/m2")" = moved ] && [ ! -e "$1/m" ] && rm "$HOME/m2"' - "$MNT"
	ok "find by name, type, size and time" as_owner sh -c '
		[ "$(find "$1" -type f -name mapped -size +90k -newermt 2020-01-01)" = "$1/mapped" ]' - "$MNT"
	unmount
}

export HOME="$SCRATCH/home"
for_each_user editing
done_testing
