#!/bin/sh
# What a command changed is seen at once, also where the kernel had just been told otherwise: names that were looked for,
# files that are open or mapped, the directory one works in.
. "${0%/*}/../support/tap.sh"

[ "$TARGET" = mount ] || skip_all "a plain directory runs no commands"
mount_sandbox after_exec

run() { # COMMAND
	echo "$1" >"$MNT/.sandbox/exec"
}

mkdir "$MNT/dir"
seen=
for n in 1 2 3 4 5; do
	[ -e "$MNT/new.$n" ] || [ -e "$MNT/dir/new.$n" ] || run "touch new.$n dir/new.$n"
	[ -e "$MNT/new.$n" ] && [ -e "$MNT/dir/new.$n" ] && seen=$seen$n
done
is "a name that was absent a moment ago" "$seen" 12345

seen=
for n in 1 2 3 4 5; do
	[ -e "$MNT/new.$n" ] && run "rm new.$n"
	[ -e "$MNT/new.$n" ] || seen=$seen$n
done
is "a name that was there a moment ago" "$seen" 12345

is "the way to the directory one works in" \
	"$(cd "$MNT/dir" && run true && readlink /proc/self/cwd)" "$MNT/dir"

echo old >"$MNT/file"
exec 5<"$MNT/file"
run 'echo longer >>file'
is "the size of an open file" "$(stat -L -c %s /proc/self/fd/5)" 11
is "its contents" "$(cat <&5)" "old
longer"
exec 5<&-

if command -v python3 >/dev/null; then
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
	is "the pages of a mapped file" "$(as_owner python3 mapped.py "$MNT")" "old NEW"
else
	skip "the pages of a mapped file" "needs python3"
fi

unmount
done_testing
