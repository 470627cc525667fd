#!/bin/sh
# demo.sh BIN - a file is written in a sandbox with an ordinary program and run there; then everything is gone again.
set -eu

bin=$(cd "${1:?usage: demo.sh DIRECTORY_OF_THE_PROGRAMS}" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sandboxfs-demo.XXXXXX")
dir=$scratch/demo

clean_up() {
	status=$?
	trap - EXIT
	if grep -qF " $dir fuse.sandboxfs " /proc/self/mounts; then
		"$bin/umount.fuse.sandboxfs" -l "$dir" || status=1
	fi
	rm -rf --one-file-system "$scratch"
	exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

show() {
	echo "\$ $*"
}

# The sandbox itself lives in the scratch folder too: nothing of the demo stays.
export XDG_DATA_HOME="$scratch/data"
mkdir "$XDG_DATA_HOME" "$dir"

show sandboxfs local:demo "$dir"
"$bin/sandboxfs" local:demo "$dir"
cd "$dir"

show "tee hello.sh"
tee hello.sh <<'SCRIPT'
echo "hello from $(uname -s), in $PWD, as $(id -un)"
ls -l
SCRIPT

show "echo 'sh hello.sh' > .sandbox/exec"
echo 'sh hello.sh' >.sandbox/exec
show "cat .sandbox/exec"
answer=$(cat .sandbox/exec)
printf '%s\n' "$answer"

cd /
show umount "$dir"
"$bin/umount.fuse.sandboxfs" "$dir"

case $answer in
*'"exit_code": 0'* | *'"exit_code":0'*) ;;
*)
	echo "demo: the command did not run; the answer above says why" >&2
	exit 1
	;;
esac
