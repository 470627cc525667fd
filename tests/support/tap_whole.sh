# tap_whole.sh - for tests that a new file is seen whole in the sandbox, or not at all; read after tap.sh.
# shellcheck shell=sh disable=SC2016,SC2034,SC2154,SC2317

SIZE=6000000

# Says each size that FILE is ever seen with, in the order in which they are first seen, until there is a file `enough`.
watch_sizes() { # FILE
	python3 -c '
import os, sys, time
seen = []
while True:
    enough = os.path.exists("enough")
    try:
        with open(sys.argv[1], "rb") as file:
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        size = "absent"
    if size not in seen:
        seen.append(size)
        if size != "absent":
            open("seen", "w").close()
    open("watching", "w").close()
    if enough:
        break
    time.sleep(0.0002)
print(*seen)' "$1"
}

# As open(2) with these flags, in pieces, while it and what is beside it is looked at; then it says whether the file was one
# and the same all the time.
write_file() { # FILE FLAGS
	deadline "$PATIENCE" python3 -c '
import os, sys, time
path, flags, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
fd = os.open(path, os.O_WRONLY | os.O_CREAT | eval(flags), 0o640)
ino = os.fstat(fd).st_ino
while not os.path.exists("seen"):
    time.sleep(0.01)
for piece in range(6):
    os.write(fd, bytes([65 + piece]) * (size // 6))
    time.sleep(0.25)
    os.fstat(fd)
    os.listdir(os.path.dirname(path))
other = os.open(path, os.O_RDONLY)
os.close(fd)
os.fsync(other)
print(ino == os.fstat(other).st_ino == os.stat(path).st_ino)' "$1" "$2" $SIZE
}

whole() {
	python3 -c '
import sys
size = int(sys.argv[1])
sys.stdout.buffer.write(b"".join(bytes([65 + piece]) * (size // 6) for piece in range(6)))' $SIZE
}

is_made_whole() { # WORDS NAME FLAGS
	rm -f enough seen watching
	watch_sizes "$STORE/$2" >sizes &
	watcher=$!
	wait_until "$PATIENCE" test -e watching
	same=$(write_file "$MNT/$2" "$3")
	: >enough
	wait $watcher
	is "$1: it is empty, and then whole" "$(cat sizes)" "absent 0 $SIZE"
	ok "$1: with what was written" cmp -s expected "$STORE/$2"
	is "$1: as it was asked for" "$(stat -c '%a %h' "$STORE/$2")" "640 1"
	is "$1: one file all the time" "$same" True
}

# What is done to it behind that finds it; WORDS begin with what distinguishes the names.
goes_on() { # WORDS NAME
	echo more >>"$MNT/$2"
	chmod 604 "$MNT/$2"
	mv "$MNT/$2" "$MNT/$2.moved"
	ln "$MNT/$2.moved" "$MNT/$2.linked"
	settle
	is "$1: it goes on by another name" "$(tail -c 5 "$STORE/$2.linked")" more
	is "$1: with another mode" "$(stat -c '%a %h' "$STORE/$2.moved")" "604 2"
	cp "$STORE/$2.moved" "$MNT/$2.twin"
	ok "$1: and is another file than the next one" test ! "$MNT/$2.moved" -ef "$MNT/$2.twin"
}

# Each way to open a new file.
are_made_whole() { # WORDS NAME
	whole >expected
	is_made_whole "$1, a name that must be free" "$2.exclusive" os.O_EXCL
	is_made_whole "$1, one that may be taken" "$2.emptied" os.O_TRUNC
	is_made_whole "$1, one that is added to" "$2.added" os.O_APPEND
	goes_on "$1" "$2.added"
}
