#!/bin/sh
# What a hostile sandbox puts into the tree, planted here behind the mount: names of any bytes, links that lead out.
#
# Nothing outside the mount may be reached through it, by no chain of links; a link written through the mount reads back
# as it was written.
. "${0%/*}/../support/tap.sh"
needs_mount

secret="not for the sandbox's eyes"

# Every way in: what is at the path must not be the secret.
is_out_of_reach() { # NAME PATH
	got=$(deadline "$PATIENCE" cat "$2" 2>/dev/null)
	case $got in
	*"$secret"*)
		tap_line 1 "$1"
		diag "$2 shows what lies outside; it reads as a link to: $(readlink "$2")"
		;;
	*) tap_line 0 "$1" ;;
	esac
}

# A shown target: not absolute, ".." only in front, at most as many as the link is deep.
shown_is_inside() { # PATH-IN-MOUNT
	shown=$(readlink "$MNT/$1") || return 0 # refused: inside by not being shown
	case $shown in /*) return 1 ;; esac
	depth=$(printf %s "$1" | tr -cd / | wc -c)
	rest=$shown ups=0
	while :; do
		case $rest in
		../*) rest=${rest#../} ups=$((ups + 1)) ;;
		..) rest='' ups=$((ups + 1)) ;;
		*) break ;;
		esac
	done
	[ "$ups" -le "$depth" ] || return 1
	case /$rest/ in */../*) return 1 ;; esac
}

size_fits_link() { # PATH-IN-MOUNT
	shown=$(readlink -n "$MNT/$1"; echo .) || return 0
	shown=${shown%.}
	[ "$(stat -c %s "$MNT/$1")" = "$(printf %s "$shown" | LC_ALL=C wc -c)" ]
}

check_link() { # PATH-IN-MOUNT
	ok "$1: what is shown stays inside" shown_is_inside "$1"
	ok "$1: its size is that of what is shown" size_fits_link "$1"
	is_out_of_reach "$1: the secret is out of reach" "$MNT/$1"
}

plant_links() {
	mkdir -p "$STORE/a/b/c"
	echo inside >"$STORE/target"
	ln -s "$SCRATCH/secret" "$STORE/absolute"
	ln -s "../../../../../../../../../../../../../../..$SCRATCH/secret" "$STORE/climbing"
	ln -s "a/../../../../../../../../../../../../../../..$SCRATCH/secret" "$STORE/hidden-climb"
	ln -s "./a/b/c/../../../../secret" "$STORE/dotted"
	ln -s ../secret "$STORE/one-up"
	ln -s ../../../.. "$STORE/a/b/c/l1"
	ln -s a/b/c/l1/../secret "$STORE/l2"
	ln -s a/b/c/l1/secret "$STORE/l3"
	ln -s / "$STORE/slash"
	ln -s /proc/self/root"$SCRATCH/secret" "$STORE/proc"
	ln -s ../../../target "$STORE/a/b/c/fine"
	ln -s .. "$STORE/dotdot"
	ln -s a/b/c/fine "$STORE/twice"
	echo "$secret" >"$(dirname "$STORE")/secret"
	echo "$secret" >"$(dirname "$(dirname "$STORE")")/secret"
}

links() {
	echo "$secret" >"$SCRATCH/secret"
	mount_sandbox hostile
	plant_links
	sees a/b/c/fine
	sees twice
	for link in absolute climbing hidden-climb dotted one-up a/b/c/l1 l2 l3 slash proc dotdot; do
		check_link "$link"
	done
	is_out_of_reach "below a link to the root directory" "$MNT/slash$SCRATCH/secret"
	is_out_of_reach "below a climbing link" "$MNT/a/b/c/l1/secret"
	is_out_of_reach "next to the mount" "$MNT/dotdot/secret"
	is "a harmless link is shown as it is" "$(readlink "$MNT/a/b/c/fine")" ../../../target
	is "and leads where it should" "$(cat "$MNT/twice")" inside
}

# A link that was harmless where it was made must not lead out where it is moved to.
moved_links() {
	mkdir -p "$STORE/deep/er/still"
	ln -s ../../../secret "$STORE/deep/er/still/moves"
	ln -s ../../../secret "$STORE/deep/er/still/linked"
	sees deep/er/still/linked
	ok "a link can be moved" mv "$MNT/deep/er/still/moves" "$MNT/moved"
	check_link moved
	ok "a link can be hard-linked" ln -P "$MNT/deep/er/still/linked" "$MNT/hard"
	check_link hard
	check_link deep/er/still/linked
	mkdir -p "$STORE/x/y"
	ln -s ../../secret "$STORE/x/y/inner"
	sees x/y/inner
	ok "a folder with links can be moved" mv "$MNT/x/y" "$MNT/y"
	check_link y/inner
}

# By listings, which ask for no name.
listings_lack() { # PATH-IN-MOUNT...
	for path in "$@"; do
		[ -z "$(find "$(dirname "$MNT/$path")" -mindepth 1 -maxdepth 1 -name "${path##*/}")" ] || return 1
	done
}

