#!/bin/sh
# The Debian package: it is made on a system that has nothing but make. On another clean one it is
# installed, mounts by mount(8) and by a line of fstab, and leaves nothing.
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
needs debootstrap unshare python3
unshare -mpf true 2>/dev/null || skip_all "needs namespaces"

make_root

# ---- Making it -----------------------------------------------------------------------------------

CLEAN=$ROOT
ROOT=$SCRATCH/builder
cp -a "$CLEAN" "$ROOT"
copy_sources() { # DIRECTORY
	mkdir -p "$ROOT$1"
	tar -C "$TOP" -c --exclude=./build --exclude=./.git . | tar -x -C "$ROOT$1" --no-same-owner
}
copy_sources /src
copy_sources /home/somebody/elsewhere
find "$ROOT/home/somebody/elsewhere" -exec touch -d @1 {} +

ok "make is all that is put there" in_root apt-get install -qq -y --no-install-recommends make
is "there is no compiler" "$(in_root sh -c 'command -v cc')" ""
ok "make deb brings what it lacks, and makes the package" in_root make -s -C /src deb
# As another machine would: in another place, at another time, by somebody with another environment.
ok "and once more elsewhere" in_root env CC=clang CFLAGS=-O0 TZ=Asia/Tokyo SOURCE_DATE_EPOCH=1 \
	sh -c 'umask 077 && make -s -C /home/somebody/elsewhere deb'
mv "$ROOT"/src/build/deb/sandboxfs_*.deb .
DEB=$(echo "$SCRATCH"/sandboxfs_*.deb)
ok "which makes the same package" cmp "$DEB" "$ROOT"/home/somebody/elsewhere/build/deb/sandboxfs_*.deb
# The machines of the compressed ELF programs that the installed one carries: 40 is armv7l, 62 x86_64, 183 aarch64, 243 riscv64.
dpkg-deb -x "$DEB" unpacked
is "with the helpers of all processors" "$(python3 -c '
import re, sys, zlib
program, machines = open(sys.argv[1], "rb").read(), set()
for member in re.finditer(b"\x1f\x8b\x08", program):
	try:
		start = zlib.decompressobj(31).decompress(program[member.start():], 20)
	except zlib.error:
		continue
	if start[:4] == b"\x7fELF":
		machines.add(start[18])
print(sorted(machines))' unpacked/usr/bin/sandboxfs)" \
	"[40, 62, 183, 243]"
rm -rf --one-file-system "$ROOT"
ROOT=$CLEAN

# ---- Installing it -------------------------------------------------------------------------------

cp "$DEB" "$ROOT/root/sandboxfs.deb"

# All files but what dpkg and apt note, and what belongs to users.
files() {
	(cd "$ROOT" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log \
		-o -path ./root -o -path ./tmp \) -prune -o -printf '%y %m %p %l\n' | sort)
}

depends=$(dpkg-deb -f "$DEB" Depends Recommends | sed 's/^[A-Za-z]*: //' | paste -sd ,)
ok "what it depends on is to be had" in_root apt-get satisfy -qq -y --no-install-recommends "$depends"
files >before
ok "it is installed" in_root apt-get install -qq -y --no-install-recommends /root/sandboxfs.deb
ok "its programs run" in_root sh -ec 'sandboxfs --version; sandboxctl --version; sandboxctl list local'
is "doctor has nothing to complain of" "$(in_root sandboxctl doctor | grep -E '^(warn|fail) ')" ""
ok "its pages and completions are there" sh -c 'cd "$1/usr/share" &&
	ls man/man1/sandboxfs.1.gz man/man7/sandboxfs.7.gz man/man7/sandboxfs-providers.7.gz man/man8/mount.fuse.sandboxfs.8.gz bash-completion/completions/sandboxctl' - "$ROOT"

mkdir "$ROOT/root/bin"
cp "$TOP/tools/demo.sh" "$ROOT/root"
ok "the demonstration runs" in_root sh -ec '
	ln -s /usr/bin/sandboxfs /usr/sbin/umount.fuse.sandboxfs /root/bin
	sh /root/demo.sh /root/bin'

ok "mount -t fuse.sandboxfs mounts" in_root sh -ec '
	mount -t fuse.sandboxfs local:x /mnt
	echo "echo in the sandbox" >/mnt/script
	echo "sh script" >/mnt/.sandbox/exec
	grep -q "in the sandbox" /mnt/.sandbox/exec
	umount /mnt
	! grep -q " /mnt " /proc/self/mounts'

ok "so does a line of fstab" in_root sh -ec '
	cp -p /etc/fstab /root/fstab
	echo "local:x /mnt fuse.sandboxfs noauto,_netdev 0 0" >>/etc/fstab
	mount /mnt
	[ "$(cat /mnt/script)" = "echo in the sandbox" ]
	umount /mnt
	cp -p /root/fstab /etc/fstab'

ok "it is purged" in_root apt-get purge -qq -y sandboxfs
files >after
is "and has left nothing" "$(diff before after)" ""

done_testing
