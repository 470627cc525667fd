# tap.sh - what the tests that work on a mount share. POSIX sh, sourced; prints TAP for prove(1).
#
#	. "${0%/*}/../support/tap.sh"
#	mount_sandbox demo                      # local:demo on $MNT; its store is $STORE, its process $DAEMON
#	ok "a file can be written" sh -c 'echo x > "$1/f"' - "$MNT"
#	unmount                                 # one more TAP line: it ended well and its log is clean
#	done_testing
#
# From the environment:
#	SANDBOXFS   the program (build/bin/sandboxfs)
#	TARGET      `plain`: a plain directory instead of a mount, which holds the test itself against a real file system
#	PROVIDER    `local`, or a vendor: a sandbox of its test server (tap_vendor.sh)
#	LAYERS      what a vendor's sandboxes lie on (tests/servers/lib/disk.mjs): `overlay`...; empty: an ordinary directory
#	HELPER      `auto` or `process`: given to the mount as -o helper=
#	MOUNT_OPTS  more options for every mount
#	TEST_UID    the ordinary user that root becomes (65534)
#	PATIENCE    how many seconds a mount, an unmount or a wait may take (180)
#
# However the script ends, it leaves nothing mounted, no process and no file.

set -u
umask 022
unset CDPATH
export LC_ALL=C.UTF-8

TOP=$(cd "${0%/*}/../.." && pwd)
SANDBOXFS=${SANDBOXFS:-$TOP/build/bin/sandboxfs}
TARGET=${TARGET:-mount}
PROVIDER=${PROVIDER:-local}
LAYERS=${LAYERS:-}
HELPER=${HELPER:-auto}
MOUNT_OPTS=${MOUNT_OPTS:-}
TEST_UID=${TEST_UID:-65534}
PATIENCE=${PATIENCE:-180}

tap_count=0
tap_failed=0
tap_prefix=
tap_mounts=
tap_daemons=
tap_helpers= # programs that a test started beside its mounts, and that TERM ends
tap_allowed=
tap_me=$(id -u)
MOUNT_AS=$tap_me

# ---- Results -------------------------------------------------------------------------------------

diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# Why a test failed, where prove(1) shows it.
tap_why() {
	diag "$*" | head -n 40 >&2
}