# The sandbox itself moves links nearer to the root, and a listing has noticed that they are gone from where they were.
links_moved_behind() {
	mkdir -p "$STORE/up/per/dir" "$STORE/up/per/moved"
	ln -s ../../../secret "$STORE/up/per/dir/climber"
	ln -s ../../../secret "$STORE/up/per/moved/climber"
	ln -s "$SCRATCH/secret" "$MNT/ours"
	settle
	sees up/per/moved/climber
	is "a link that stays inside" "$(readlink "$MNT/up/per/dir/climber")" ../../../secret
	is "and one in a folder" "$(readlink "$MNT/up/per/moved/climber")" ../../../secret
	mv "$STORE/up/per/dir/climber" "$STORE/climber"
	mv "$STORE/up/per/moved" "$STORE/moved-up"
	mv "$STORE/ours" "$STORE/theirs"
	wait_until "$PATIENCE" listings_lack up/per/moved up/per/dir/climber ours
	ls -A "$MNT/up/per/dir" "$MNT" >/dev/null
	sees moved-up/climber
	check_link climber
	check_link moved-up/climber
	check_link theirs
}

written_links() {
	for target in /etc/hostname ../../../../x a/../../b ../up "plain" "with space" "new
line"; do
		rm -f "$MNT/written"
		ln -s "$target" "$MNT/written"
		is "a link written here reads back: $(printf %s "$target" | tr '\n' ' ')" "$(readlink "$MNT/written")" "$target"
	done
}

# name_of KIND: names that no one would choose.
odd_names() {
	printf '%s\0' "new
line" "$(printf 'tab\tand\001')" "$(printf '\377\376')" "$(printf 'e\314\201')" "$(printf '\033[2J')" ' ' '-rf' \
		'*' '...' "$(printf 'x%.0s' $(seq 255))" 'C:\dir' '%n%s' '"quoted' "it's"
}

names() {
	mkdir "$STORE/names"
	odd_names | (cd "$STORE/names" && xargs -0 touch --)
	sees names/...
	is "every odd name is listed as it is" "$(ls -A --zero "$MNT/names" 2>/dev/null | sort -z | md5sum)" \
		"$(odd_names | sort -z | md5sum)"
	ok "every odd name can be written through the mount" sh -c '
		cd "$1/names" && for name in * ...; do printf %s "$name" >"./$name" || exit 1; done' - "$MNT"
	settle
	ok "and the store has what was written" sh -c '
		cd "$1/names" && for name in * ...; do [ "$(cat "./$name"; echo .)" = "$name." ] || exit 1; done' - "$STORE"
	ok "they can be moved" sh -c 'mkdir "$1/n2" && cd "$1/names" && mv -- * ... ../n2/' - "$MNT"
	ok "and removed" rm -rf "$MNT/n2"
	is "nothing remains" "$(ls -A "$MNT/names")" ""
}

# Kinds of files that must do no harm when touched through the mount.
kinds() {
	mkfifo "$STORE/fifo"
	[ "$(id -u)" -ne 0 ] || mknod "$STORE/device" c 1 5
	sees fifo
	ok "a listing with a fifo does not wait" deadline "$PATIENCE" ls -l "$MNT"
	ok "a program with suid bits is nosuid here" grep -q " $MNT fuse[^ ]* [^ ]*nosuid" /proc/self/mounts
	ok "devices are nodev here" grep -q " $MNT fuse[^ ]* [^ ]*nodev" /proc/self/mounts
	[ "$(id -u)" -ne 0 ] || fails "a device cannot be opened" deadline "$PATIENCE" head -c 1 "$MNT/device"
}

# The sandbox changes what a path is between two calls.
swapped() {
	mkdir "$STORE/swap"
	echo inside >"$STORE/swap/secret"
	sees swap/secret
	is "a folder" "$(cat "$MNT/swap/secret")" inside
	mv "$STORE/swap" "$STORE/swap.old"
	ln -s "$(dirname "$STORE")" "$STORE/swap"
	is_out_of_reach "a folder that became a link leads nowhere" "$MNT/swap/secret"
	# Where the mount has not heard of it yet it is the sandbox that refuses.
	expect_log 'swap'
	echo x 2>/dev/null >"$MNT/swap/made"
	settle 2>/dev/null
	ok "and nothing is made behind it" test ! -e "$(dirname "$STORE")/made"
}

links
moved_links
links_moved_behind
written_links
names
kinds
swapped
unmount
done_testing
