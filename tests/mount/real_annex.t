#!/bin/sh
# git-annex on a mount: an object gets a second name, is copied and another file takes that name.
. "${0%/*}/../support/tap.sh"
needs git git-annex

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=T GIT_AUTHOR_EMAIL=t@example.com
export GIT_COMMITTER_NAME=T GIT_COMMITTER_EMAIL=t@example.com

annex() { # ARGUMENTS
	as_owner timeout -k 5 600 git -C "$MNT/repo" annex "$@" >/dev/null
}

git_here() { # ARGUMENTS
	as_owner timeout -k 5 600 git -C "$MNT/repo" "$@"
}

make_repository() {
	as_owner git init -q -b main "$MNT/repo" && git_here config annex.backend WORM && annex init test
}

# Unlocked, changed and locked again, beside what is still on its way of the time before.
round() { # NUMBER
	ok "$1: a file" as_owner sh -c 'head -c 100000 /dev/urandom >"$1"' - "$MNT/repo/$1"
	as_owner cat "$MNT/repo/$1" >"$SCRATCH/annex.$1"
	ok "$1: add" annex add "$1"
	ok "$1: it is a link" as_owner test -L "$MNT/repo/$1"
	ok "$1: commit" git_here commit -q -m "$1"
	ok "$1: unlock" annex unlock "$1"
	ok "$1: it is a file" as_owner sh -c 'test -f "$1" && test ! -L "$1"' - "$MNT/repo/$1"
	ok "$1: with the same contents" as_owner cmp "$SCRATCH/annex.$1" "$MNT/repo/$1"
	ok "$1: sent" settle
	ok "$1: it is a file still" as_owner sh -c 'test -f "$1" && test ! -L "$1"' - "$MNT/repo/$1"
	ok "$1: lock" annex lock --force "$1"
	ok "$1: it is a link again" as_owner test -L "$MNT/repo/$1"
}

use_annex() {
	mount_sandbox "annex$MOUNT_AS"
	ok "a repository" make_repository
	for number in 1 2 3; do
		round "$number"
	done
	ok "fsck" annex fsck --quiet
	ok "sent" settle
	like "nothing was refused" "$(as_owner cat "$MNT/.sandbox/status")" '"parked_changes": *0\b'
	unmount
}

for_each_user use_annex
done_testing
