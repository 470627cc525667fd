#!/bin/sh
# A file that is replaced by rename, the way in which programs save, is there at any moment: who opens it, reads it and asks
# for its attributes meanwhile is never told that it is gone, whoever replaces it.
#
#	REPLACED         how often each reader sees that, and thirty times as often what is replaced here (3)
#	REPLACED_ROUNDS  of all calls, at least (3)
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
needs python3

REPLACE='number=0
until [ -e "$1/stop" ]; do
	number=$((number + 1))
	echo $number >"$1/.new" && mv "$1/.new" "$1/file" || exit
done'

# replaced WHO TIMES READ COMMAND...
replaced() {
	who=$1
	times=$2
	read=$3
	shift 3
	mkdir "$MNT/$who" && echo 0 >"$MNT/$who/file" && settle
	ok "replaced $who it is there at any moment" deadline 900 python3 "$TOP/tests/mount/replaced.py" "$MNT/$who/file" \
		"${REPLACED_ROUNDS:-3}" "$times" "$read" "$@"
	diag "$who: $tap_said"
}

mount_sandbox replaced
replaced here $((30 * ${REPLACED:-3})) whole sh -c "$REPLACE" - "$MNT/here"
if [ "$TARGET" = mount ]; then
	replaced inside "${REPLACED:-3}" anew sh -c 'printf "%s\n" "$1" >"$2/.sandbox/exec"' - "set -- inside; $REPLACE" "$MNT"
	replaced beside "${REPLACED:-3}" anew sh -c "$REPLACE" - "$STORE/beside"
fi
unmount
done_testing
