#!/bin/sh
# Symbolic links of an honest sandbox and of a user, as on a local disk: repositories full of them,
# names of one link in several directories, links and directories of links that are moved.
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
needs_mount
needs git
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t

reads() { # NAME LINK-IN-MOUNT TEXT CONTENTS
	is "$1: its text" "$(readlink "$MNT/$2")" "$3"
	is "$1: what it leads to" "$(cat "$MNT/$2")" "$4"
}

identity() { # PATH-IN-MOUNT: inode number and links
	stat -c '%i %h' "$MNT/$1"
}

counts() { # PATH-IN-MOUNT...: links
	(cd "$MNT" && stat -c %h "$@" | tr '\n' ' ')
}

# As npm lays out packages: programs of a package one up, those of a workspace more.
plant_packages() { # DIRECTORY
	mkdir -p "$1/node_modules/.bin" "$1/node_modules/tool/bin" "$1/node_modules/@scope"
	mkdir -p "$1/packages/own" "$1/deep/er/still"
	echo tool >"$1/node_modules/tool/bin/cli.js"
	echo own >"$1/packages/own/index.js"
	ln -s ../tool/bin/cli.js "$1/node_modules/.bin/tool"
	ln -s ../../packages/own "$1/node_modules/@scope/own"
	for n in 1 2 3 4 5 6 7 8; do
		ln -s "../../../packages/own/index.js" "$1/deep/er/still/link$n"
		ln -s "still/link$n" "$1/deep/er/link$n"
	done
}

trusted_git() {
	git -c safe.directory='*' -C "$MNT/theirs" "$@"
}

links_in() { # DIRECTORY
	(cd "$1" && find . -type l -printf '%p %l\n' | sort)
}

repositories() {
	plant_packages "$SCRATCH/origin"
	git -C "$SCRATCH/origin" init -q
	git -C "$SCRATCH/origin" add -A
	git -C "$SCRATCH/origin" commit -q -m links
	ok "a repository full of links is cloned into the mount" \
		deadline "$PATIENCE" git clone -q "$SCRATCH/origin" "$MNT/clone"
	is "git finds nothing changed there" "$(git -C "$MNT/clone" status --porcelain)" ""
	reads "a program of a package" clone/node_modules/.bin/tool ../tool/bin/cli.js tool
	reads "a link to a link" clone/deep/er/link3 still/link3 own
	is "below a link to a directory" "$(cat "$MNT/clone/node_modules/@scope/own/index.js")" own
	settle
	git clone -q "$SCRATCH/origin" "$STORE/theirs"
	sees theirs/deep/er/still/link8
	is "nor in one that was cloned in the sandbox" "$(trusted_git status --porcelain)" ""
	is "each link is shown as it is" "$(links_in "$MNT/theirs")" "$(links_in "$STORE/theirs")"
	ok "its index is written anew here" trusted_git reset -q --hard
	is "and says the same" "$(trusted_git status --porcelain)" ""
}

# Names of one link, made in the sandbox or here, are one file to stat(2).
names_of_one_link() {
	mkdir -p "$STORE/one/a/b"
	echo far >"$STORE/one/target"
	ln -s ../../target "$STORE/one/a/b/link"
	ln -P "$STORE/one/a/b/link" "$STORE/one/link"
	sees one/link
	sees one/a/b/link
	is "a link with two names is one file" "$(identity one/a/b/link)" "$(identity one/link)"
	is "of which there are two" "$(stat -c %h "$MNT/one/link")" 2
	reads "the deep name" one/a/b/link ../../target far
	is "find has them as one" "$(find "$MNT/one" -samefile "$MNT/one/link" | wc -l)" 2
	ok "a third name is made here" ln -P "$MNT/one/a/b/link" "$MNT/one/a/third"
	is "it is the same file" "$(identity one/a/third)" "$(identity one/a/b/link)"
	is "of which there are three" "$(counts one/link one/a/b/link one/a/third)" "3 3 3 "
	is "the text is what it was" "$(readlink "$MNT/one/a/b/link")" ../../target
	ok "one name is removed" rm "$MNT/one/a/third"
	is "two are left" "$(counts one/link one/a/b/link)" "2 2 "
	settle
	is "the sandbox says so, too" "$(stat -c %h "$STORE/one/link")" 2

	ok "a link is made here" ln -s ../anything/at/all "$MNT/one/ours"
	is "it has one name" "$(stat -c %h "$MNT/one/ours")" 1
	ok "and gets another one" ln -P "$MNT/one/ours" "$MNT/one/a/ours2"
	is "they are one file with two names" "$(identity one/ours)" "$(identity one/a/ours2)"
	is "which counts both" "$(counts one/ours one/a/ours2)" "2 2 "
	is "what was written reads back" "$(readlink "$MNT/one/ours")" ../anything/at/all
	is "by both names" "$(readlink "$MNT/one/a/ours2")" ../anything/at/all
	ok "the time of one is set" touch -h -d 2020-01-01T00:00:00Z "$MNT/one/ours"
	is "it is that of the other" "$(stat -c %Y "$MNT/one/a/ours2")" 1577836800
	ok "one name may take the place of the other" mv "$MNT/one/ours" "$MNT/one/a/ours3"
	is "they are one file still" "$(identity one/a/ours2)" "$(identity one/a/ours3)"
	settle
	is "in the sandbox as well" "$(readlink "$STORE/one/a/ours3")" ../anything/at/all
}

