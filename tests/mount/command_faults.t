#!/bin/sh
# Every call, and git, tar and SQLite at work, while the connection to a host (`ssh:`) or the container itself (`docker:`) is in
# trouble: each goes on or ends in time, nothing that was acknowledged is lost, and the mount works again by itself.
#
#	TROUBLES   which of the tables below (all)
# shellcheck disable=SC2016,SC2034,SC2317
[ "${PROVIDER:-}" = docker ] || PROVIDER=ssh
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_faults.sh
. "$TOP/tests/support/tap_faults.sh"
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"
# shellcheck source=tests/support/tap_works.sh
. "$TOP/tests/support/tap_works.sh"
needs_root
mend_nothing() { :; }

# The clients that the mount started: ssh, docker.
clients() {
	ps -e -o pid=,ppid= | awk -v mount="$DAEMON" '$2 == mount { print $1 }'
}

# signal NAME NUMBER...: some of them may have ended meanwhile.
signal() {
	signal_name=$1
	shift
	[ $# -eq 0 ] || kill "-$signal_name" "$@" 2>/dev/null || true
}

# shellcheck disable=SC2046 # numbers
clients_killed() { signal KILL $(clients); }

clients_stall() {
	STALLED=$(clients)
	# shellcheck disable=SC2086 # numbers
	signal STOP $STALLED
}
# shellcheck disable=SC2086 # numbers
clients_go_on() { signal CONT $STALLED; }

# ---- A host ----------------------------------------------------------------------------------------

# The connection that all clients share is a process in the background, which knows its socket's name.
# shellcheck disable=SC2046 # numbers
connection_killed() {
	signal KILL $(ps -e -o pid=,args= | awk -v socket="$(ssh_socket)" 'index($0, "ssh: " socket) { print $1 }')
}

ssh_socket() {
	for client in $(clients); do
		tr '\0' '\n' <"/proc/$client/cmdline" | sed -n 's/^-oControlPath=//p'
	done | head -n 1
}

sessions() { sshd_sessions | grep -vx "$SSHD"; }
# shellcheck disable=SC2046 # numbers
sessions_killed() { signal KILL $(sessions); }
sessions_stall() {
	STALLED=$(sessions)
	# shellcheck disable=SC2086 # numbers
	signal STOP $STALLED
}

# All of a host goes through a link.
tell() { tell_relay link "$@"; }
sshd_ready() {
	sshd_start
	start_relay link ":$SSHD_PORT"
	SSHD_PORT=$(relay_port link)
	wait_until "$PATIENCE" sshd_answers_or_ended
}

# ---- A container -----------------------------------------------------------------------------------

container() { deadline "$PATIENCE" docker "$1" "$SANDBOX" >/dev/null; }
container_restarted() { container restart; }
container_stopped() { container stop; }
# Another mount has the device number of its layers by then.
container_started() {
	mkdir -p "$SCRATCH/between"
	mount -t tmpfs none "$SCRATCH/between"
	container start
	umount "$SCRATCH/between"
}
container_paused() { container pause; }
container_unpaused() { container unpause; }
# All that was started in it beside its first process.
# shellcheck disable=SC2046 # numbers
programs_killed() {
	first=$(docker inspect -f '{{.State.Pid}}' "$SANDBOX")
	signal KILL $(docker top "$SANDBOX" -eo pid,ppid | awk -v first="$first" 'NR > 1 && $1 != first && $2 != first { print $1 }')
}

TABLE='
clients_killed       mend_nothing
clients_stall        clients_go_on
'
if [ "$PROVIDER" = ssh ]; then
	sshd_ready
	TABLE="$TABLE
connection_killed    mend_nothing
sessions_killed      mend_nothing
sessions_stall       clients_go_on
link_stall           mend_link
link_refuse          mend_link
link_reset           mend_reset
link_ghost           mend_link
sshd_stop            sshd_run
"
else
	TABLE="$TABLE
programs_killed      mend_nothing
container_restarted  mend_nothing
container_stopped    container_started
container_paused     container_unpaused
"
fi

chosen() { # NAME
	case " ${TROUBLES:-$1} " in *" $1 "*) ;; *) return 1 ;; esac
}

# What breaks needs what is there by then; the end of the mount is not in the table.
vendor_sandbox demo
while read -r fault _; do
	[ -z "$fault" ] || "$PYTHON" "$VERBS" prepare "$STORE/calls_$fault" "$STORE/calls_$fault.after"
done <<END
$TABLE
END
touch "$STORE/log"
mkfifo go
ok "an archive of 60 files" make_archive
mount_sandbox demo timeout=$TIMEOUT,exec_shell=sh
expect_log '.*'
while read -r fault mend <&4; do
	{ [ -n "$fault" ] && chosen "$fault"; } || continue
	eval "calls_$fault() { $fault; }"
	trouble "calls_$fault" "$mend"
	works_in_trouble "$fault" "$mend" all
done 4<<END
$TABLE
END
tap_umount "$MNT"
ok "the process ends" wait_until "$PATIENCE" ended "$DAEMON"

# ---- A sandbox that goes for good ------------------------------------------------------------------

gone() {
	if [ "$PROVIDER" = ssh ]; then sshd_stop; else docker rm -f "$SANDBOX" >/dev/null; fi
}

round=gone
mount_sandbox demo timeout=$TIMEOUT
"$PYTHON" "$WORKS" run "$MNT/gone" archive.tar >gone.report &
worker=$!
wait_until "$PATIENCE" has_begun
gone
ok "gone: they come to an end" wait_until "$PATIENCE" ended "$worker"
fails "gone: nothing new is listed" deadline "$PATIENCE" ls "$MNT/another"
ok "gone: it is unmounted" tap_umount "$MNT"
ok "gone: the process ends" wait_until "$PATIENCE" ended "$DAEMON"
done_testing
