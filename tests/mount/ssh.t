#!/bin/sh
# Directories of a host that OpenSSH's sshd serves: every login shell, every wrong way, and connections that die.
# shellcheck disable=SC2016
PROVIDER=ssh
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs_root
needs bash busybox python3 setsid
sshd_start
SANDBOXCTL=$(dirname "$SANDBOXFS")/sandboxctl

run() { # COMMAND
	as_owner timeout "$PATIENCE" python3 -c '
import json, sys
with open(sys.argv[1] + "/.sandbox/exec", "r+", buffering=1) as file:
    file.write(sys.argv[2] + "\n")
    print(json.loads(file.read())["stdout"], end="")' "$MNT" "$1"
}

connections() {
	sshd_sessions | grep -vx "$SSHD"
}

is_unconnected() {
	[ -z "$(connections)" ]
}

no_connection_is_left() {
	ok "no connection is left" wait_until "$PATIENCE" is_unconnected
}

# ---- Login shells ----------------------------------------------------------------------------------

mkdir "$SSHD_DIR/shells"
cp "$(command -v busybox)" "$SSHD_DIR/shells/ash"

is_seen() { # PATH-IN-MOUNT
	as_owner cat "$MNT/$1" >/dev/null 2>&1
}

works() {
	ok "a file is written" as_owner sh -c 'echo text >"$1/file"' - "$MNT"
	settle
	is "and is there" "$(cat "$STORE/file")" text
	as_owner sh -c 'echo other >"$1"' - "$STORE/behind"
	wait_until "$PATIENCE" is_seen behind
	is "what others write is read" "$(as_owner cat "$MNT/behind")" other
	is "a command runs" "$(run 'echo $((6 * 7)); id -u')" "42
$MOUNT_AS"
}

shells() {
	for shell in "$(command -v dash)" "$(command -v bash)" "$SSHD_DIR/shells/ash" "$(command -v fish)"; do
		[ -n "$shell" ] || continue
		tap_user=$tap_prefix
		tap_prefix="$tap_prefix${shell##*/}: "
		SSH_SHELL=$shell
		vendor_sandbox "${shell##*/}$MOUNT_AS"
		# What a start-up file prints.
		echo 'echo "welcome to $PWD"; echo "a warning" >&2; echo session >>~/.sessions' >"$STORE/.bashrc"
		mkdir -p "$STORE/.config/fish"
		cp "$STORE/.bashrc" "$STORE/.config/fish/config.fish"
		chown -R "$MOUNT_AS:$MOUNT_AS" "$STORE"
		mount_sandbox "${shell##*/}$MOUNT_AS" exec_shell=sh
		works
		unmount
		no_connection_is_left
		tap_prefix=$tap_user
	done
	SSH_SHELL=/bin/sh
}
for_each_user shells

# ---- One session -----------------------------------------------------------------------------------

# bash reads ~/.bashrc once for each session.
tap_prefix="sessions: "
SSH_SHELL=$(command -v bash)
vendor_sandbox sessions
SSH_SHELL=/bin/sh
echo 'echo session >>~/.sessions' >"$STORE/.bashrc"
sessions() {
	wc -l <"$STORE/.sessions"
}
mount_sandbox sessions exec_shell=sh
run true
is "the first mount stores the helper" "$(sessions)" 4
unmount
rm "$STORE/.sessions"
mount_sandbox sessions exec_shell=sh
run true
is "the next one looks for it and starts it" "$(sessions)" 2
for i in 1 2 3 4 5 6 7 8; do
	mkdir "$MNT/$i"
	echo "$i" >"$MNT/$i/file"
	run "cat $i/file" >>ran
	rm -r "${MNT:?}/$i"
done
settle
is "commands ran" "$(tr '\n' ' ' <ran)" "1 2 3 4 5 6 7 8 "
is "whatever is done starts no other" "$(sessions)" 2
unmount

# ---- Connections that die --------------------------------------------------------------------------

tap_prefix="cut: "
is_connected() {
	! is_unconnected
}

cut_off() {
	wait_until "$PATIENCE" is_connected
	sshd_killed=$(connections)
	# shellcheck disable=SC2086 # words
	[ -n "$sshd_killed" ] && kill -KILL $sshd_killed
}
mount_sandbox cut
expect_log 'the sandbox (does not tell|tells) of its changes|what is known is shown until|: ssh:cut[.]0@|: the helper(.s answer is cut off| has ended)'
i=0
while [ $i -lt 60 ]; do
	echo "$i" >"$MNT/file.$i" || echo "file.$i" >>failed
	[ $((i % 20)) -ne 10 ] || cut_off || echo "cut $i" >>failed
	i=$((i + 1))
