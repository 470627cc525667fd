# tap_sshd.sh - sandboxes that OpenSSH's own sshd reaches, for tap.sh, which reads this with PROVIDER=ssh.
#
# One server on a port of loopback, with keys of its own. It sees a /etc/passwd of its own, too: each sandbox is a login
# there, whose number is that of the user who mounts and whose home is the sandbox's directory. What tap.sh calls
# "local:demo" is the login demo. SSH_SHELL is the login shell of those that are made from now on (/bin/sh). The client is
# ssh(1) with a configuration of its own: the first ssh in $PATH.

SSHD=
SSH_SHELL=/bin/sh

sshd_config() {
	cat <<-END
		Port $SSHD_PORT
		ListenAddress 127.0.0.1
		HostKey $SSHD_DIR/host_key
		AuthorizedKeysFile $SSHD_DIR/authorized_keys
		PidFile none
		PermitRootLogin yes
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		UsePAM no
		StrictModes no
		MaxStartups 100
		MaxSessions 10
		PermitUserEnvironment no
		Subsystem sftp internal-sftp
	END
}

ssh_config() { # KNOWN-HOSTS
	cat <<-END
		Host *
			IdentityFile $SSHD_DIR/key.%i
			IdentitiesOnly yes
			UserKnownHostsFile $1
			GlobalKnownHostsFile none
	END
}

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

sshd_answers_or_ended() {
	deadline 20 ssh-keyscan -p "$SSHD_PORT" 127.0.0.1 >"$SSHD_DIR/known_hosts" 2>/dev/null && [ -s "$SSHD_DIR/known_hosts" ] ||
		ended "$SSHD"
}

# sshd_run: the server of $SSHD_DIR, on $SSHD_PORT. A mount that is there already is none of its own: it could not end.
sshd_run() {
	# shellcheck disable=SC2016 # of the shell inside
	unshare --mount sh -c '
		mount --bind "$1/passwd" /etc/passwd || exit
		while read -r _ at type _; do
			case $type in fuse*) umount -l "$at" ;; esac
		done </proc/self/mounts
		exec "$2" -D -e -f "$1/config"' - "$SSHD_DIR" "$SSHD_PROGRAM" >>"$SSHD_DIR/log" 2>&1 &
	SSHD=$!
	tap_helpers="$tap_helpers $SSHD"
	wait_until "$PATIENCE" sshd_answers_or_ended
}

# sshd_start: ends the test where none can be.
sshd_start() {
	[ -z "$SSHD" ] || return 0
	needs ssh ssh-keygen ssh-keyscan unshare python3
	needs_root
	unshare -m true 2>/dev/null || skip_all "needs namespaces"
	SSHD_PROGRAM=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) || skip_all "sshd is not installed"
	SSHD_DIR=$SCRATCH/sshd
	mkdir -p "$SSHD_DIR/homes" "$SSHD_DIR/bin" /run/sshd
	ssh-keygen -q -t ed25519 -N '' -f "$SSHD_DIR/host_key"
	# ssh takes no key that others own or read.
	for sshd_uid in 0 "$TEST_UID"; do
		ssh-keygen -q -t ed25519 -N '' -f "$SSHD_DIR/key.$sshd_uid"
		cat "$SSHD_DIR/key.$sshd_uid.pub" >>"$SSHD_DIR/authorized_keys"
		chown "$sshd_uid" "$SSHD_DIR/key.$sshd_uid"
	done
	cp /etc/passwd "$SSHD_DIR/passwd"
	ssh_config "$SSHD_DIR/known_hosts" >"$SSHD_DIR/ssh_config"
	printf '#!/bin/sh\nexec %s -F "%s/ssh_config" "$@"\n' "$(command -v ssh)" "$SSHD_DIR" >"$SSHD_DIR/bin/ssh"
	chmod 755 "$SSHD_DIR/bin/ssh"
	PATH=$SSHD_DIR/bin:$PATH
	for _ in 1 2 3; do
		SSHD_PORT=$(free_port)
		sshd_config >"$SSHD_DIR/config"
		sshd_run
		alive "$SSHD" && return
	done
	skip_all "sshd does not run here: $(tail -n 1 "$SSHD_DIR/log")"
}

# sshd_stop: the server and its sessions, as a host that goes down.
sshd_stop() {
	[ -n "$SSHD" ] || return 0
	# shellcheck disable=SC2046 # several words
	kill "$SSHD" $(sshd_sessions) 2>/dev/null
	wait_until "$PATIENCE" ended "$SSHD"
	SSHD=
}

# The numbers of what serves connections.
sshd_sessions() {
	ps -e -o pid=,ppid= | awk -v top="$SSHD" '
		{ parent[$1] = $2 }
		END { for (p in parent) { q = parent[p]; for (n = 0; n < 3 && q; n++) { if (q == top && is_sshd(p)) print p; q = parent[q] } } }
		function is_sshd(p, line) { getline line <("/proc/" p "/comm"); close("/proc/" p "/comm"); return line ~ /^sshd/ }'
}

# Sets SANDBOX and STORE.
vendor_sandbox() { # NAME
	sshd_start
	sshd_login=$1.$MOUNT_AS
	STORE=$SSHD_DIR/homes/$sshd_login
	SANDBOX=$sshd_login@127.0.0.1:$SSHD_PORT
	[ ! -d "$STORE" ] || return 0
	mkdir "$STORE"
	chown "$MOUNT_AS:$MOUNT_AS" "$STORE"
	echo "$sshd_login:*:$MOUNT_AS:$MOUNT_AS::$STORE:$SSH_SHELL" >>"$SSHD_DIR/passwd"
}

vendor_home() { # DIRECTORY
	echo "$1"
}

vendor_stop() {
	sshd_stop
}
