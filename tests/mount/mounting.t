#!/bin/sh
# Mounting and unmounting as people do it: in the background, through mount(8) and umount(8), from fstab, as root and as
# an ordinary user.
#
# All of it happens in a mount namespace of the test's own, where the programs stand in /sbin and /dev/fuse is open to
# everyone: nothing is installed and nothing else on the machine sees the mounts.

TAP_WANTS_APART=1
# shellcheck source=tests/support/tap.sh disable=SC2016,SC2317
. "${0%/*}/../support/tap.sh"

needs_mount
needs_local
needs_root
needs mount umount unshare nsenter setpriv
tap_is_apart || skip_all "needs mount namespaces"

UMOUNT=/sbin/umount.fuse.sandboxfs

cover_system() {
	mkdir sbin
	cp "$SANDBOXFS" sbin/mount.fuse.sandboxfs
	cp "${SANDBOXFS%/*}/umount.fuse.sandboxfs" sbin/
	mount -t overlay -o "lowerdir=$SCRATCH/sbin:/sbin/." none "$(readlink -f /sbin)" || return
	echo "# nothing is allowed" >fuse.conf
	mount --bind fuse.conf /etc/fuse.conf
}
cover_system 2>/dev/null || skip_all "needs overlayfs"

# ---- What is asked of a mount --------------------------------------------------------------------

mounted() { # DIRECTORY
	grep -qF " $SCRATCH/$1 fuse.sandboxfs " /proc/self/mounts
}

not_mounted() {
	! mounted "$1"
}

# Of the topmost mount on a directory: its source, or its options.
source_of() {
	findmnt -n -o SOURCE --target "$1" | tail -n 1
}

has_option() { # DIRECTORY OPTION
	findmnt -n -o OPTIONS --target "$1" | tail -n 1 | tr , '\n' | grep -qxF "$2"
}

# A test that runs at the same time may give its directory the same name, in a mount namespace of its own.
is_of_another_test() { # PROCESS
	[ "$(readlink "$1/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]
}

# Started by the daemon, and so of the same program.
is_guard() { # PROCESS
	[ "$(readlink "$1/exe")" = "$(readlink "/proc/$(sed -n 's/^PPid:\t//p' "$1/status")/exe")" ]
}

# The daemon that serves a directory: the one process of ours that was started with its name, beside its guard.
daemon_of() { # DIRECTORY
	find /proc/[0-9]*/exe -maxdepth 0 '(' -lname '*/sandboxfs' -o -lname '*/mount.fuse.sandboxfs' ')' 2>/dev/null |
		while read -r exe; do
			process=${exe%/exe}
			is_of_another_test "$process" && continue
			is_guard "$process" && continue
			tr '\0' '\n' <"$process/cmdline" 2>/dev/null | grep -qx "\($SCRATCH/\)\?$1" && echo "${process#/proc/}"
		done
}

no_daemon() {
	[ -z "$(daemon_of "$1")" ]
}

# is_gone NAME DIRECTORY: nothing is mounted there, and within a while nobody serves it.
is_gone() {
	ok "$1: nothing is mounted" not_mounted "$2"
	ok "$1: the daemon ends" wait_until "$PATIENCE" no_daemon "$2"
}

works() { # NAME DIRECTORY [COMMAND...]: a file can be written and read back, by `user` for instance
	what=$1 where=$2
	shift 2
	ok "$what: a file can be written and read" "$@" sh -c 'echo text >"$1/f" && [ "$(cat "$1/f")" = text ]' - "$where"
}

fs_of() { # PID FD
	readlink "/proc/$1/fd/$2"
}

# ---- In the background ---------------------------------------------------------------------------

mkdir dir
ok "the program returns" deadline "$PATIENCE" "$SANDBOXFS" local:x dir
ok "and what is mounted answers at once" sh -c 'cd dir && ls -a >/dev/null && grep -q x .sandbox/id'
works "in the background" dir
is "the mount table names the source" "$(source_of dir)" local:x
is "and the type" "$(findmnt -n -o FSTYPE --target dir)" fuse.sandboxfs
ok "set-user-id programs have no effect" has_option dir nosuid
ok "nor have devices" has_option dir nodev

daemon=$(daemon_of dir)
is "the daemon keeps no directory busy" "$(readlink "/proc/$daemon/cwd")" /
for fd in 0 1 2; do
	is "its descriptor $fd leads nowhere" "$(fs_of "$daemon" $fd)" /dev/null
done
is "it leads a session of its own" "$(cut -d ' ' -f 6 "/proc/$daemon/stat")" "$daemon"