done
settle
is "no file failed" "$(cat failed 2>/dev/null)" ""
is "all are there" "$(cat "$STORE"/file.* | sort -n | tr '\n' ' ')" "$(seq 0 59 | tr '\n' ' ')"
run 'touch begun; for i in 1 2 3 4; do sleep 0.5; echo $i; done; echo once >>count' >ran &
RUNNING=$!
ok "a command runs" wait_until "$PATIENCE" test -e "$STORE/begun"
ok "and its connection is cut" cut_off
wait $RUNNING
is "its output is whole" "$(tr '\n' ' ' <ran)" "1 2 3 4 "
is "and it ran once" "$(cat "$STORE/count")" once

tap_prefix="down: "
sshd_stop
fails "nothing is listed while the host is down" deadline "$PATIENCE" ls "$MNT/new"
sshd_run
ok "the mount works again by itself" wait_until "$PATIENCE" ls "$MNT/file.1"
echo later >"$MNT/later"
settle
is "and what is written is there" "$(cat "$STORE/later")" later
unmount
no_connection_is_left

# ---- A slow uplink -----------------------------------------------------------------------------------

tap_prefix="slow: "
# shellcheck source=tests/support/tap_relay.sh
. "$TOP/tests/support/tap_relay.sh"
start_relay slow "127.0.0.1:$SSHD_PORT"
sed "s/]:$SSHD_PORT /]:$(relay_port slow) /" "$SSHD_DIR/known_hosts" >slow_hosts
cat slow_hosts >>"$SSHD_DIR/known_hosts"
pending_bytes() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["pending_bytes"])' "$MNT/.sandbox/status"
}
direct=$SSHD_PORT
SSHD_PORT=$(relay_port slow)
mount_sandbox slow
SSHD_PORT=$direct
as_owner sh -c 'mkdir "$1/d" && echo here >"$1/d/file"' - "$STORE"
tell_relay slow bandwidth 2
head -c 8000000 /dev/zero >"$MNT/large"
ok "a large file begins to leave" wait_until "$PATIENCE" sh -c '[ -n "$(find "$1" -name "n-*" -size +0)" ]' - "$STORE"
is "meanwhile a small one is read" "$(cat "$MNT/d/file")" here
ok "which does not wait for the large one" [ "$(pending_bytes)" -gt 0 ]
tell_relay slow bandwidth 0
settle
is "that arrives, too" "$(wc -c <"$STORE/large")" 8000000
unmount

# ---- What sshfs users have in fstab ------------------------------------------------------------------

tap_prefix="fstab: "
vendor_sandbox fstab
# Nothing that ssh needs to know stands in its own configuration.
printf 'Host *\n\tIdentitiesOnly yes\n' >"$SSHD_DIR/ssh_config"
MNT=$SCRATCH/mnt.fstab
mkdir "$MNT"
ok "is mounted" "$SANDBOXFS" -o "reconnect,port=$SSHD_PORT,IdentityFile=$SSHD_DIR/key.0,ServerAliveInterval=5,ServerAliveCountMax=2,compression=yes,ssh_option=UserKnownHostsFile=$SSHD_DIR/known_hosts,idmap=user" \
	"ssh:fstab.0@127.0.0.1" "$MNT"
works
ok "and unmounted" tap_umount "$MNT"
for option in follow_symlinks password_stdin ssh_command=x; do
	like "${option%=*} is refused with a sentence" "$("$SANDBOXFS" -f -o "$option" "ssh:$SANDBOX" "$MNT" 2>&1)" \
		"^sandboxfs: option '${option%=*}': .*[a-z]"
done
like "others take none of them" "$("$SANDBOXFS" -f -o IdentityFile=x local:x "$MNT" 2>&1)" \
	"^sandboxfs: local: its sandboxes cannot be given 'IdentityFile'; leave it out"
ssh_config "$SSHD_DIR/known_hosts" >"$SSHD_DIR/ssh_config"

# ---- Another user by sudo ----------------------------------------------------------------------------

