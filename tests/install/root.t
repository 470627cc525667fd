#!/bin/sh
# A root of a test's own (tests/support/in-root): what needs more than chroot(2) gives works there. And the table of what passes in
# several (tests/support/distro-table).
# shellcheck disable=SC2016
TAP_WANTS_APART=1
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs_local
needs_root
needs unshare nsenter pivot_root bwrap
tap_is_apart || skip_all "needs mount namespaces"

# ---- The root ------------------------------------------------------------------------------------

# This machine's own files, and what is written there in memory.
mkdir root memory
mount -t tmpfs none memory
mkdir memory/upper memory/work
mount -t overlay -o "lowerdir=/,upperdir=$SCRATCH/memory/upper,workdir=$SCRATCH/memory/work" none root 2>/dev/null ||
	skip_all "needs overlayfs"
there() {
	deadline "$PATIENCE" "$TOP/tests/support/in-root" "$SCRATCH/root" "$@"
}

ok "a user namespace can be made" there unshare -Ur true
ok "so bubblewrap runs" there bwrap --ro-bind / / --unshare-all true
ok "another mount namespace can be entered" there sh -c 'unshare -m sleep 1000 & nsenter -t $! -m true'
ok "FUSE is open to everybody" there sh -c '[ "$(stat -c %a /dev/fuse)" = 666 ]'
ok "there are terminals" there sh -c 'script -qec true /dev/null'
is "nothing of this machine's mounts is left" "$(there sed 's/^[^ ]* \([^ ]*\) .*/\1/' /proc/self/mounts | grep -vE '^/(dev|proc|sys|run)(/|$)')" /
is "nor of its environment" "$(MARK=1 there env | grep -c MARK)" 0
is "a command's status is its own" "$(there sh -c 'exit 7'; echo $?)" 7
there sh -c 'sleep 12345.678 & :'
ok "what a command leaves running has ended" sh -c '! grep -qs "12345[.]678" /proc/[0-9]*/cmdline'
umount root memory

# ---- The table -----------------------------------------------------------------------------------

printf '[10:00:00] unit:a ... ok      5 ms\n[10:00:01] b.t .. skipped: no\n' >twelve.log
# A run that was ended has no last lines, which name what failed.
printf '[10:00:00] unit:a ..\n[10:00:01] c.t .. ok      7 ms\n' >thirteen.log
is "the tests of two runs are beside each other" \
	"$("$TOP/tests/support/distro-table" twelve.log thirteen.log | sed 's/  */ /g; s/ $//')" "test twelve thirteen
unit:a ok FAILED
b.t skipped -
c.t - ok
passed 1 of 3 1 of 3"

done_testing
