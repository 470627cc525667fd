# tap_root.sh - a Debian of the test's own in a folder, sourced after tap.sh: what is installed there touches nothing here.

# From where this machine has its packages, as apt is set up.
root_mirror() {
	apt-get indextargets --format '$(REPO_URI)' "Codename: $ROOT_SUITE" 'Identifier: Packages' | head -n 1
}

# make_root: a minimal system of this machine's release in $ROOT. Ends the test where none can be made.
make_root() {
	ROOT=$SCRATCH/root
	ROOT_SUITE=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	root_from=$(root_mirror)
	[ -n "$root_from" ] || skip_all "apt knows no mirror of '$ROOT_SUITE' to make a clean system from"
	debootstrap --variant=minbase "$ROOT_SUITE" "$ROOT" "$root_from" >debootstrap.log 2>&1 ||
		skip_all "debootstrap cannot make a clean system: $(tail -n 1 debootstrap.log)"
	for file in /etc/resolv.conf /etc/hosts; do
		cat $file >"$ROOT$file"
	done
	in_root apt-get update >apt.log 2>&1
}

# in_root COMMAND...: there, with processes, mounts and devices of its own; all of them end with the command.
in_root() {
	unshare -mpf --kill-child sh -c '
		root=$1
		shift
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount -t tmpfs -o mode=755 none "$root/run"
		mount -t tmpfs -o mode=755 none "$root/dev"
		for device in null zero full random urandom tty; do
			touch "$root/dev/$device"
			mount --bind "/dev/$device" "$root/dev/$device"
		done
		ln -s /proc/self/fd "$root/dev/fd"
		mkdir "$root/dev/shm"
		mknod -m 666 "$root/dev/fuse" c 10 229
		exec chroot "$root" env -i HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' - "$ROOT" "$@"
}

# boot_root SCRIPT: boots it with systemd, in which a service runs the script, /root/script there, and then switches it off.
# Its exit status is the script's, and it prints what that printed.
boot_root() {
	cat "$1" >"$ROOT/root/script"
	cat >"$ROOT/etc/systemd/system/script.service" <<-'END'
		[Unit]
		After=multi-user.target
		[Service]
		ExecStart=sh -c 'sh /root/script >/root/said 2>&1; echo $? >/root/status; systemctl poweroff'
		[Install]
		WantedBy=multi-user.target
	END
	mkdir -p "$ROOT/etc/systemd/system/multi-user.target.wants"
	ln -sf ../script.service "$ROOT/etc/systemd/system/multi-user.target.wants/script.service"
	echo 255 >"$ROOT/root/status"
	: >"$ROOT/root/said"
	deadline 300 systemd-nspawn -q -b -D "$ROOT" --register=no --keep-unit --private-users=no \
		--bind=/dev/fuse --bind=/dev/autofs </dev/null >boot.log 2>&1
	cat "$ROOT/root/said"
	return "$(cat "$ROOT/root/status")"
}
