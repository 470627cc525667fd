#!/bin/sh
# When the sandbox has a change, looked at in its own files: after fsync, .sandbox/sync, a command and the end of the mount;
# with close=wait, sync and excl=remote earlier.
# shellcheck disable=SC2016
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3

made() { # DIRECTORY: a directory with a file and what else changes names
	mkdir -p "$1/deep/er"
	echo text >"$1/deep/er/file"
	echo old >"$1/deep/old"
	mv "$1/deep/old" "$1/deep/new"
	echo gone >"$1/deep/gone"
	rm "$1/deep/gone"
	ln "$1/deep/er/file" "$1/deep/linked"
	ln -s er/file "$1/deep/link"
	chmod 600 "$1/deep/new"
}

facts() { # DIRECTORY
	(cd "$1" && find . -mindepth 1 -printf '%P %y %m %n %l\n' | sort && cat deep/er/file deep/new)
}

mkdir plain
made plain

# ---- Barriers --------------------------------------------------------------------------------------

mount_sandbox barriers
mkdir "$MNT/a" "$MNT/a/b"
echo text >"$MNT/a/b/file"
ok "fsync of a file" sync "$MNT/a/b/file"
is "brings its contents and the names on the way" "$(cat "$STORE/a/b/file")" text
mv "$MNT/a/b/file" "$MNT/a/b/moved"
ok "fsync of a directory" sync "$MNT/a/b"
is "brings the names in it" "$(ls "$STORE/a/b")" moved
mkdir "$MNT/all"
made "$MNT/all"
ok "what is written to .sandbox/sync" settle
is "brings everything" "$(facts "$STORE/all")" "$(facts plain)"
echo before >"$MNT/before"
echo 'cat before' >"$MNT/.sandbox/exec"
is "a command sees what was done before it" "$(grep -o '"stdout": "before' "$MNT/.sandbox/exec")" '"stdout": "before'
at_once() { # FLAG: what the sandbox has when a write through a handle of open(2) with it returns
	python3 - "$1" "$MNT/$1" "$STORE/$1" <<-'END'
		import os, sys
		flag, here, there = sys.argv[1:]
		handle = os.open(here, os.O_WRONLY | os.O_CREAT | getattr(os, flag), 0o644)
		os.write(handle, b"written")
		print(open(there).read())
	END
}

for flag in O_SYNC O_DSYNC; do
	is "what is written with $flag is there at once" "$(at_once $flag)" written
done
mkdir "$MNT/last"
made "$MNT/last"
unmount
is "the end of the mount brings everything" "$(facts "$STORE/last")" "$(facts plain)"

# ---- Options ---------------------------------------------------------------------------------------

mount_sandbox barriers close=wait
echo waited >"$MNT/closed"
is "with close=wait the sandbox has what was closed" "$(cat "$STORE/closed")" waited
unmount

mount_sandbox barriers sync
mkdir "$MNT/sync"
ok "with sync it has a directory" test -d "$STORE/sync"
made "$MNT/sync"
is "and whatever is changed" "$(facts "$STORE/sync")" "$(facts plain)"
exec 5>"$MNT/open"
echo written >&5
is "also what is written and not closed" "$(cat "$STORE/open")" written
exec 5>&-
unmount

# Each time at once after the name was seen not to be there.
mount_sandbox barriers excl=remote
ls -A "$MNT" >/dev/null
refused=
for n in 1 2 3 4 5; do
	[ -e "$MNT/lock.$n" ] || mkdir "$STORE/lock.$n"
	mkdir "$MNT/lock.$n" 2>/dev/null || refused=$refused$n
done
is "with excl=remote a name that the sandbox has just taken is taken" "$refused" 12345
unmount
done_testing
