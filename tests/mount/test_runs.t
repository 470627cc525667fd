#!/bin/sh
# What runs the tests: the time that a test takes of the processors is told, a test that is ended cleans up, and a run that is
# killed leaves no disk behind.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

# ---- The busiest tests ---------------------------------------------------------------------------

cat >busy.t <<'END'
#!/bin/sh
echo 1..1
head -c 300000000 /dev/zero | cksum >/dev/null
echo ok 1
END
cat >idle.t <<'END'
#!/bin/sh
echo 1..1
sleep 1
echo ok 1
END
chmod +x busy.t idle.t
(
	cd "$TOP" || exit
	SCRATCH_DISK=none LOGS=$SCRATCH/logs tests/support/prove-tests 2 "$SCRATCH/idle.t" "$SCRATCH/busy.t"
) >said 2>&1
is "a run of tests that pass" $? 0
like "the busiest test is the first of its list" "$(sed -n '/processor busiest/,$p' said | sed -n 2p)" " $SCRATCH/busy.t$"
ok "with its seconds of a processor, which the idle one has not" awk -v busy="$SCRATCH/busy.t" -v idle="$SCRATCH/idle.t" '
	/processor busiest/ { told = 1 }
	told && $3 == busy { took = $1 }
	told && $3 == idle { rested = $1 }
	END { exit !(took > rested && rested < 0.5) }' said

# ---- A test that is ended ------------------------------------------------------------------------

cat >ended.t <<'END'
#!/bin/sh
trap 'exit 7' TERM
echo 1..1
: >"${0%/*}/started"
sleep 1000 &
wait
END
chmod +x ended.t
LOGS=$SCRATCH/logs setsid "$TOP/tests/support/run-test" "$SCRATCH/ended.t" >said 2>&1 &
RUN=$!
tap_helpers="$tap_helpers $RUN"
ok "a test has begun" wait_until "$PATIENCE" test -e started
kill -TERM "-$RUN"
wait "$RUN"
is "who ends it with all its processes waits for what it does then" $? 7

# ---- The disk of a run ---------------------------------------------------------------------------

start_run() { # DIRECTORY
	TMPDIR=$1 SCRATCH_DISK='' "$TOP/tests/support/scratch-disk" sh -c '
		findmnt -no SOURCE -T "$TMPDIR" >"$1/device.new"
		losetup -nO BACK-FILE "$(cat "$1/device.new")" >"$1/image"
		mv "$1/device.new" "$1/device"
		exec sleep 1000' - "$SCRATCH" 2>err &
	RUN=$!
	tap_helpers="$tap_helpers $RUN"
	wait_until "$PATIENCE" test -e device || diag "$(cat err)"
}

is_there() {
	losetup -nO BACK-FILE "$(cat device)" 2>/dev/null | grep -qF "$(cut -d ' ' -f 1 <image)"
}

is_gone() {
	! is_there
}

# What this test writes may lie on such a disk already.
under=$(mktemp -d /var/tmp/sandboxfs-runs.XXXXXX)
start_run "$under"
if [ "$(cat device)" = "$(findmnt -no SOURCE -T "$under")" ]; then
	skip "a disk of the run's own" "temporary files need none here"
else
	ok "a run has a disk of its own" is_there
	fails "which is mounted for nobody else" grep -qF "$(cat device) " /proc/self/mounts
	kill -KILL "$RUN"
	ok "it goes with a run that is killed" wait_until "$PATIENCE" is_gone
fi
kill "$RUN" 2>/dev/null
wait "$RUN" 2>/dev/null
rmdir "$under/sandboxfs-disk" "$under" 2>/dev/null
done_testing