# Where a text is made for the place of its link, one after a rename is made for the new place.
moved_links() {
	mkdir -p "$STORE/m/n/o"
	echo top >"$STORE/m/top"
	ln -s /m/top "$STORE/m/absolute" # as if the mount's root were the sandbox's
	ln -s ../top "$STORE/m/n/up"
	sees m/n/up
	sees m/absolute
	is "a link is read" "$(cat "$MNT/m/n/up" "$MNT/m/absolute" | tr '\n' ' ')" "top top "
	ok "it is moved" mv "$MNT/m/n/up" "$MNT/m/n/renamed"
	reads "renamed where it stands" m/n/renamed ../top top
	ok "its directory is moved beside" mv "$MNT/m/n" "$MNT/m/p"
	reads "in a directory with another name" m/p/renamed ../top top
	ok "an absolute link is moved down" mv "$MNT/m/absolute" "$MNT/m/p/absolute"
	is "it leads where it led" "$(cat "$MNT/m/p/absolute")" top
	ok "its directory is moved up" mv "$MNT/m/p" "$MNT/beside"
	is "it leads there from there" "$(cat "$MNT/beside/absolute")" top
	mkdir -p "$MNT/one/two/three"
	ok "far down" mv "$MNT/beside" "$MNT/one/two/three/p"
	is "from far down, too" "$(cat "$MNT/one/two/three/p/absolute")" top
	ok "and up again" mv "$MNT/one/two/three/p" "$MNT/p"
	is "and up again it does" "$(cat "$MNT/p/absolute")" top
}

# As programs switch from one version to the next.
switched_links() {
	mkdir "$MNT/switch"
	for n in 1 2 3 4 5 6 7 8 9 10; do
		echo "$n" >"$MNT/switch/v$n"
		ln -sfn "v$n" "$MNT/switch/now"
		got=$(cat "$MNT/switch/now")
		[ "$got" = "$n" ] || break
	done
	is "a link that is replaced leads to the newest each time" "$got" 10
	ok "all of it can be removed" rm -r "$MNT/switch" "$MNT/clone" "$MNT/theirs"
}

# The sandbox, which does not lie, has a link both deep down and in the root.
two_depths() {
	echo "not for the sandbox's eyes" >"$SCRATCH/secret"
	mkdir -p "$STORE/t/u/v/w"
	ln -s "../../../../../../../../../../../../../..$SCRATCH/secret" "$STORE/t/u/v/w/out"
	ln -s ../../../../safe "$STORE/t/u/v/w/in"
	echo safe >"$STORE/safe"
	sees t/u/v/w/in
	reads "deep down" t/u/v/w/in ../../../../safe safe
	ln -P "$STORE/t/u/v/w/in" "$STORE/near"
	ln -P "$STORE/t/u/v/w/out" "$STORE/out"
	sees near
	sees out
	is "in the root it stays inside" "$(readlink "$MNT/near")" safe
	is "and deep down as it is" "$(readlink "$MNT/t/u/v/w/in")" ../../../../safe
	is "what leads out does not from either" \
		"$(cat "$MNT/t/u/v/w/out" "$MNT/out" 2>/dev/null | grep -c 'not for')" 0
}

mount_sandbox links
repositories
names_of_one_link
moved_links
switched_links
two_depths
unmount
done_testing