tap_prefix="run_as: "
vendor_sandbox run
ROOTS=$SANDBOX
MOUNT_AS=$TEST_UID
vendor_sandbox run
MOUNT_AS=0
MNT=$SCRATCH/mnt.run
mkdir "$MNT"
run_as() { # USER SOURCE
	"$SANDBOXFS" -o "run_as=$1" "ssh:$2" "$MNT" 2>&1
}
if command -v sudo >/dev/null; then
	is "a mount as another user" "$(run_as "run.$TEST_UID" "$ROOTS")" ""
	echo text >"$MNT/file"
	settle
	is "writes as that user, to its home" "$(stat -c %u "$STORE/file") $(cat "$STORE/file")" "$TEST_UID text"
	is "and runs commands so" "$(run 'id -u')" "$TEST_UID"
	like "its journal is its own" "$(sed -n 's/.*"journal": {"dir": "\([^"]*\)".*/\1/p' "$MNT/.sandbox/status")" \
		"@run[.]$TEST_UID\$"
	tap_umount "$MNT"
	like "a password is not asked for" "$(run_as root "$SANDBOX")" \
		"^sandboxfs: ssh:.*sudo: a password is required; run_as= needs a rule with NOPASSWD in the sudoers of that host$"
	like "no such user" "$(run_as nobody-at-all "$ROOTS")" "^sandboxfs: ssh:.*sudo: unknown user:? nobody-at-all"
else
	like "no sudo there" "$(run_as "run.$TEST_UID" "$ROOTS")" "^sandboxfs: ssh:.*sudo: not found; run_as= needs sudo there$"
fi
like "no name of a user" "$(run_as 'a;b' "$ROOTS")" "^sandboxfs: option 'run_as': 'a;b' is no user"

# ---- Wrong ways ------------------------------------------------------------------------------------

tap_prefix="wrong: "
mkdir wrong
# refuses NAME PATTERN [SOURCE]: one line, which matches.
refuses() {
	says_line=$(setsid -w "$SANDBOXFS" -f "${3:-ssh:$SANDBOX}" wrong 2>&1 </dev/null)
	like "$1" "$says_line" "^sandboxfs: $2"
	is "$1: one line" "$(printf '%s\n' "$says_line" | wc -l)" 1
}
vendor_sandbox wrong
HOST="ssh:wrong[.]0@127[.]0[.]0[.]1:$SSHD_PORT"
ssh_config /dev/null >"$SSHD_DIR/ssh_config"
refuses "a host whose key is not known" "$HOST: Host key verification failed; the host's key is not known here: connect once with ssh"
ssh-keygen -q -t ed25519 -N '' -f other
echo "[127.0.0.1]:$SSHD_PORT $(cut -d" " -f1,2 other.pub)" >other_hosts
ssh_config "$PWD/other_hosts" >"$SSHD_DIR/ssh_config"
refuses "one whose key has changed" "$HOST: .*HOST IDENTIFICATION HAS CHANGED.*; known_hosts has another key"
ssh_config "$SSHD_DIR/known_hosts" | sed 's/IdentityFile.*/IdentityFile none/' >"$SSHD_DIR/ssh_config"
refuses "no key" "$HOST: .*Permission denied \(publickey\); try the same with ssh"
ssh_config "$SSHD_DIR/known_hosts" >"$SSHD_DIR/ssh_config"
CLOSED=wrong@127.0.0.1:$(free_port)
refuses "no sshd" "ssh:$CLOSED: .*[Cc]onnection refused; does sshd run there" "ssh:$CLOSED"
refuses "no such directory" "/no/where: no such file or directory" "ssh:$SANDBOX:/no/where"
refuses "no host" "'ssh:-oProxyCommand=x': a source is ssh:\[USER@\]HOST" "ssh:-oProxyCommand=x"
SSH_SHELL=/usr/sbin/nologin
vendor_sandbox nologin
SSH_SHELL=/bin/sh
refuses "no shell" "ssh:nologin.*: This account is currently not available"
mkdir spy
# The words, but for those that end a connection.
printf '#!/bin/sh\n[ "$1" = -Oexit ] || printf "%%s\\0" "$@" >"%s/words"\nexit 255\n' "$PWD" >spy/ssh
chmod 755 spy/ssh
(PATH=$PWD/spy:$PATH && ctl exec ssh:nowhere true >/dev/null 2>&1)
printf '%s yes\n' ForwardAgent ForwardX11 PermitLocalCommand >generous
printf '%s\n' 'LocalCommand true' 'RemoteForward 1 localhost:1' 'RemoteCommand id' >>generous
is "nothing is forwarded and no other command runs, whatever ssh's configuration says" \
	"$(xargs -0 "$(PATH=${PATH#*:} command -v ssh)" -F generous -G <words |
		grep -E '^(forwardagent|forwardx11|permitlocalcommand|clearallforwardings|remoteforward|remotecommand) ' |
		sort | tr '\n' ' ')" "clearallforwardings yes forwardagent no forwardx11 no permitlocalcommand no "
mkdir empty
like "no ssh" "$(PATH=$PWD/empty "$SANDBOXFS" -f "ssh:$SANDBOX" wrong 2>&1)" \
	"^sandboxfs: ssh:nologin.*: there is no program 'ssh' here; install it"
no_connection_is_left
tap_prefix=

# ---- The example -----------------------------------------------------------------------------------

vendor_sandbox example
PATH=${SANDBOXFS%/*}:$PATH deadline "$PATIENCE" "$TOP/tools/examples/ssh.sh" "$SANDBOX" >said 2>&1
is "the example works" "$? $(grep -c '"exit_code": *0' said)" "0 1"
no_connection_is_left

# ---- Any command -----------------------------------------------------------------------------------

tap_prefix="command: "
like "what ssh reaches, a command reaches" "$(ctl exec "command:ssh -p $SSHD_PORT wrong.0@127.0.0.1" 'echo $((6 * 7))')" "^42$"
mkdir there
like "its path is the last" "$(ctl exec "command:env A=b:c:$PWD/there" 'pwd; echo $A')" "^b:c$"
like "one that is not there" "$(ctl exec "command:no-such-program x" true 2>&1)" "no-such-program.*not found"
like "one that ends" "$(ctl exec "command:echo sorry;" true 2>&1)" "command:echo sorry;: sorry"
tap_prefix=

done_testing
