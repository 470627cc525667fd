#!/bin/sh
# quickstart.sh PROVIDER [options of sandboxctl create] | SOURCE: what e2b.sh and the others
# beside it have in common. A sandbox is made, mounted, used on both sides and deleted; that of a
# SOURCE, as in ssh:HOST, is there and stays.
set -eu

[ $# -gt 0 ] || {
	echo "usage: quickstart.sh PROVIDER [options of sandboxctl create] | SOURCE" >&2
	exit 2
}
dir=$(mktemp -d)
made=
source=$1
case $1 in
*:*) ;;
*) source=$(sandboxctl create "$@") made=$1 ;;
esac
end() {
	# Busy for a moment, where somebody looks at all that is mounted.
	while mountpoint -q "$dir"; do
		umount "$dir" 2>/dev/null || fusermount3 -u "$dir" 2>/dev/null || sleep 0.2
	done
	case $made in
	'' | aio) ;;
	*) sandboxctl delete "$source" ;;
	esac
	rmdir "$dir" || :
}
trap end EXIT
trap 'exit 1' HUP INT TERM

sandboxfs "$source" "$dir"
echo "its files are here: $dir"

# A file is written here and read there.
echo 'print("hello from", __import__("platform").node())' >"$dir/quickstart.py"
echo 'python3 quickstart.py || cat quickstart.py' >"$dir/.sandbox/exec"
cat "$dir/.sandbox/exec"
echo

# A file is written there and read here.
sandboxctl exec "$source" 'date >quickstart.txt' </dev/null
cat "$dir/quickstart.txt"
rm "$dir/quickstart.py" "$dir/quickstart.txt"