ok "umount(8) unmounts" deadline "$PATIENCE" umount dir
is_gone "umount(8)" dir
is "what was written is in the sandbox" "$(cat "$XDG_DATA_HOME"/sandboxfs/x/tree/user/f)" text

for signal in TERM INT HUP; do
	deadline "$PATIENCE" "$SANDBOXFS" local:x dir
	kill -$signal "$(daemon_of dir)"
	ok "$signal unmounts" wait_until "$PATIENCE" not_mounted dir
	is_gone "$signal" dir
done

"$SANDBOXFS" -f local:x dir 2>log &
daemon=$!
ok "in the foreground it mounts" wait_until "$PATIENCE" mounted dir
kill -TERM $daemon
wait $daemon
is "and ends with success when told to" $? 0
is "having said nothing" "$(cat log)" ""

# ---- A sandbox of the mount's own ----------------------------------------------------------------

store_of() { # what "made local:ID, ..." says
	echo "$XDG_DATA_HOME/sandboxfs/$(sed 's/.*local:\([^,]*\).*/\1/' "$1")"
}

deadline "$PATIENCE" "$SANDBOXFS" local: dir >said
ok "without an id the sandbox that was made is named" grep -q '^sandboxfs: made local:[^,]*, to be deleted at unmount' said
is "and the mount table names it" "$(source_of dir)" "$(sed 's/.*made \([^,]*\),.*/\1/' said)"
ok "it is there" test -d "$(store_of said)"
umount dir
is_gone "a sandbox of its own" dir
ok "it is deleted after the unmount" test ! -e "$(store_of said)"

deadline "$PATIENCE" "$SANDBOXFS" local: dir -o keep >said
umount dir
is_gone "with keep" dir
ok "with keep it stays" test -d "$(store_of said)"

before=$(ls "$XDG_DATA_HOME/sandboxfs")
ok "a directory that it lacks is made" deadline "$PATIENCE" "$SANDBOXFS" local::/home/user/new/work dir
is "and is where commands run" "$(echo pwd >dir/.sandbox/exec && field_of output <dir/.sandbox/exec)" /home/user/new/work
umount dir
is_gone "a directory that is made" dir
fails "a directory that cannot be made is not shown" "$SANDBOXFS" local::/etc/none dir
is "and no sandbox is left behind" "$(ls "$XDG_DATA_HOME/sandboxfs")" "$before"
ok "nothing is mounted" not_mounted dir

# ---- mount(8), umount(8) and fstab ---------------------------------------------------------------

ok "mount(8) mounts" deadline "$PATIENCE" mount -t fuse.sandboxfs local:x dir -o ro,noexec,noatime,_netdev,x-systemd.automount
for option in ro noexec noatime nosuid nodev; do
	ok "with $option" has_option dir $option
done
ok "umount(8) unmounts it" deadline "$PATIENCE" umount dir
is_gone "mount(8)" dir

# mount(8) takes HOME away.
home=$(getent passwd 0 | cut -d : -f 6)
mkdir root && mount --bind root "$home"
ok "mount(8) mounts what is in the home" deadline "$PATIENCE" env -u XDG_DATA_HOME mount -t fuse.sandboxfs local:homely dir
umount dir
is_gone "what is in the home" dir
ok "which is there" test -d root/.local/share/sandboxfs/homely
umount "$home"

ignored=$("$SANDBOXFS" --help | sed -n '/^Accepted/,/^$/p' | tail -n +2 | tr -s ' \n' ',' | sed 's/comment=/comment=x/; s/^,//; s/,$//')
ok "what --help lists as without effect is accepted by all who read it" deadline "$PATIENCE" "$SANDBOXFS" local:x dir -o "$ignored"
ok "and has none" sh -c '[ "$(findmnt -n -o VFS-OPTIONS --target "$1" | tail -n 1)" = rw,nosuid,nodev,relatime ]' - dir
umount dir
is_gone "with options without effect" dir

ok "mount -f only checks" deadline "$PATIENCE" mount -f -t fuse.sandboxfs local:x dir
ok "and mounts nothing" not_mounted dir
fails "it still finds what is wrong" mount -f -t fuse.sandboxfs nobody:x dir
fails "and what only the sandbox knows" mount -f -t fuse.sandboxfs local:x:/home/user/none dir
fails "and what the provider cannot do" mount -f -t fuse.sandboxfs local:x dir -o lifetime=60
fails "also of a sandbox that would be made" mount -f -t fuse.sandboxfs local: dir -o gpu=H100
sandboxes=$("$SANDBOXCTL" list local | cut -d ' ' -f 1)
ok "a sandbox that would be made can be checked" mount -f -t fuse.sandboxfs local: dir
is "and is not made" "$("$SANDBOXCTL" list local | cut -d ' ' -f 1)" "$sandboxes"
mount -t fuse.sandboxfs local:x dir -o bogus 2>err
is "mount(8) gets the exit status of a wrong call" $? 1
ok "and the line" grep -q "^sandboxfs: unknown option 'bogus'" err
ok "mount -s tolerates options that nobody knows" deadline "$PATIENCE" mount -s -t fuse.sandboxfs local:x dir -o bogus
umount dir
is_gone "mount -s" dir