tap_line() { # STATUS NAME
	tap_count=$((tap_count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_count - $tap_prefix$2"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_count - $tap_prefix$2"
	fi
	return "$1"
}

# ok NAME COMMAND...: the command succeeds. What it printed is shown only if it does not.
ok() {
	tap_name=$1
	shift
	tap_said=$("$@" 2>&1)
	tap_status=$?
	tap_line $tap_status "$tap_name" && return
	tap_why "exit status $tap_status of: $*"
	tap_why "$(printf '%s\n' "$tap_said" | tail -n 30)"
	return 1
}

# fails NAME COMMAND...: the command does not succeed.
fails() {
	tap_name=$1
	shift
	if tap_said=$("$@" 2>&1); then
		tap_line 1 "$tap_name"
		tap_why "succeeded: $*"
		return 1
	fi
	tap_line 0 "$tap_name"
}

# is NAME GOT WANTED
is() {
	if [ "$2" = "$3" ]; then
		tap_line 0 "$1"
	else
		tap_line 1 "$1"
		tap_why "got:    $2"
		tap_why "wanted: $3"
		return 1
	fi
}

# like NAME GOT PATTERN: a line of it matches (grep -E).
like() {
	printf '%s\n' "$2" | grep -Eq -e "$3" && tap_line 0 "$1" && return
	tap_line 1 "$1"
	diag "got:    $2"
	diag "wanted: $3"
}

skip() { # NAME WHY
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $tap_prefix$1 # SKIP $2"
}

# The rest of the script, where some of it has run.
skip_all() { # WHY
	[ $tap_count -eq 0 ] || {
		skip "the rest" "$*"
		done_testing
	}
	echo "1..0 # SKIP $*"
	exit 0
}

needs() { # PROGRAM...
	for tap_program in "$@"; do
		command -v "$tap_program" >/dev/null || skip_all "$tap_program is not installed"
	done
}

done_testing() {
	echo "1..$tap_count"
	[ "$tap_failed" -eq 0 ]
	exit
}

# ---- Waiting -------------------------------------------------------------------------------------

# deadline SECONDS COMMAND...: an external command, ended (124) when it takes longer.
deadline() {
	tap_limit=$1
	shift
	timeout -k 5 "$tap_limit" "$@"
}

# Seconds since the machine began: no process is started for them, and no clock that is set changes them.
tap_clock() {
	read -r tap_now _ </proc/uptime
	tap_now=${tap_now%.*}
}

# wait_until SECONDS COMMAND...: asks until the command succeeds; 1 when time is up. A look takes processes, so it is rarer
# once the first second is over.
wait_until() {
	tap_clock
	tap_end=$((tap_now + $1)) tap_often=$((tap_now + 1))
	shift
	until "$@"; do
		tap_clock
		[ "$tap_now" -lt $tap_end ] || return 1
		if [ "$tap_now" -le $tap_often ]; then sleep 0.05; else sleep 0.2; fi
	done
}

# What was made behind the mount may be seen as late as what is remembered of names lasts.
sees() { # PATH-IN-MOUNT
	wait_until "$PATIENCE" ls -d "$MNT/$1" >/dev/null 2>&1 || tap_line 1 "$1 is seen at last"
}

# A child that has ended but was not waited for counts as ended.
alive() { # PID
	read -r tap_stat 2>/dev/null <"/proc/$1/stat" || return 1
	case ${tap_stat##*) } in
	Z* | X*) return 1 ;;
	esac
}

ended() { # PID
	! alive "$1"
}

# ---- Users ---------------------------------------------------------------------------------------

# The words that make a command run as a user, with no group but its own; none when we are that user.
tap_become() { # UID
	[ "$1" = "$tap_me" ] ||
		echo "setpriv --reuid=$1 --regid=$1 --clear-groups --inh-caps=-all env HOME=${SCRATCH:-}/home"
}

as_uid() { # UID COMMAND...
	tap_words=
	[ "$1" = "$tap_me" ] || tap_words=$(tap_become "$1")
	shift
	$tap_words "$@"
}

as_user() {
	as_uid "$TEST_UID" "$@"
}

# for_each_user FUNCTION: as root (if we are) and as an ordinary user, each with a mount of its own.
# The function mounts; what it starts with `as_owner` runs as the user who mounted.
for_each_user() {
	if [ "$tap_me" -eq 0 ]; then
		tap_prefix="root: "
		MOUNT_AS=0
		"$1"
		tap_prefix="user: "
		MOUNT_AS=$TEST_UID
		"$1"
		tap_prefix=
		MOUNT_AS=0
	else
		"$1"
	fi
}

as_owner() {
	as_uid "$MOUNT_AS" "$@"
}

# Who makes the sandboxes of the others.
case $PROVIDER in
local) ;;
# shellcheck source=tests/support/tap_sshd.sh
ssh) . "$TOP/tests/support/tap_sshd.sh" ;;
docker)
	# shellcheck source=tests/support/tap_docker.sh
	. "$TOP/tests/support/tap_docker.sh"
	# shellcheck source=tests/support/tap_container.sh
	. "$TOP/tests/support/tap_container.sh"
	;;
# shellcheck source=tests/support/tap_kubernetes.sh
kubernetes) . "$TOP/tests/support/tap_kubernetes.sh" ;;
# shellcheck source=tests/support/tap_vendor.sh
*) . "$TOP/tests/support/tap_vendor.sh" ;;
esac

# ---- The mount -----------------------------------------------------------------------------------

needs_mount() {
	[ "$TARGET" = mount ] || skip_all "is about a mount"
}

