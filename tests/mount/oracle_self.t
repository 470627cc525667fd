#!/bin/sh
# The oracle itself: it finds nothing between two plain directories, and finds what is spoiled on purpose.
. "${0%/*}/../support/tap.sh"

PROGRAMS=${PROGRAMS:-$TOP/build/gcc-plain/tests/bin}
[ -x "$PROGRAMS/oracle" ] || skip_all "$PROGRAMS/oracle is not built: make check builds it"
needs_root

mkdir "$SCRATCH/a" "$SCRATCH/b"
oracle() {
	deadline 600 "$PROGRAMS/oracle" --quiet "$@" "$SCRATCH/a" "$SCRATCH/b"
}

ok "two plain directories do not differ" oracle --seed=7 --ops="${ORACLE_OPS:-20000}"
ok "nor with several users" oracle --seed=8 --ops="${ORACLE_OPS:-20000}" --as-users
for kind in result drop content; do
	oracle --seed=9 --ops=5000 --tree-every=5 --sabotage=$kind >"$SCRATCH/said" 2>&1
	is "sabotage of the kind '$kind' is found" $? 1
	ok "and told with seed and step" grep -q '^DIFFERENCE: seed 9, step [0-9]' "$SCRATCH/said"
done
oracle --seed=4 --ops=2000 --sabotage=drop --sabotage-step=200 --minimize >"$SCRATCH/said" 2>/dev/null
ok "a difference is reduced to a few calls" sh -c '
	test "$(sed "1,/^DIFFERENCE/d; /^DIFFERENCE/,\$!d" "$1" | grep -c "^  [0-9]*: ")" -le 10' - "$SCRATCH/said"
is "nothing is left behind" "$(ls -A "$SCRATCH/a" "$SCRATCH/b" | grep -c oracle)" 0
done_testing
