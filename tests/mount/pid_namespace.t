#!/bin/sh
# .sandbox/exec of a mount in another PID namespace, which does not see the processes that use it.
# shellcheck disable=SC2016
export TAP_APART=self
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
needs_mount
needs_root
needs python3 bash dash
if [ -z "${NAMESPACE_APART:-}" ]; then
	unshare -mpf --mount-proc true 2>/dev/null || skip_all "no PID namespaces here"
	cd / && rm -rf "$SCRATCH"
	NAMESPACE_APART=1 exec "$TOP/tests/support/apart" sh "$TOP/tests/mount/${0##*/}"
fi

HERE=$TOP/tests/mount
MNT=$SCRATCH/shared/mnt
EXEC=$MNT/.sandbox/exec
mkdir shared
# Where it is shared a mount that is made in the other namespace is seen here, too.
mount --bind shared shared && mount --make-shared shared
mkdir "$MNT"
tap_sandbox apart "$XDG_DATA_HOME"
unshare -mpf --propagation unchanged --mount-proc "$SANDBOXFS" -f "$SOURCE" "$MNT" 2>log &
tap_daemons=$!
tap_mounts=$MNT
wait_until "$PATIENCE" tap_is_mounted "$MNT"
export EXEC STORE

output_of() { # SHELL SCRIPT
	"$1" -c "$2" && field_of output <"$EXEC"
}

for shell in bash dash; do
	tap_prefix="$shell: "
	is "a command runs when it is written and closed" "$(output_of $shell 'echo "echo one" >"$EXEC"')" one
	is "as does one whose writer exits" "$(output_of $shell 'exec >"$EXEC"; echo "echo two"')" two
	is "one that a child writes" "$(output_of $shell 'exec 3>"$EXEC"; (echo "echo three" >&3); exec 3>&-')" three
	is "a child that only inherits the file runs nothing" \
		"$(output_of $shell '{ echo "echo a"; /bin/true; echo "echo b"; } >"$EXEC"')" "a
b"
done
tap_prefix=
SHORT='touch started; sleep 1; echo done'
for setup in pass 'os.close = lambda fd: os._exit(0)'; do
	ok "no signal is seen, so none cancels" python3 "$HERE/exec-signal.py" 'stdout == "done\n" and not error' \
		"signal.signal(signal.SIGINT, lambda *a: None); $setup" INT "$SHORT"
done
umount -i "$MNT"
wait_until "$PATIENCE" ended "$tap_daemons"
wait "$tap_daemons"
is "it ends well" "$? $(grep -c -e warn: -e error: log)" "0 0"
umount "$SCRATCH/shared"
done_testing
