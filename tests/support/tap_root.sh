# tap_root.sh - a Debian of the test's own in a folder, sourced after tap.sh: what is installed there touches nothing here.

# make_root: a minimal system of this machine's release in $ROOT. Ends the test where none can be made.
make_root() {
	ROOT=$SCRATCH/root
	"$TOP/tests/support/make-root" "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" "$ROOT" >make-root.log 2>&1 ||
		skip_all "no clean system can be made: $(tail -n 1 make-root.log)"
}

# in_root COMMAND...: there, with processes, mounts and devices of its own; all of them end with the
# command, which may take two hours: a busy machine builds a package, a slow mirror brings others.
in_root() {
	deadline 7200 "$TOP/tests/support/in-root" "$ROOT" "$@"
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