echo "local:x $SCRATCH/dir fuse.sandboxfs noauto,nofail,_netdev,users,log=info:fs=debug,uid=$TEST_UID,comment=ours 0 0" >fstab
ok "a line of fstab mounts" deadline "$PATIENCE" mount -T fstab dir
is "with its options: whose the files are" "$(stat -c %u dir/f)" "$TEST_UID"
ok "and unmounts" deadline "$PATIENCE" umount -v dir
is_gone "fstab" dir

"$TOP/tests/support/apart" sleep 1000 &
outside=$!
ok "a namespace of its own" wait_until "$PATIENCE" sh -c '[ "$(readlink /proc/$1/ns/mnt)" != "$(readlink /proc/self/ns/mnt)" ]' - $outside
ok "mount -N mounts in another namespace" deadline "$PATIENCE" mount -N $outside -t fuse.sandboxfs local:x "$SCRATCH/dir"
ok "where it is" grep -q "$SCRATCH/dir fuse.sandboxfs" /proc/$outside/mounts
ok "and nowhere else" not_mounted dir
ok "umount -N unmounts there" deadline "$PATIENCE" umount -N $outside "$SCRATCH/dir"
fails "and it is gone" grep -q "$SCRATCH/dir fuse.sandboxfs" /proc/$outside/mounts
kill $outside

# A test that has a namespace of its own keeps no other's mount.
ok "a mount is there" deadline "$PATIENCE" "$SANDBOXFS" local:x dir
SCRATCH=/none "$TOP/tests/support/apart" sleep 1000 &
outside=$!
ok "in another namespace it is not" wait_until "$PATIENCE" sh -c '[ "$(cat "/proc/$1/comm")" = sleep ]' - $outside
fails "in any way" grep -q "$SCRATCH/dir fuse.sandboxfs" /proc/$outside/mounts
ok "it is unmounted" deadline "$PATIENCE" umount dir
is_gone "beside another namespace" dir
kill $outside

# A container that began meanwhile has one.
ok "a mount is there again" deadline "$PATIENCE" "$SANDBOXFS" local:x dir
unshare -m sleep 1000 &
outside=$!
ok "and in another namespace" wait_until "$PATIENCE" grep -q "$SCRATCH/dir fuse.sandboxfs" /proc/$outside/mounts
deadline "$PATIENCE" umount dir 2>err
is "it is unmounted here, and told where it lives on" "$? $(cat err)" "0 umount.fuse.sandboxfs: $SCRATCH/dir: unmounted here; the mount lives on in the mount namespace of process $outside: umount -N $outside $SCRATCH/dir ends it there"
deadline "$PATIENCE" umount -N $outside "$SCRATCH/dir" 2>err
is "as that does" "$? $(cat err)" "0 "
is_gone "unmounted in both" dir
kill $outside

# ---- An ordinary user ----------------------------------------------------------------------------

# With a store of its own: root's is closed to it.
user() {
	as_user env XDG_DATA_HOME="$SCRATCH/home" "$@"
}

mkdir own
chown "$TEST_UID:$TEST_UID" own
chmod 700 own

ok "an ordinary user mounts" user timeout "$PATIENCE" "$SANDBOXFS" local:u own
works "an ordinary user" own user
is "the files are the user's" "$(user stat -c %u:%g own/f)" "$TEST_UID:$TEST_UID"
ok "the mount is the user's" has_option own "user_id=$TEST_UID"
fails "root is kept out" ls own
ok "the user unmounts with fusermount3" user fusermount3 -u own
is_gone "fusermount3" own

user timeout "$PATIENCE" "$SANDBOXFS" local:u own
ok "the user unmounts with umount(8)" user timeout "$PATIENCE" umount "$SCRATCH/own"
is_gone "umount(8) of a user" own

user timeout "$PATIENCE" "$SANDBOXFS" local:u own
ok "root unmounts it, as the user to whom it belongs" deadline "$PATIENCE" umount "$SCRATCH/own"
is_gone "umount(8) of root" own

echo user_allow_other >>fuse.conf
ok "with user_allow_other a user may let others in" user timeout "$PATIENCE" "$SANDBOXFS" local:u own -o allow_other
ok "and they are" ls own
umount own
is_gone "allow_other" own

