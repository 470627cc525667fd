#!/bin/sh
# What a command changed is seen at once, also where the kernel had just been told otherwise: names that were looked for,
# files that are open or mapped, the directory one works in.
. "${0%/*}/../support/tap.sh"

[ "$TARGET" = mount ] || skip_all "a plain directory runs no commands"
mount_sandbox after_exec

run() { # COMMAND
	echo "$1" >"$MNT/.sandbox/exec"
}

cat >mapped.py <<-'END'
	import mmap, os, sys
	os.chdir(sys.argv[1])
	with open("file", "rb") as file:
	    pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
	    before = pages[:3]
	    with open(".sandbox/exec", "w") as command:
	        command.write("printf NEW | dd of=file conv=notrunc 2>/dev/null")
	    print(before.decode(), pages[:3].decode())
END

check() { # WHERE
	mkdir -p "$MNT/dir"
	rm -f "$MNT"/new.* "$MNT"/dir/new.*
	seen=
	for n in 1 2 3 4 5; do
		[ -e "$MNT/new.$n" ] || [ -e "$MNT/dir/new.$n" ] || run "touch new.$n dir/new.$n"
		[ -e "$MNT/new.$n" ] && [ -e "$MNT/dir/new.$n" ] && seen=$seen$n
	done
	is "a name that was absent a moment ago$1" "$seen" 12345

	seen=
	for n in 1 2 3 4 5; do
		[ -e "$MNT/new.$n" ] && run "rm new.$n"
		[ -e "$MNT/new.$n" ] || seen=$seen$n
	done
	is "a name that was there a moment ago$1" "$seen" 12345

	is "the way to the directory one works in$1" \
		"$(cd "$MNT/dir" && run true && readlink /proc/self/cwd)" "$MNT/dir"

	echo old >"$MNT/file"
	exec 5<"$MNT/file"
	run 'echo longer >>file'
	is "the size of an open file$1" "$(stat -L -c %s /proc/self/fd/5)" 11
	is "its contents$1" "$(cat <&5)" "old
longer"
	exec 5<&-
	run 'chmod 600 file'
	is "the mode of a file$1" "$(stat -c %a "$MNT/file")" 600
	run 'echo other >next; mv next file'
	is "a file that was replaced$1" "$(cat "$MNT/file")" other
	if ! command -v python3 >/dev/null; then
		skip "the pages of a mapped file$1" "needs python3"
		skip "what was written through a mapping$1" "needs python3"
		return
	fi
	echo old >"$MNT/file"
	is "the pages of a mapped file$1" "$(as_owner python3 mapped.py "$MNT")" "old NEW"
	run 'touch -d @1000000000 file'
	is "the time of a file$1" "$(stat -c %Y "$MNT/file")" 1000000000
	run 'python3 -c "import mmap; f = open(\"file\", \"r+b\"); mmap.mmap(f.fileno(), 0)[:3] = b\"MAP\""'
	# inotify tells nothing of that.
	ok "the time of a file that was written through a mapping$1" \
		[ "$(stat -c %Y "$MNT/file")" -gt 1000000000 ]
	is "what was written through a mapping$1" "$(cat "$MNT/file")" MAP
}

check ""

# So many that the kernel keeps what an audit confirms: cache/session/observer.c.
run 'mkdir many && cd many && seq 10500 | xargs touch'
ls -l "$MNT/many" >"$SCRATCH/known"
check ", among many files"

unmount
done_testing
