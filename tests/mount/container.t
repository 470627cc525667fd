#!/bin/sh
# A sandbox that is a Docker container, as those who harden one start it: --read-only --tmpfs /tmp, where no file may be
# executed. The helper runs from memory there, or one sentence says why nothing is mounted.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
# shellcheck source=tests/support/tap_root.sh
. "$TOP/tests/support/tap_root.sh"
# shellcheck source=tests/support/tap_docker.sh
. "$TOP/tests/support/tap_docker.sh"

needs_mount
needs_vendor
needs_root
needs debootstrap unshare busybox node python3
unshare -mpf true 2>/dev/null || skip_all "needs namespaces"
exec </dev/null

# ---- Images ----------------------------------------------------------------------------------------

docker_start
make_root
ok "python3 is installed" in_root apt-get install -qq -y --no-install-recommends python3-minimal
ok "an image with python3" docker_image python "$ROOT" --exclude='./usr/bin/perl*'
ok "with perl" docker_image perl "$ROOT" --exclude='./usr/bin/python3*'
ok "with neither" docker_image neither "$ROOT" --exclude='./usr/bin/perl*' --exclude='./usr/bin/python3*'
mkdir -p busybox/bin busybox/etc busybox/root busybox/tmp
cp "$(command -v busybox)" busybox/bin/busybox
for applet in $(busybox --list); do
	[ "$applet" = busybox ] || ln -s busybox "busybox/bin/$applet"
done
ok "with BusyBox alone" docker_image busybox busybox

# ---- Sandboxes of them -----------------------------------------------------------------------------

# The daemon's node finds its libraries beside it: an image need not have them.
mkdir libraries
ldd "$(command -v node)" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\).*/\1/p' >listed
xargs -I{} cp -L {} libraries <listed
LOADER=$(basename "$(grep -m 1 -F /ld- listed)")

# What the test server runs (SANDBOX_JAIL in tests/servers/lib/jail.mjs): a container named as the sandbox, of the image that
# the file `image` names, with the options in the file `options`.
cat >jail <<END
#!/bin/sh
export DOCKER_HOST='$DOCKER_HOST' HOME='$SCRATCH'
io=\$1 hostname=\$2 node=\$3 source=\$4 programs=\$5 main=\$6
name=\$(basename "\$io")
{
	end=\$((\$(date +%s) + $PATIENCE))
	until pid=\$(docker inspect -f '{{.State.Pid}}' "\$name" 2>/dev/null) && [ "\$pid" -gt 0 ]; do
		[ "\$(date +%s)" -lt "\$end" ] || exit 1
		sleep 0.05
	done
	echo "{\"child-pid\": \$pid}" >&3
} &
# shellcheck disable=SC2046
exec docker run --rm -i --init --name "\$name" --hostname "\$hostname" --network none \$(cat '$SCRATCH/options') \\
	--tmpfs /run/daemon -v "\$io:/run/daemon/io" -v "\$io/passwd:/etc/passwd:ro" -v "\$io/group:/etc/group:ro" \\
	-v "\$node:/run/daemon/node:ro" -v "\$source:/run/daemon/source:ro" -v "\$programs:/run/daemon/programs:ro" \\
	-v '$SCRATCH/libraries:/run/daemon/libraries:ro' "\$(cat '$SCRATCH/image')" '/run/daemon/libraries/$LOADER' \\
	--library-path /run/daemon/libraries /run/daemon/node "/run/daemon/source/\$main" 3>&-
END
chmod 755 jail
export SANDBOX_JAIL="$SCRATCH/jail"

# a_container IMAGE OPTION...: sets SANDBOX, and INSIDE, its root as seen from here.
a_container() {
	echo "$1" >image
	shift
	echo "$*" >options
	vendor_stop
	VENDOR_USER=
	vendor_sandbox container
	INSIDE=/proc/$(docker inspect -f '{{.State.Pid}}' "$SANDBOX")/root
	mkdir "$INSIDE/tmp/work"
}

