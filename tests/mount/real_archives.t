#!/bin/sh
# rsync, tar and cp to a mount and back: nothing may be lost on the way.
. "${0%/*}/../support/tap.sh"
needs rsync tar setfattr getfattr

make_tree() { # DIRECTORY
	as_owner sh -c '
		mkdir -p "$1/a/b/c" "$1/empty" && cd "$1" || exit
		for i in $(seq 50); do head -c $((i * 700)) /dev/urandom >a/b/$i; done
		: >zero; printf x >a/one; ln -s b/1 a/link; ln -s /nonexistent a/dangling
		ln a/b/2 a/hard; head -c 3000000 /dev/urandom >large
		truncate -s 5000000 sparse; printf end | dd of=sparse bs=1 seek=4000000 conv=notrunc status=none
		touch -d "2001-02-03 04:05:06.123456789" a/b/3; touch -d "1969-12-30 00:00:00.5" a/b/4
		chmod 600 a/b/5; chmod 555 a/b/6; chmod 2755 a/b/c; mkfifo pipe
		touch "with space" "$(printf "new\nline")" "$(printf "\303\251")"
		setfattr -n user.note -v "a value" a/b/7' - "$1"
}

# Names, kinds, modes, owners, links of a tree; sizes and times of its files.
facts() { # DIRECTORY
	as_owner sh -c 'cd "$1" && find . -mindepth 1 -printf "%p %y %m %u %g %n %l" \
		\( -type f -printf " %s %T+\n" -o -printf "\n" \) | LC_ALL=C sort' - "$1"
}

contents() { # DIRECTORY
	as_owner sh -c 'cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum' - "$1"
}

same_trees() { # NAME A B
	facts "$2" >"$SCRATCH/facts.a"
	facts "$3" >"$SCRATCH/facts.b"
	ok "$1: facts" diff "$SCRATCH/facts.a" "$SCRATCH/facts.b"
	contents "$2" >"$SCRATCH/contents.a"
	contents "$3" >"$SCRATCH/contents.b"
	ok "$1: contents" diff "$SCRATCH/contents.a" "$SCRATCH/contents.b"
}

sync_to() { # FROM TO
	as_owner timeout -k 5 600 rsync -aHX --checksum --itemize-changes "$1/" "$2/"
}

there_and_back() {
	here=$SCRATCH/home/$MOUNT_AS
	as_owner mkdir "$here"
	mount_sandbox "archives$MOUNT_AS"
	ok "a tree" make_tree "$here/tree"

	ok "rsync to the mount" sync_to "$here/tree" "$MNT/synced"
	is "a second rsync transfers nothing" "$(sync_to "$here/tree" "$MNT/synced")" ""
	ok "rsync back" sync_to "$MNT/synced" "$here/synced"
	is "a second one back transfers nothing" "$(sync_to "$MNT/synced" "$here/synced")" ""
	same_trees "rsync both ways" "$here/tree" "$here/synced"
	same_trees "rsync, on the mount" "$here/tree" "$MNT/synced"

	ok "tar from the mount" as_owner timeout 120 tar --xattrs -C "$MNT/synced" -cf "$here/out.tar" .
	ok "tar to the mount" as_owner sh -c 'mkdir "$2" && timeout 120 tar --xattrs -C "$2" -xpf "$1"' - "$here/out.tar" "$MNT/untarred"
	same_trees "tar both ways" "$here/tree" "$MNT/untarred"
	ok "tar finds no difference" as_owner timeout 120 tar -C "$MNT/untarred" -df "$here/out.tar"

	ok "cp -a on the mount" as_owner timeout 120 cp -a "$MNT/synced" "$MNT/copied"
	same_trees "cp -a" "$here/tree" "$MNT/copied"
	is "the attribute came along" "$(as_owner getfattr --absolute-names --only-values -n user.note "$MNT/copied/a/b/7")" "a value"
	ok "two names are still one file" as_owner sh -c '[ "$1/a/b/2" -ef "$1/a/hard" ]' - "$MNT/copied"
	ok "cp --sparse back" as_owner timeout 120 cp --sparse=always "$MNT/copied/sparse" "$here/sparse"
	ok "the sparse file is the same" as_owner cmp "$here/sparse" "$here/tree/sparse"
	ok "diff -r" as_owner timeout 120 diff -r --no-dereference -x pipe "$here/tree" "$MNT/copied"
	# Nothing of it has to be in the sandbox yet.
	ok "a file with a byte in its hole" as_owner sh -c '
		truncate -s 1000000 "$1" && printf x | dd of="$1" bs=1 seek=5000 conv=notrunc status=none' - "$MNT/hole"
	as_owner timeout 120 tar -C "$MNT" -cSf "$here/hole.tar" hole
	ok "tar -S takes the byte along" as_owner sh -c 'tar -xOf "$1" hole | cmp - "$2"' - "$here/hole.tar" "$MNT/hole"
	ok "rm -rf" as_owner timeout 120 rm -rf "$MNT/hole" "$MNT/copied" "$MNT/synced" "$MNT/untarred"
	is "nothing remains" "$(as_owner ls -A "$MNT")" ""
	unmount
}

for_each_user there_and_back
done_testing
