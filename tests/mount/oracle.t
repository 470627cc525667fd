#!/bin/sh
# One random trace of system calls on a mount and on a plain directory, compared call by call (tests/oracle).
#
#	ORACLE_SEED   the first seed (1); ORACLE_SEEDS: how many (2)
#	ORACLE_OPS    calls of each (10000)
#	ORACLE_MORE   more options of the oracle, as --minimize
#
# On the embedded sandbox, unless HELPER says so, the helper program gets a shorter trace, too.
. "${0%/*}/../support/tap.sh"

PROGRAMS=${PROGRAMS:-$TOP/build/gcc-plain/tests/bin}
[ -x "$PROGRAMS/oracle" ] || skip_all "$PROGRAMS/oracle is not built: make check builds it"
needs_root

# Where a mount may differ, and why:
#	access times: the kernel answers reads from its cache, the sandbox does not hear of them
#	O_TMPFILE and the time of birth: libfuse has no such requests
#	a chown of nothing: where the set-group-id bit stands without its execute bit, the kernel's own answer differs
#	times: those of a change are provisional until a remote sandbox has it, at the next fsync
LEFT_OUT=open_tmpfile,btime,chown_nothing
DIFFERENCES="--no-atime --without=$LEFT_OUT"
[ "$PROVIDER" != local ] && DIFFERENCES="--changes-follow --times-every=7 $DIFFERENCES"
[ "$TARGET" = plain ] && DIFFERENCES=

cp "$PROGRAMS/oracle" "$SCRATCH"

replay() { # NAME OPTION...
	name=$1
	shift
	case $DIFFERENCES in *--changes-follow*) set -- --sync="$MNT/.sandbox/sync" "$@" ;; esac
	as_owner mkdir -p "$MNT/work" "$XDG_DATA_HOME/plain.$MOUNT_AS"
	settle
	# shellcheck disable=SC2086
	ok "$name" as_owner timeout -k 5 3000 "$SCRATCH/oracle" --quiet --ops="${ORACLE_OPS:-10000}" $DIFFERENCES \
		${ORACLE_MORE:-} "$@" --behind="$STORE/work" "$MNT/work" "$XDG_DATA_HOME/plain.$MOUNT_AS"
}

mount_sandbox oracle allow_other
seed=${ORACLE_SEED:-1}
last=$((seed + ${ORACLE_SEEDS:-2} - 1))
while [ "$seed" -le "$last" ]; do
	replay "seed $seed: no difference" --seed="$seed"
	replay "seed $seed, with other users: no difference" --seed="$seed" --as-users
	seed=$((seed + 1))
done
unmount

# Links that others write are shown as they are only where that is wanted.
mount_sandbox oracle_writers allow_other,symlinks=raw
if [ "$TARGET" = mount ]; then
	replay "with a second writer in the sandbox: no difference" --seed="$seed" --second-writer=5 \
		--sync="$MNT/.sandbox/sync"
fi
unmount

# As an ordinary user, whose files are worked on by their paths as that user: what the owner took from himself is out of
# reach of descriptors, too, and what is written back from memory takes set-id bits.
MOUNT_AS=$TEST_UID
mount_sandbox oracle_user
replay "as an ordinary user: no difference" --seed="$seed" --plain-modes --without="$LEFT_OUT,umask"
unmount
MOUNT_AS=0

if [ "$TARGET:$PROVIDER:$HELPER" = mount:local:auto ]; then
	ORACLE_MORE=
	HELPER=process mount_sandbox oracle_process allow_other
	ORACLE_OPS=3000 replay "through the helper program: no difference" --seed="$seed"
	unmount
fi
done_testing
