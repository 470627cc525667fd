#!/bin/sh
# make install puts everything in its place, and make uninstall takes all of it away again.
# shellcheck source=tests/support/tap.sh disable=SC2016
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_install.sh
. "$TOP/tests/support/tap_install.sh"

needs make
needs_installable

# What is below $ROOT, as "mode path", links as "-> text path"; folders are not told.
installed() {
	(cd "$ROOT" && find . -type l -printf '-> %l %P\n' -o -type f -printf '%m %P\n' | sort -k 2)
}

# A package is built with nothing but these, and what every Debian builds with.
lacking() {
	sed -n "/^BUILD='/,/'\$/{s/BUILD=//;p}" "$TOP/tools/setup.sh" | tr -d "'" | tr -s ' \t' '\n' | while read -r package; do
		case $package in
		gcc | make | '') ;;
		fuse3 | bubblewrap) ;; # to run
		*) sed '/^Standards-Version/,$d' "$TOP/tools/debian/control" | grep -qE "[ ,]$package(,|$)" || echo "$package" ;;
		esac
	done
}
is "the package names all that building needs" "$(lacking)" ""

ROOT="$SCRATCH/the root's folder"
ok "it is installed for a package" make_install DESTDIR="$ROOT" PREFIX=/usr
installed >listed
for program in bin/sandboxfs bin/sandboxctl; do
	ok "usr/$program is there" grep -qxF "755 usr/$program" listed
	ok "and runs" "$ROOT/usr/$program" --version
done
ok "umount's helper is where umount(8) looks" grep -qxF "755 sbin/umount.fuse.sandboxfs" listed
ok "so is mount's" grep -qxF -- "-> /usr/bin/sandboxfs sbin/mount.fuse.sandboxfs" listed
for page in man1/sandboxfs.1 man1/sandboxctl.1 man7/sandboxfs.7 man7/sandboxfs-providers.7 man8/mount.fuse.sandboxfs.8 man8/umount.fuse.sandboxfs.8; do
	ok "$page is there" grep -qxF "644 usr/share/man/$page" listed
done
for file in bash-completion/completions/sandboxctl bash-completion/completions/sandboxfs zsh/site-functions/_sandboxctl \
	fish/vendor_completions.d/sandboxctl.fish; do
	ok "the completion $file is there" grep -qxF "644 usr/share/$file" listed
done
ok "so is the service" grep -qxF "644 usr/lib/systemd/system/sandboxfs@.service" listed
ok "which names the programs" grep -q "^ExecStart=/usr/bin/sandboxfs " "$ROOT/usr/lib/systemd/system/sandboxfs@.service"
ok "it is installed twice" make_install DESTDIR="$ROOT" PREFIX=/usr
is "which changes nothing" "$(installed)" "$(cat listed)"
ok "uninstalling" make_uninstall DESTDIR="$ROOT" PREFIX=/usr
is "leaves nothing" "$(installed)" ""

ROOT=$SCRATCH/mine
set -- PREFIX="$ROOT/p" BINDIR="$ROOT/b" SBINDIR="$ROOT/s" MANDIR="$ROOT/m" BASHDIR="$ROOT/c1" ZSHDIR="$ROOT/c2" \
	FISHDIR="$ROOT/c3" UNITDIR="$ROOT/u"
ok "every place can be another" make_install "$@"
is "which is used" "$(installed | sed 's|.* ||; s|/.*||' | sort -u | tr '\n' ' ')" "b c1 c2 c3 m s u "
ok "and the link leads to the program" "$ROOT/s/mount.fuse.sandboxfs" --version
ok "uninstalling there" make_uninstall "$@"
is "leaves nothing there" "$(installed)" ""

done_testing
