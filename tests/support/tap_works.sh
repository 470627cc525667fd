# tap_works.sh - git, tar and SQLite at work on a mount (tests/mount/works.py) while something is in trouble, sourced after
# tap_faults.sh: each goes on, or ends with an error; when the trouble is over what they were told is done is there and whole,
# on the mount and in the sandbox, and they work again.
#
#	FAULT_S   how many seconds a fault lasts (3)
# shellcheck disable=SC2154
needs git tar
WORKS=$TOP/tests/mount/works.py

make_archive() {
	mkdir source && for n in $(seq 60); do
		mkdir -p "source/d$((n % 7))" && seq "$n" $((n * 30)) >"source/d$((n % 7))/f$n"
	done
	tar -cf archive.tar source
}

# In the sandbox: what it refuses from the beginning leaves nothing to look at.
has_begun() { test -e "$STORE/$round/git/.git/HEAD"; }

status() { # FIELD
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$MNT/.sandbox/status" "$1"
}

# What was refused is told once; and that the sandbox seems to be gone until the next attempt.
settles() {
	wait_until "$PATIENCE" settle
}

# whole NAME DIRECTORY...: what the works left there.
whole() {
	of=$1
	shift
	for place in "$@"; do
		ok "$round: $of is whole in ${place%/*}" deadline "$PATIENCE" "$PYTHON" "$WORKS" check "$place" archive.tar "$of.report" $refused
	done
}

# Sets `again`, the directory in which all went well. A machine may stall for longer than the time-out of this mount: another
# try, of ten, has a directory of its own.
works_again() {
	for try in 1 2 3 4 5 6 7 8 9 10; do
		again=$round.after.$try
		deadline 300 "$PYTHON" "$WORKS" run "$MNT/$again" archive.tar >"$again.report"
		said="$(grep -v ' ok$' "$again.report") $(grep -c ' ok$' "$again.report")"
		[ "$said" != " 4" ] || break
	done
	is "$round: all work again" "$said" " 4"
}

# Two functions, and what the sandbox does about changes: `all`: it gets all of them in the end; `some`: it refuses some,
# which is told.
works_in_trouble() { # BREAK MEND WHAT
	round=$1 refused=
	parked=$(status parked_changes)
	began=$(date +%s)
	deadline 300 "$PYTHON" "$WORKS" run "$MNT/$round" archive.tar >"$round.report" &
	worker=$!
	wait_until "$PATIENCE" has_begun
	$1
	wait_until "${FAULT_S:-3}" false
	$2
	wait $worker
	is "$round: they come to an end" $? 0
	is "$round: each of them" "$(wc -l <"$round.report")" 4
	diag "$(cut -c 1-150 "$round.report")"
	ok "$round: the sandbox has all that it takes" settles
	[ "$3" = all ] || [ "$(status parked_changes)" = "$parked" ] || refused=refused
	[ "$3" = some ] || is "$round: which is everything" "$(status pending_changes) $(status parked_changes)" "0 $parked" ||
		diag "$(cat "$MNT/.sandbox/status")"
	whole "$round" "$MNT/$round" "$STORE/$round"
	is "$round: here is what is there" "$(deadline "$PATIENCE" diff -r --no-dereference "$MNT/$round" "$STORE/$round" 2>&1)" ""
	works_again
	ok "$round: and what they do arrives" settle
	refused=
	whole "$again" "$STORE/$again"
	rm -rf "$STORE/$round" "$STORE/$round.after"*
	diag "$round: $(($(date +%s) - began)) s"
}
