#!/bin/sh
# setup.sh [build] [tests] [checks] [bench] [package] [roots] [containers] - installs through apt what
# is missing to build sandboxfs, to run its tests, to check it with other compilers and programs, to
# set it beside other remote file systems, to make a package of it, and to make the systems in folders
# and the containers that some tests work in.
#
# Does nothing, and needs no root, when all is there. Where there is no apt it names the packages and fails.
# shellcheck disable=SC2086 # lists of words are split where they are used
set -eu

BUILD='gcc make pkg-config libfuse3-dev fuse3 libcurl4-openssl-dev libjson-c-dev libxxhash-dev libarchive-dev
	libprotobuf-c-dev protobuf-c-compiler zlib1g-dev musl-tools bubblewrap'
TESTS='libcriterion-dev busybox-static git vim rsync sqlite3 python3 python3-venv nodejs node-typescript curl openssl zsh fish attr perl
	man-db mandoc bsdextrautils procps haproxy nginx tinyproxy git-annex slirp4netns'
CHECKS='clang clang-format libclang-rt-dev cppcheck qemu-user valgrind npm openssh-server openssh-client sudo'
BENCH='openssh-server openssh-client sshfs rclone bindfs nodejs git python3'
PACKAGE='build-essential debhelper'
ROOTS='debootstrap systemd-container'
CONTAINERS='docker.io fuse-overlayfs podman'

say() {
	echo "setup: $*"
}

# The compilers of other processors' helpers: a build goes without those that cannot be installed.
cross() {
	[ "$(uname -m)" = aarch64 ] || echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross
	[ "$(uname -m)" = x86_64 ] || echo gcc-x86-64-linux-gnu libc6-dev-amd64-cross
	[ "$(uname -m)" = armv7l ] || echo gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
	[ "$(uname -m)" = riscv64 ] || echo gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
}

wanted() {
	for group in "$@"; do
		case $group in
		build) echo $BUILD ;;
		tests) echo $TESTS ;;
		checks) echo $CHECKS ;;
		bench) echo $BENCH ;;
		package) echo $PACKAGE ;;
		roots) echo $ROOTS ;;
		containers) echo $CONTAINERS ;;
		*)
			say "'$group': use build, tests, checks, bench, package, roots, containers or several of them" >&2
			exit 1
			;;
		esac
	done
}

# A program that somebody put there without apt counts too, as does another's Docker, which Debian's would replace.
is_installed() {
	[ "$1" != docker.io ] || ! command -v dockerd >/dev/null || return 0
	[ "$1" != kubernetes-client ] || ! command -v kubectl >/dev/null || return 0
	command -v "$1" >/dev/null ||
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing() {
	for package in "$@"; do
		is_installed "$package" || printf '%s ' "$package"
	done
}

may_be_root() {
	[ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

# The servers among them are for tests, which start them: a policy of Debian's has none begin now.
POLICY=/usr/sbin/policy-rc.d

install() {
	[ $# -gt 0 ] || return 0
	if [ ! -e $POLICY ]; then
		printf '#!/bin/sh\nexit 101\n' | as_root tee $POLICY >/dev/null
		as_root chmod 755 $POLICY
		trap 'as_root rm -f $POLICY' EXIT
	fi
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

set -- "${@:-build}"
packages=$(wanted "$@") others=
case " $* " in *' build '*) others=$(cross) ;; esac
case " $* " in *' checks '*) kubectl=kubernetes-client ;; *) kubectl= ;; esac
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
	say "no apt here; install by hand what Debian calls: $packages" >&2
	exit 1
fi
packages=$(missing $packages) others=$(missing $others) kubectl=$(missing $kubectl)
[ -n "$packages$others$kubectl" ] || exit 0
if ! may_be_root; then
	say "neither root nor sudo; as root: apt-get install $packages$others" >&2
	[ -z "$packages" ] && exit 0
	exit 1
fi

say "installing $packages$others${kubectl% }"
# The lists of a fresh machine are empty or old.
as_root apt-get update -qq
install $packages
# Debian's gcc-multilib, for one, is in their way.
install $others || say "without ${others% }: sandboxes of these processors cannot be mounted by this build" >&2
# Not every system has it.
install $kubectl || say "without kubectl: tests/mount/kubernetes.t is left out" >&2