# For what is about the embedded sandbox itself, or works on its files behind its back.
needs_local() {
	[ "$PROVIDER" = local ] || skip_all "is about local:"
}

needs_vendor() {
	[ "$PROVIDER" != local ] || skip_all "is about a vendor: PROVIDER=VENDOR"
}

needs_root() {
	[ "$tap_me" -eq 0 ] || skip_all "needs root"
}

tap_options() { # MORE
	tap_all=helper=$HELPER
	for tap_option in "$MOUNT_OPTS" "$1"; do
		[ -z "$tap_option" ] || tap_all=$tap_all,$tap_option
	done
	echo "$tap_all"
}

tap_is_mounted() { # DIRECTORY
	grep -qF " $1 fuse" /proc/self/mounts
}

tap_answers() {
	tap_is_mounted "$MNT" && as_owner timeout 60 stat "$MNT/." >/dev/null 2>&1
}

tap_answers_or_ended() {
	tap_answers || ended "$DAEMON"
}

# The sandbox NAME: sets SOURCE, STORE (the shown directory on disk) and STAGING (what was removed while it was open).
# SHOWN, where it is set, is the directory in it that is shown; `/` is all of it, whose STORE is no directory here.
tap_sandbox() { # NAME DATA
	if [ "$PROVIDER" = local ]; then
		SOURCE=local:$1
		STORE=$2/sandboxfs/$1/tree/user
		STAGING=$2/sandboxfs/$1/tree/.staging
	else
		vendor_sandbox "$1"
		SOURCE=$PROVIDER:$SANDBOX${VENDOR_SHOWN:+:$VENDOR_SHOWN}
		STAGING=$STORE/.sandboxfs
	fi
	[ "${SHOWN:-}" != / ] || {
		SOURCE=$(echo "$SOURCE" | cut -d : -f 1-2):/
		return
	}
	[ -z "${SHOWN:-}" ] || {
		case $SOURCE in
		*:/*) SOURCE=$SOURCE/$SHOWN ;;
		*) SOURCE=$SOURCE:$SHOWN ;;
		esac
		STORE=$STORE/$SHOWN
	}
}

# What has ended is forgotten: its number may soon be another's.
tap_keep_daemons() {
	tap_kept=
	for tap_it in $tap_daemons; do
		ended "$tap_it" || tap_kept="$tap_kept $tap_it"
	done
	tap_daemons=$tap_kept
}

# start_mount NAME [OPTIONS]: sets MNT, STORE, STAGING, DAEMON and LOG. Contents are kept below $SCRATCH/cache.UID and
# changes below $SCRATCH/state.UID, one for each user who mounts.
start_mount() {
	MNT=$SCRATCH/mnt.$1
	LOG=$SCRATCH/log.$1
	tap_data=$XDG_DATA_HOME
	[ "$MOUNT_AS" = "$tap_me" ] || tap_data=$SCRATCH/home/data.$MOUNT_AS
	as_owner mkdir -p "$MNT" "$tap_data"
	if [ "$TARGET" = plain ]; then
		STORE=$MNT
		DAEMON=
		return
	fi
	tap_sandbox "$1" "$tap_data"
	$(tap_become "$MOUNT_AS") env XDG_DATA_HOME="$tap_data" XDG_CACHE_HOME="$SCRATCH/cache.$MOUNT_AS" \
		XDG_STATE_HOME="$SCRATCH/state.$MOUNT_AS" "$SANDBOXFS" -f -o "$(tap_options "${2:-}")" "$SOURCE" "$MNT" >>"$LOG" 2>&1 &
	DAEMON=$!
	tap_keep_daemons
	tap_daemons="$tap_daemons $DAEMON"
	tap_mounts="$tap_mounts $MNT"
}

# mount_sandbox NAME [OPTIONS]: the same, and waits for it. Ends the test on failure.
mount_sandbox() {
	start_mount "$@"
	[ "$TARGET" != plain ] || return 0
	wait_until "$PATIENCE" tap_answers_or_ended && tap_answers && return
	tap_line 1 "mount $SOURCE"
	diag "$(tail -n 20 "$LOG")"
	exit 1
}

# expect_log PATTERN: lines of the log that match (grep -E) are no failure, until the end of the script.
expect_log() {
	tap_allowed="$tap_allowed|$1"
}

# That something is well again follows a line of what was wrong, which is judged by itself.
tap_allowed="$tap_allowed|.*: the sandbox (can be reached|tells of its changes) again"
# The root is shown as it was after 3 s, which an answer may take on a busy machine.
tap_allowed="$tap_allowed|.*: cache: warn: /: no progress for 3 s"

tap_bad_lines() { # LOG
	grep -E ': (warn|error): |[A-Za-z]+Sanitizer|runtime error:' "$1" |
		grep -vE "^\$$tap_allowed" | head -n 20
}

tap_umount_once() { # DIRECTORY
	if [ "$MOUNT_AS" -eq 0 ]; then
		deadline "$PATIENCE" umount -i "$1"
	else
		as_owner timeout -k 5 "$PATIENCE" fusermount3 -u "$1"
	fi
}

# A program that looks at the files of all processes, as some tests do, keeps a mount busy for that moment.
tap_umount() { # DIRECTORY
	tap_clock
	tap_busy_end=$((tap_now + PATIENCE))
	until tap_said=$(tap_umount_once "$1" 2>&1); do
		case $tap_said in
		*busy*) tap_clock && [ "$tap_now" -lt $tap_busy_end ] && sleep 0.05 && continue ;;
		esac
		echo "$tap_said" >&2
		return 1
	done
}

# Unmounts what mount_sandbox mounted last; one TAP line: it went, the process ended well, its log is clean.
unmount() {
	[ "$TARGET" = plain ] && return
	tap_why=$(tap_umount "$MNT" 2>&1) || {
		tap_line 1 "unmount: $tap_why"
		return 1
	}
	wait_until "$PATIENCE" ended "$DAEMON" || {
		tap_line 1 "unmount: the process did not end within $PATIENCE s"
		return 1
	}
	wait "$DAEMON"
	tap_status=$?
	tap_why=$(tap_bad_lines "$LOG")
	if [ $tap_status -eq 0 ] && [ -z "$tap_why" ]; then
		tap_line 0 "unmounted, nothing to complain of in the log"
	else
		tap_line 1 "unmounted: exit status $tap_status, and in the log:"
		diag "$tap_why"
		return 1
	fi
}

# ---- What the sandbox has ------------------------------------------------------------------------

# settle: returns when the sandbox has all that was changed through $MNT, and fails when it refused some of it. What the
# mount knows is asked for again afterwards; where that would spoil the test, `sync FILE...` (fsync) settles these alone.
settle() {
	[ "$TARGET" = plain ] || echo | as_owner dd of="$MNT/.sandbox/sync" conv=notrunc status=none
}

# field_of NAME: a value of the JSON object on standard input; without NAME how many an array has (tests/field).
field_of() {
	"${PROGRAMS:-$TOP/build/gcc-plain/tests/bin}/field" "$@"
}

# ---- The beginning and the end -------------------------------------------------------------------

tap_drop_mount() { # DIRECTORY
	tap_is_mounted "$1" || return 0
	fusermount3 -uz "$1" 2>/dev/null || umount -l "$1"
}

tap_drop_daemon() { # PID
	alive "$1" || return 0
	wait_until 5 ended "$1" || kill -KILL "$1"
}

tap_cleanup() {
	cd /
	for tap_it in $tap_mounts; do
		tap_drop_mount "$tap_it"
	done
	[ "$PROVIDER" = local ] || vendor_stop
	for tap_it in $tap_helpers; do
		kill "$tap_it" 2>/dev/null
	done
	for tap_it in $tap_daemons $tap_helpers; do
		tap_drop_daemon "$tap_it"
	done
	if grep -qF " $SCRATCH/" /proc/self/mounts; then
		diag "still mounted below $SCRATCH: left as it is"
	else
		rm -rf --one-file-system "$SCRATCH"
	fi
	tap_close_tree
}

# A test of root's has a mount namespace of its own where it says so (TAP_WANTS_APART=1), and where something is closed to
# ordinary users, which root opens there: /dev/fuse, as in some containers; this tree, below a directory of root's. With
# TAP_APART=self it sees to all that itself. Else TAP_APART is the namespace that was left: what is mounted here is mounted
# nowhere else only where that is another one.
tap_is_apart() {
	case ${TAP_APART:-} in
	mnt:*) [ "$TAP_APART" != "$(readlink /proc/self/ns/mnt)" ] ;;
	*) return 1 ;;
	esac
}

tap_fuse_is_open() {
	case $(stat -c %A /dev/fuse 2>/dev/null) in
	c*rw- | '') ;;
	*) return 1 ;;
	esac
}

tap_tree_is_open() {
	as_user test -r "$TOP/tests/support/tap.sh"
}

tap_wants_apart() {
	[ "$TARGET:$(id -u)" = mount:0 ] || return 1
	[ "${TAP_APART:-}" != self ] || return 1
	! tap_is_apart || return 1
	[ -n "${TAP_WANTS_APART:-}" ] || { [ -n "$LAYERS" ] && [ "$PROVIDER" != local ]; } || ! tap_fuse_is_open || ! tap_tree_is_open
}

if tap_wants_apart && unshare -m true 2>/dev/null; then
	TAP_APART=$(readlink /proc/self/ns/mnt) exec "$TOP/tests/support/apart" sh "$0" "$@"
fi

tap_open_fuse() {
	mknod -m 666 "$SCRATCH/fuse" c 10 229 && mount --bind "$SCRATCH/fuse" /dev/fuse
}

# The tree is mounted where everybody comes to, and everything in it is called by that name from then on. Not below $SCRATCH,
# which is removed with all that is in it.
tap_open_tree() {
	tap_closed=$TOP
	TOP=$(mktemp -d "$SCRATCH.tree.XXXXXX") || return
	chmod 755 "$TOP"
	mount --bind "$tap_closed" "$TOP" || return
	case $SANDBOXFS in "$tap_closed"/*) SANDBOXFS=$TOP${SANDBOXFS#"$tap_closed"} ;; esac
	case ${PROGRAMS:-} in "$tap_closed"/*) PROGRAMS=$TOP${PROGRAMS#"$tap_closed"} ;; esac
}

tap_close_tree() {
	[ -n "${tap_closed:-}" ] || return 0
	umount -l "$TOP"
	rmdir "$TOP"
}

# Not /tmp: where that is a tmpfs, files have other times and limits than on a disk.
SCRATCH=$(mktemp -d "${TMPDIR:-/var/tmp}/sandboxfs.XXXXXX") || exit 1
trap tap_cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
export SCRATCH XDG_DATA_HOME="$SCRATCH/data" XDG_CACHE_HOME="$SCRATCH/cache" XDG_CONFIG_HOME="$SCRATCH/config"
export XDG_STATE_HOME="$SCRATCH/state"
mkdir "$SCRATCH/home" "$XDG_DATA_HOME"
chmod 1777 "$SCRATCH" "$SCRATCH/home" "$XDG_DATA_HOME"
if tap_is_apart; then
	tap_fuse_is_open || tap_open_fuse || exit 1
	tap_tree_is_open || tap_open_tree || exit 1
fi
# A program may lie elsewhere, and be closed to ordinary users as well.
if [ "$(id -u)" -eq 0 ] && ! as_user test -x "$SANDBOXFS"; then
	mkdir "$SCRATCH/bin"
	cp "${SANDBOXFS%/*}/"*sandbox* "$SCRATCH/bin"
	SANDBOXFS=$SCRATCH/bin/sandboxfs
fi
SANDBOXCTL=${SANDBOXFS%/*}/sandboxctl
cd "$SCRATCH" || exit 1
