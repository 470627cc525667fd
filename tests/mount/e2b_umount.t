#!/bin/sh
# umount(8)'s helper on a mount of a remote sandbox: it sends what is pending, shows how much is left, and what cannot be
# sent is said and not lost.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs_mount
needs node python3
needs_root
UMOUNT=${SANDBOXFS%/*}/umount.fuse.sandboxfs
TIMEOUT=5

stall() {
	vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/./","times":0},"action":{"type":"stall"}}' >/dev/null
}

mend() {
	vendor_request DELETE "$ADMIN/faults" >/dev/null
}

# leave_pending NAME: four bytes that the sandbox does not get, for it stalls, and for whose writer nobody waits.
leave_pending() {
	"$PYTHON" -c '
import os, signal, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
open("is_open", "w").close()
sys.stdin.read(1)
os.write(file, b"owed")
os.kill(os.getpid(), signal.SIGKILL)' "$MNT/$1" <go &
	writer=$!
	exec 8>go
	wait_until "$PATIENCE" test -e is_open
	sync "$MNT/$1"
	stall
	exec 8>&-
	wait $writer 2>/dev/null
	rm is_open
	wait_until "$PATIENCE" is_pending
}

is_pending() {
	grep -q '"pending_changes": [1-9]' "$MNT/.sandbox/status"
}

daemon_ends() {
	wait_until "$PATIENCE" ended "$DAEMON"
}

PYTHON=$(python3 -c "import sys; print(sys.executable)")
mkfifo go

# ---- What is pending is sent ---------------------------------------------------------------------

mount_sandbox demo
for name in 1 2 3 4 5 6 7 8 9; do
	head -c 300000 /dev/urandom >"$MNT/$name"
done
cat "$MNT"/[1-9] | cksum >written
ok "a mount that was just written to is unmounted" deadline "$PATIENCE" "$UMOUNT" "$MNT"
is "nothing is mounted" "$(tap_is_mounted "$MNT" && echo yes)" ""
ok "the process ends" daemon_ends
is "the sandbox has everything" "$(cat "$STORE"/[1-9] | cksum)" "$(cat written)"

# ---- It cannot be sent ----------------------------------------------------------------------------

mount_sandbox demo timeout=$TIMEOUT
expect_log '.*'
leave_pending owed
ok "sync -f is answered by the kernel, with nothing sent" deadline "$PATIENCE" sync -f "$MNT"
ok "and what is pending stays so" is_pending
cat >terminal.py <<'END'
import os, pty, sys
said = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
def read(fd):
    data = os.read(fd, 1024)
    os.write(said, data.replace(b"\r", b"\n"))
    return data
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[2:], read)))
END
deadline "$PATIENCE" "$PYTHON" terminal.py err "$UMOUNT" "$MNT"
is "with bytes that cannot be sent it is not unmounted" $? 32
ok "a terminal shows how much is left while it waits" grep -qE 'sending \[[ #]+\] +(0 %  0|100 %  4) bytes of 4 bytes' err
ok "a line says why" grep -q "umount.fuse.sandboxfs: $MNT: not unmounted (.*), because not everything could be sent: " err
ok "and the way out" grep -q "\`umount -l\` unmounts all the same" err
ok "it is still mounted" tap_is_mounted "$MNT"
mend
ok "once the sandbox answers it is unmounted" deadline "$PATIENCE" "$UMOUNT" "$MNT"
ok "the process ends" daemon_ends

# ---- Unmounted all the same -----------------------------------------------------------------------

mount_sandbox demo timeout=$TIMEOUT
leave_pending lazily
deadline "$PATIENCE" "$UMOUNT" -l "$MNT" 2>err
is "umount -l unmounts all the same" $? 0
is "nothing is mounted" "$(tap_is_mounted "$MNT" && echo yes)" ""
ok "and says so" grep -q "^umount.fuse.sandboxfs: $MNT: unmounted although not everything could be sent: " err
ok "the process ends" daemon_ends
mend

# ---- Nobody to send ---------------------------------------------------------------------------------

mount_sandbox demo
kill -KILL "$DAEMON"
wait "$DAEMON" 2>/dev/null
ok "a dead mount is unmounted" deadline "$PATIENCE" "$UMOUNT" "$MNT"
is "nothing is mounted" "$(tap_is_mounted "$MNT" && echo yes)" ""

# ---- The connection ends while umount asks ----------------------------------------------------------

# Whoever was asking gets another errno than whoever asks later.
mount_sandbox demo
number=$(awk -v dir="$MNT" '$5 == dir { sub("0:", "", $3); print $3 }' /proc/self/mountinfo)
connection=/sys/fs/fuse/connections/$number
kill -STOP "$DAEMON"
deadline "$PATIENCE" "$UMOUNT" "$MNT" 2>err &
umount=$!
if [ -w "$connection/abort" ] && wait_until "$PATIENCE" sh -c '[ "$(cat "$1/waiting")" != 0 ]' - "$connection"; then
	echo 1 >"$connection/abort"
	wait $umount
	is "it is unmounted all the same" $? 0
	is "nothing is mounted" "$(tap_is_mounted "$MNT" && echo yes)" ""
else
	skip "it is unmounted all the same" "only root ends a connection"
fi
kill -CONT "$DAEMON"
ok "the process ends" daemon_ends
done_testing
