#!/bin/sh
# Cases of POSIX (tests/posix) on a mount, as root and as an ordinary user. $PROGRAMS holds the test programs.
. "${0%/*}/../support/tap.sh"

PROGRAMS=${PROGRAMS:-$TOP/build/gcc-plain/tests/bin}
[ -x "$PROGRAMS/posix" ] || skip_all "$PROGRAMS/posix is not built: make check builds it"

# The program prints TAP itself: each of its lines becomes one of ours.
run_cases() {
	if [ "$MOUNT_AS" -eq 0 ]; then
		mount_sandbox posix allow_other
		chmod 755 "$MNT"
	else
		mount_sandbox "posix$MOUNT_AS"
	fi
	$(tap_become "$MOUNT_AS") timeout -k 5 1800 "$PROGRAMS/posix" "$MNT" >"$SCRATCH/cases" 2>&1
	is "the program came to its end" "$(grep -c '^1\.\.' "$SCRATCH/cases")" 1
	while IFS= read -r case; do
		case $case in
		"ok "*"# SKIP"*) ;;
		"ok "*) tap_line 0 "${case#*- }" ;;
		"not ok "*) tap_line 1 "${case#*- }" ;;
		"#"*) echo "$case" ;;
		esac
	done <"$SCRATCH/cases"
	unmount
}

for_each_user run_cases
done_testing
