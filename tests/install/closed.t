#!/bin/sh
# A tree below a directory that only root may enter: what its tests do as an ordinary user, with programs and scripts of the tree,
# is done there as anywhere, and not left out.
# shellcheck source=tests/support/tap.sh disable=SC2016
. "${0%/*}/../support/tap.sh"

needs_mount
needs_root
needs node python3 unshare setpriv
unshare -m true 2>/dev/null || skip_all "needs mount namespaces"

# The test in such a tree.
work() {
	mount_sandbox "work$MOUNT_AS"
	ok "a file is written" as_owner sh -c 'echo text >"$1/f"' - "$MNT"
	ok "scripts of the tree can be read" as_owner test -r "$TOP/tests/support/tap.sh"
	ok "its programs can be run" as_owner "$SANDBOXCTL" --version
	unmount
}
if [ "${IN_CLOSED_TREE:-}" = mounts ]; then
	cat /proc/self/mounts
	exit 0
fi
if [ -n "${IN_CLOSED_TREE:-}" ]; then
	for_each_user work
	done_testing
fi

mkdir -m 700 closed
mkdir -p closed/tree/tests/install closed/tree/build
for part in tests/support tests/servers tests/install/closed.t build/servers; do
	cp -r "$TOP/$part" "closed/tree/${part%/*}"
done
mkdir closed/tree/build/bin
cp "${SANDBOXFS%/*}/"*sandbox* closed/tree/build/bin

in_closed() { # PROVIDER
	env TAP_APART= IN_CLOSED_TREE=1 PROVIDER="$1" SANDBOXFS="$SCRATCH/closed/tree/build/bin/sandboxfs" \
		sh "$SCRATCH/closed/tree/tests/install/closed.t" >"said.$1" 2>&1
}
for provider in local e2b; do
	ok "$provider: the tests pass there" in_closed $provider
	is "$provider: and nothing is left out" "$(grep -cE '^ok [0-9]+ - (root|user): ' said.$provider) $(grep SKIP said.$provider)" "8 "
done

# Mounts of other tests come and go.
of_its_own() {
	grep -E ' /dev/fuse |\.tree\.' | sort
}
mounted=$(of_its_own </proc/self/mounts)
is "nothing is mounted for a test that sees to it itself" \
	"$(env TAP_APART=self IN_CLOSED_TREE=mounts sh closed/tree/tests/install/closed.t | of_its_own)" "$mounted"
is "and what is mounted for others goes with them" "$(of_its_own </proc/self/mounts)" "$mounted"

done_testing
