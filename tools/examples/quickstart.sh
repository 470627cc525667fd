#!/bin/sh
# quickstart.sh PROVIDER [create's options]: a sandbox from its beginning to its end. The key is in the environment:
#
#	local      needs none
#	e2b        E2B_API_KEY
#	daytona    DAYTONA_API_KEY
#	modal      MODAL_TOKEN_ID and MODAL_TOKEN_SECRET, or ~/.modal.toml
#	runloop    RUNLOOP_API_KEY
#	langsmith  LANGSMITH_API_KEY
#	aio        SANDBOX_HOST and SANDBOX_PORT, where it is not localhost:8080; its only sandbox stays
set -eu

[ $# -gt 0 ] || { echo "usage: quickstart.sh PROVIDER [options of sandboxctl create]" >&2; exit 2; }
dir=$(mktemp -d)
source=$(sandboxctl create "$@")
end() {
	# Busy for a moment, where somebody looks at all that is mounted.
	while mountpoint -q "$dir"; do
		umount "$dir" 2>/dev/null || fusermount3 -u "$dir" 2>/dev/null || sleep 0.2
	done
	[ "${source%%:*}" = aio ] || sandboxctl delete "$source"
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