echo "local:u $SCRATCH/own fuse.sandboxfs user,noauto,sandbox_user=$(id -un "$TEST_UID") 0 0" >fstab
mount --bind fstab /etc/fstab
ok "a user mounts a line of fstab that says so" user timeout "$PATIENCE" mount "$SCRATCH/own"
works "a line of fstab" own user
ok "it is the user's mount" has_option own "user_id=$TEST_UID"
ok "and the user unmounts it" user timeout "$PATIENCE" umount "$SCRATCH/own"
is_gone "a user's line of fstab" own

# ---- When unmounting is not that simple ----------------------------------------------------------

deadline "$PATIENCE" "$SANDBOXFS" local:x dir
tail -f dir/f >/dev/null &
reader=$!
ok "somebody reads a file" wait_until "$PATIENCE" sh -c 'ls -l /proc/$1/fd | grep -q dir/f' - $reader
umount dir 2>err
is "a mount in use is not unmounted" $? 32
is "and the line says what to do" "$(cat err)" \
	"umount.fuse.sandboxfs: $SCRATCH/dir: in use; \`fuser -vm $SCRATCH/dir\` names by whom, \`umount -l $SCRATCH/dir\` does not wait for them"
ok "umount -l unmounts it" deadline "$PATIENCE" umount -l dir
ok "at once from the tree" not_mounted dir
kill $reader
is_gone "umount -l" dir

"$SANDBOXFS" -f local:x dir 2>/dev/null &
daemon=$!
wait_until "$PATIENCE" mounted dir
kill -KILL $daemon
wait $daemon 2>/dev/null
ok "a dead mount is unmounted" deadline "$PATIENCE" $UMOUNT "$SCRATCH/dir"
is_gone "a dead mount" dir

# One that was killed before it had answered the kernel's first request, while a child of it still has its device.
python3 - "$SCRATCH/dir" <<'END' &
import ctypes, os, signal, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
device = os.open("/dev/fuse", os.O_RDWR)
options = "fd=%d,rootmode=40000,user_id=0,group_id=0" % device
if libc.mount(b"local:x", sys.argv[1].encode(), b"fuse.sandboxfs", 0, options.encode()):
    sys.exit(os.strerror(ctypes.get_errno()))
request, = struct.unpack_from("Q", os.read(device, 1 << 16), 8)
os.write(device, struct.pack("IiQ", 16, -5, request))
signal.pause()
END
child=$!
ok "a mount is there" wait_until "$PATIENCE" mounted dir
ok "it refuses whatever it is asked" wait_until "$PATIENCE" sh -c 'LC_ALL=C ls "$1" 2>&1 | grep -q refused' - dir
ok "it is unmounted" deadline "$PATIENCE" $UMOUNT "$SCRATCH/dir"
is_gone "a mount that refuses" dir
kill $child

deadline "$PATIENCE" "$SANDBOXFS" local:x dir
daemon=$(daemon_of dir)
kill -STOP "$daemon"
ok "umount -f takes away what does not answer" deadline "$PATIENCE" $UMOUNT -f "$SCRATCH/dir" 2>err
ok "from the tree" not_mounted dir
kill -CONT "$daemon"
is_gone "umount -f" dir

$UMOUNT dir 2>err
is "a directory that is no mount: exit status" $? 32
is "and line" "$(cat err)" "umount.fuse.sandboxfs: $SCRATCH/dir: not mounted"
$UMOUNT /proc 2>err
is "another file system: exit status" $? 1
is "and line" "$(cat err)" "umount.fuse.sandboxfs: /proc: not a mount of sandboxfs; use umount, without -t"
$UMOUNT 2>err
is "no directory: exit status" $? 1
is "and line" "$(cat err)" "umount.fuse.sandboxfs: the directory is missing; see --help"
$UMOUNT dir -o timeout=soon 2>err
is "a limit that is none: exit status" $? 1
is "and line" "$(cat err)" "umount.fuse.sandboxfs: option 'timeout=soon': a number of seconds, as in timeout=60"
deadline "$PATIENCE" "$SANDBOXFS" local:x dir
ok "the options of fstab's line are accepted" deadline "$PATIENCE" $UMOUNT dir -o rw,_netdev,timeout=60,x-systemd.automount
is_gone "with options" dir
$UMOUNT -q dir 2>err
is "an unknown option: exit status" $? 1
is "and line" "$(cat err)" "umount.fuse.sandboxfs: '-q': unknown, or its value is missing; see --help"

for program in "$SANDBOXFS" $UMOUNT; do
	for option in --help --version; do
		ok "${program##*/} $option" "$program" $option
		is "${program##*/} $option: on stdout alone" "$("$program" $option 2>&1 >/dev/null)" ""
	done
done

done_testing
