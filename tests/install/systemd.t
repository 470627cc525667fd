#!/bin/sh
# The service and the lines of fstab under a real systemd, booted in a container.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_install.sh
. "$TOP/tests/support/tap_install.sh"
# shellcheck source=tests/support/tap_root.sh
. "$TOP/tests/support/tap_root.sh"

needs_mount
needs_local
needs_root
needs_installable
needs debootstrap systemd-nspawn unshare
unshare -mpf true 2>/dev/null || skip_all "needs namespaces"
[ -e /dev/autofs ] || skip_all "needs a kernel with autofs"

make_root
ok "systemd and what the programs need are installed" in_root apt-get install -qq -y --no-install-recommends \
	systemd systemd-sysv dbus fuse3 bubblewrap libcurl4 libjson-c5 libprotobuf-c1 libxxhash0 zlib1g
ok "the programs are installed" make_install DESTDIR="$ROOT" PREFIX=/usr SBINDIR=/usr/sbin

echo true >nothing
boot_root nothing >/dev/null || skip_all "systemd does not boot in a container here: $(tail -n 3 boot.log)"

mkdir -p "$ROOT/etc/sandboxfs" "$ROOT/mnt/auto"
printf 'SOURCE=local:served\nDIRECTORY=/mnt/served\n' >"$ROOT/etc/sandboxfs/served.conf"
# Nobody listens there: whoever has a key gets so far.
printf 'SOURCE=e2b:abc\nDIRECTORY=/mnt/keyed\nE2B_API_URL=http://127.0.0.1:9\nOPTIONS=timeout=1\n' >"$ROOT/etc/sandboxfs/keyed.conf"
(umask 077 && echo e2b_0123456789012345678901234567890123456789 >"$ROOT/etc/sandboxfs/e2b.key")
mkdir -p "$ROOT/etc/systemd/system/sandboxfs@keyed.service.d"
printf '[Service]\nRestart=no\nLoadCredential=E2B_API_KEY:/etc/sandboxfs/e2b.key\n' \
	>"$ROOT/etc/systemd/system/sandboxfs@keyed.service.d/key.conf"
echo 'local:auto /mnt/auto fuse.sandboxfs noauto,_netdev,x-systemd.automount,x-systemd.idle-timeout=1h 0 0' >>"$ROOT/etc/fstab"

cat >script <<'END'
say() { # NAME COMMAND...
	name=$1
	shift
	"$@" >/root/one 2>&1 && echo "yes: $name" || { echo "no: $name"; cat /root/one; }
}
say "the unit is well formed" systemd-analyze verify --man=no sandboxfs@served.service
say "its exposure is 6.5 of 10 at most" systemd-analyze security --offline=yes --threshold=65 \
	/usr/lib/systemd/system/sandboxfs@.service
say "the service starts" systemctl start sandboxfs@served
say "and the mount answers at once" sh -c 'echo text >/mnt/served/file && grep -q text /mnt/served/file'
say "a command runs in its sandbox" sh -c 'cd /mnt/served/.sandbox &&
	echo "cat file; chmod 4755 file; stat -c %a file" >exec && cat exec && grep -q "text.n4755" exec'
say "it has no capability that it does not need" sh -c '
	daemon=$(systemctl show -P MainPID sandboxfs@served)
	bounding=0x$(sed -n "s/^CapBnd:\t//p" "/proc/$daemon/status")
	[ $((bounding & (1 << 12 | 1 << 13 | 1 << 16 | 1 << 25))) = 0 ] && # NET_ADMIN, NET_RAW, ...
		[ $((bounding >> 21 & 1)) = 1 ]'
systemctl kill --kill-whom=main --signal=KILL sandboxfs@served
say "killed, it starts again" sh -c 'for i in $(seq 600); do
	grep -qs text /mnt/served/file && exit; sleep 0.1; done; exit 1'
say "the service stops" systemctl stop sandboxfs@served
say "and nothing is mounted" sh -c '! grep -q " /mnt/served " /proc/self/mounts'
say "nor has it failed" sh -c '! systemctl is-failed sandboxfs@served'
systemctl start sandboxfs@keyed
say "a credential is taken for the key" sh -c 'journalctl -u sandboxfs@keyed | grep -q "sandboxfs: .*127.0.0.1"'
say "which is in no message" sh -c '! journalctl | grep -q e2b_0123'
say "a line of fstab is mounted when somebody looks" sh -c 'systemctl is-active mnt-auto.automount &&
	echo text >/mnt/auto/file && grep -q " /mnt/auto fuse.sandboxfs " /proc/self/mounts'
say "and unmounted by systemd" systemctl stop mnt-auto.mount
END
boot_root script >said
is "the script came to its end" $? 0
grep -v '^yes: ' said >complaints
diag "$(cat complaints)"
sed -n 's/^yes: //p; s/^no: //p' said >names
while read -r name; do
	ok "$name" grep -qxF "yes: $name" said
done <names
is "all of it was looked at" "$(wc -l <names)" "$(grep -c '^say "' script)"

done_testing
