#!/bin/sh
# Names and inodes are known no longer than what they name exists, whoever made it and whoever removed it.
# shellcheck disable=SC2016,SC2317
. "${0%/*}/../support/tap.sh"

needs_mount
needs python3
mount_sandbox known_names

run() { # COMMAND
	echo "$1" >"$MNT/.sandbox/exec"
}

known() {
	sed -n 's/.*"inodes_known": \([0-9]*\), "names_known": \([0-9]*\).*/\1 \2/p' "$MNT/.sandbox/status"
}

# What a command did is seen when the directory is listed next; the kernel drops what has gone by and by.
is_as_at_first() {
	ls -a "$MNT" >/dev/null && [ "$(known)" = "$FIRST" ]
}

ends() { # WHAT
	echo 1 >"$MNT/.sandbox/sync"
	ok "$1" wait_until "$PATIENCE" is_as_at_first || diag "known: $(known), at first: $FIRST"
}

make_tree() { # DIRECTORY
	mkdir -p "$1/sub/deeper"
	for n in 1 2 3 4 5 6 7 8; do
		echo $n >"$1/f$n"
		echo $n >"$1/sub/deeper/f$n"
	done
	ln "$1/f1" "$1/sub/linked"
	ln -s ../f1 "$1/sub/symbolic"
	mkfifo "$1/pipe"
}
MAKE_TREE='mkdir -p d/sub/deeper && for n in 1 2 3 4 5 6 7 8; do echo $n >d/f$n; echo $n >d/sub/deeper/f$n; done
	ln d/f1 d/sub/linked; ln -s ../f1 d/sub/symbolic; mkfifo d/pipe'

use_tree() { # DIRECTORY
	ls -lR "$1" >/dev/null
	cat "$1"/f* "$1"/sub/deeper/* >/dev/null
	for n in 1 2 3; do
		[ ! -e "$1/sub/none$n" ]
	done
}

ls -a "$MNT" >/dev/null
echo 1 >"$MNT/.sandbox/sync"
ls -a "$MNT" >/dev/null
FIRST=$(known)
diag "inodes and names at first: $FIRST"

# ---- Made and removed by the mount or a command ----------------------------------------------------

make_tree "$MNT/d"
rm -rf "$MNT/d"
ends "made here, removed here at once"

make_tree "$MNT/d"
echo 1 >"$MNT/.sandbox/sync"
use_tree "$MNT/d"
rm -rf "$MNT/d"
ends "made here, used, removed here"

make_tree "$MNT/d"
run 'rm -rf d'
ends "made here, removed by a command"

make_tree "$MNT/d"
echo 1 >"$MNT/.sandbox/sync"
use_tree "$MNT/d"
run 'rm -rf d'
ends "made here, used, removed by a command"

run "$MAKE_TREE"
use_tree "$MNT/d"
rm -rf "$MNT/d"
ends "made by a command, used, removed here"

run "$MAKE_TREE"
use_tree "$MNT/d"
run 'rm -rf d'
ends "made by a command, used, removed by a command"

# ---- Moved, replaced, open -------------------------------------------------------------------------

make_tree "$MNT/d"
use_tree "$MNT/d"
mv "$MNT/d/sub" "$MNT/d/moved"
mv "$MNT/d" "$MNT/e"
use_tree "$MNT/e" 2>/dev/null
run 'rm -rf e'
ends "moved here, removed by a command"

make_tree "$MNT/d"
use_tree "$MNT/d"
run 'mv d e'
ls -lR "$MNT/e" >/dev/null
rm -rf "$MNT/e"
ends "moved by a command, removed here"

make_tree "$MNT/d"
use_tree "$MNT/d"
run 'mv d old && mkdir d && echo new >d/f1 && rm -rf old'
ls -lR "$MNT/d" >/dev/null
run 'rm -rf d'
ends "replaced by a command, and removed by another"

for n in 1 2 3 4 5; do
	echo $n >"$MNT/.saved"
	mv "$MNT/.saved" "$MNT/saved"
done
run 'for n in 1 2 3; do echo $n >.saved; mv .saved saved; done'
cat "$MNT/saved" >/dev/null
rm "$MNT/saved"
ends "saved again and again by both"

make_tree "$MNT/d"
exec 5<"$MNT/d/f1" 6>>"$MNT/d/f2"
rm "$MNT/d/f1"
run 'rm -rf d'
exec 5<&- 6>&-
ends "open when it was removed here, or by a command"

python3 - "$MNT" <<'END'
import os, sys
os.chdir(sys.argv[1])
try:
    os.close(os.open(".", os.O_TMPFILE | os.O_RDWR))
except OSError:
    pass
os.mkdir("d")
os.chdir("d")
with open("f", "w") as file:
    file.write("f")
with open("../.sandbox/exec", "w") as command:
    command.write("rm -rf d")
try:
    os.stat("f")
except OSError:
    pass
END
ends "removed by a command while somebody works in it"

echo 1 >"$MNT/f"
run 'rm f; ln -s nowhere f; mkdir g; touch g/x'
ls -l "$MNT" "$MNT/g" >/dev/null
run 'rm f; mkdir f; rm -r g; echo 1 >g'
ls -l "$MNT" "$MNT/f" >/dev/null
run 'rm -r f g'
ends "a name that stood for a file, a link and a directory"

for n in 1 2 3 4 5 6 7 8 9; do
	[ ! -e "$MNT/none$n" ]
done
ends "names that never were"

if command -v git >/dev/null; then
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
	git init -q "$SCRATCH/repository"
	for n in 1 2 3 4 5 6 7 8 9; do
		echo $n >"$SCRATCH/repository/f$n"
	done
	git -C "$SCRATCH/repository" add -A
	git -C "$SCRATCH/repository" -c user.name=n -c user.email=n@x commit -qm 1
	git clone -q "$SCRATCH/repository" "$MNT/clone"
	git -C "$MNT/clone" gc -q
	rm -rf "$MNT/clone"
	ends "git clone, git gc, rm -rf"
fi

unmount
done_testing