# What a mount shows: the directory is in the one place where something can be written.
SHOWN=/tmp/work
tap_sandbox() {
	SOURCE=$PROVIDER:$SANDBOX:$SHOWN
	STORE=$INSIDE$SHOWN
}

run() { # COMMAND
	deadline "$PATIENCE" python3 -c '
import json, sys
with open(sys.argv[1] + "/.sandbox/exec", "r+", buffering=1) as file:
    file.write(sys.argv[2] + "\n")
    print(json.loads(file.read())["stdout"], end="")' "$MNT" "$1"
}

works() {
	ok "a file can be written" sh -c 'echo text >"$1/file"' - "$MNT"
	settle
	is "and is there" "$(cat "$STORE/file")" text
	echo more >>"$STORE/file"
	settle
	is "what others write is seen" "$(cat "$MNT/file")" "text
more"
}

for tool in python perl; do
	tap_prefix="read-only, $tool: "
	a_container "$tool" --read-only --tmpfs /tmp
	mount_sandbox "$tool"
	is "nothing can be written but in /tmp" "$(run 'for d in / ~ /var/tmp; do touch "$d/x" || echo "$d"; done')" "/
/root
/var/tmp"
	is "where no file may be executed" "$(run "cp /bin/true /tmp/program && /tmp/program || echo forbidden")" forbidden
	is "nor in /dev/shm" "$(run "cp /bin/true /dev/shm/program && /dev/shm/program || echo forbidden")" forbidden
	works
	like "the helper runs from memory" "$(run 'ls -l /proc/[0-9]*/exe 2>/dev/null')" "memfd:sandboxfs-helper|memfd: *sandboxfs-helper"
	unmount

	# Where nothing can be written.
	SHOWN=/etc
	mount_sandbox "$tool.etc"
	is "what cannot be written is shown" "$(ls -A "$MNT")" "$(ls -A "$STORE")"
	is "and read" "$(cat "$MNT/debian_version")" "$(cat "$STORE/debian_version")"
	fails "a change is refused" sh -c 'touch "$1/new" && echo | dd of="$1/.sandbox/sync" conv=notrunc status=none' - "$MNT"
	expect_log "[Rr]ead-only file system"
	tap_umount "$MNT"
	SHOWN=/tmp/work
done

WHY="^sandboxfs: the sandbox cannot be mounted, only sandboxctl exec, push and pull work: the helper program \($(uname -m)\) may not be"
# The commands of an Agent Infra Sandbox are bash's, which BusyBox has not.
[ "$PROVIDER" = aio ] && bare= || bare=busybox
for image in neither $bare; do
	tap_prefix="read-only, $image: "
	a_container "$image" --read-only --tmpfs /tmp
	tap_sandbox
	MNT=$SCRATCH/mnt.$image
	mkdir "$MNT"
	like "one sentence says why nothing is mounted" "$("$SANDBOXFS" "$SOURCE" "$MNT" 2>&1; echo "exit status $?")" \
		"$WHY executed in any of .*, and there is neither python3 nor perl to run it from memory"
	is "a command runs" "$(ctl exec "$SOURCE" 'echo $((6 * 7)); exit 7'; echo $?)" "42
7"
	echo text >file
	says "a file goes there" 0 "" ctl push file "$SOURCE/"
	is "and is there" "$(cat "$STORE/file")" text
	says "and back" 0 "" ctl pull "$SOURCE/file" back
	is "as it was" "$(cat back)" text
	rm back
done

# Nothing but BusyBox, and somewhere to execute a file.
if [ -n "$bare" ]; then
	tap_prefix="busybox: "
	a_container busybox
	mount_sandbox busybox
	works
	like "the helper is a file" "$(run 'ls -l /proc/[0-9]*/exe 2>/dev/null')" "/sandboxfs-helper-"
	unmount
fi
tap_prefix=

vendor_stop
docker_stop
done_testing
