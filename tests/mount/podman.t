#!/bin/sh
# Containers of Podman, which has no daemon: one of BusyBox alone that is paused, stopped, started again and removed, and one
# that sandboxfs makes.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs_local
needs_root
needs podman busybox python3
SANDBOXCTL=$(dirname "$SANDBOXFS")/sandboxctl

# Images and containers of the test's own, by the runtime that also works where cgroups are of both versions.
PODMAN_LIMITS="--ulimit nofile=1024:1024 --ulimit nproc=1000:1000"
mkdir -p programs image/bin image/tmp empty wrong
# Podman takes no path of its runtime files over 50 characters, and $SCRATCH may be as long.
runtime=$(mktemp -d /tmp/podman.XXXXXX)
cat >programs/podman <<END2
#!/bin/sh
[ "\$1" != create ] || { shift && set -- create $PODMAN_LIMITS "\$@"; }
exec $(command -v podman) --root "$SCRATCH/podman" --runroot "$runtime" --cgroup-manager=cgroupfs \
	--events-backend=file --storage-driver=vfs $(command -v runc >/dev/null && echo --runtime=runc) "\$@"
END2
chmod 755 programs/podman
PATH=$PWD/programs:$PATH
cp "$(command -v busybox)" image/bin/busybox
for applet in $(busybox --list); do
	[ "$applet" = busybox ] || ln -s busybox "image/bin/$applet"
done

# Its containers are no children of this script.
trap 'podman rm -f -t 0 bare made >/dev/null 2>&1; rm -rf "$runtime"; tap_cleanup' EXIT

podman_run() { # NAME IMAGE COMMAND...
	podman_name=$1
	shift
	# shellcheck disable=SC2086 # several words
	deadline "$PATIENCE" podman run -d --name "$podman_name" --network none $PODMAN_LIMITS "$@"
}
tar -C image -c . | deadline "$PATIENCE" podman import - bare >import.log 2>&1 && podman_run bare localhost/bare sleep 3600 >run.log 2>&1 ||
	skip_all "no container of Podman runs here: $(cat import.log run.log 2>/dev/null | tail -n 1)"
MNT=$SCRATCH/mnt.bare
mkdir "$MNT"

says_of_mount() { # SOURCE
	"$SANDBOXFS" -f "$1" wrong 2>&1
}

ok "is mounted by name" deadline "$PATIENCE" "$SANDBOXFS" podman:bare:/tmp "$MNT"
echo text >"$MNT/file"
settle
is "what is written is there" "$(podman exec bare cat /tmp/file)" text
is "a command runs as another user" "$(ctl exec --user 1234 podman:bare:/tmp 'id -u; pwd')" "1234
/tmp"
podman pause bare >/dev/null
is "it is paused" "$(ctl info podman:bare --json | field_of state)" paused
is "which a mount says" "$(says_of_mount podman:bare)" "sandboxfs: podman:bare is paused; wake it with: podman unpause bare"
podman unpause bare >/dev/null
PATH=${SANDBOXFS%/*}:$PATH deadline "$PATIENCE" "$TOP/tools/examples/podman.sh" bare >said 2>&1
is "the example works" "$? $(grep -c '"exit_code": *0' said)" "0 1"
podman stop -t 0 bare >/dev/null
is "it is stopped" "$(says_of_mount podman:bare)" "sandboxfs: podman:bare is exited; start it with: podman start bare"
podman start bare >/dev/null
again() {
	deadline "$PATIENCE" sh -c 'echo more >"$1/after"' - "$MNT" 2>/dev/null
}
ok "the mount works again by itself" wait_until "$PATIENCE" again
settle
is "its files are the container's" "$(podman exec bare cat /tmp/after)" more
podman rm -f -t 0 bare >/dev/null
fails "one that was removed is gone" deadline "$PATIENCE" sh -c 'echo more >"$1/gone" && echo | dd of="$1/.sandbox/sync" conv=notrunc status=none' - "$MNT"
deadline "$PATIENCE" umount "$MNT"

made=$(ctl create podman --image localhost/bare --name made --network none --env A=b --label k=v)
is "one is made" "$made" "podman:$(podman inspect -f '{{.Id}}' made)"
completes "which completes" "podman:made " sandboxfs podman:
is "with its variable" "$(ctl exec "$made" 'echo $A')" b
is "and its label" "$(ctl list podman --json | python3 -c 'import json, sys
print([(box["id"], box["state"], box["labels"]["k"]) for box in json.load(sys.stdin)])')" "[('made', 'running', 'v')]"
says "no port of it" 1 "sandboxctl: $made does not publish port 80; give it when the container is made, as in sandboxctl create podman --port 80" \
	ctl url "$made" 80
ok "it is paused" ctl pause "$made"
is "which info says" "$(ctl info "$made" --json | field_of state)" paused
ok "and goes on" ctl resume "$made"
ok "it is deleted" ctl delete "$made"
says "nothing is listed" 0 "[]" ctl list podman --json
says "an image is to be here" 1 "sandboxctl: podman: the image localhost/none:1 is not here; fetch it with: podman pull localhost/none:1" \
	ctl create podman --image localhost/none:1

# ---- By its service, without podman(1) -----------------------------------------------------------------

tap_prefix="service: "
podman_run bare localhost/bare sleep 3600 >run.log 2>&1
podman system service --time=0 "unix://$runtime/socket" >service.log 2>&1 &
service=$!
tap_helpers="$tap_helpers $service"
by_service() { # COMMAND...
	CONTAINER_HOST="unix://$runtime/socket" PATH=$PWD/empty "$@"
}
listens() {
	[ -S "$runtime/socket" ]
}
ok "it listens" wait_until "$PATIENCE" listens
ok "one is mounted" by_service "$SANDBOXFS" podman:bare:/tmp "$MNT"
echo text >"$MNT/file"
settle
is "what is written is there" "$(podman exec bare cat /tmp/file)" text
says "a command has its output and its exit code" 3 "out 1234" \
	by_service "$SANDBOXCTL" exec --user 1234 podman:bare:/tmp 'echo "out $(id -u)"; exit 3'
umount "$MNT"
is "it runs" "$(by_service "$SANDBOXCTL" info podman:bare --json | field_of state)" running
podman pause bare >/dev/null
is "it is paused" "$(by_service "$SANDBOXFS" -f podman:bare wrong 2>&1)" "sandboxfs: podman:bare is paused; wake it with: podman unpause bare"
ok "and goes on" by_service "$SANDBOXCTL" resume podman:bare
is "a snapshot is an image of its name" "$(by_service "$SANDBOXCTL" snapshot podman:bare kept/it:1)" kept/it:1
like "or else of its ID" "$(by_service "$SANDBOXCTL" snapshot podman:bare)" '^[0-9a-f]{64}$'
is "which the service has" "$(podman image ls -q kept/it:1 | wc -l)" 1
like "no such container" "$(by_service "$SANDBOXFS" -f podman:none wrong 2>&1)" "^sandboxfs: podman:none: .*no such container"
podman rm -f -t 0 bare >/dev/null
kill "$service"
tap_prefix=

like "no such container" "$(says_of_mount podman:bare)" "^sandboxfs: podman:bare: .*no such container bare$"
like "no podman" "$(PATH=$PWD/empty "$SANDBOXFS" -f podman:bare wrong 2>&1)" \
	"^sandboxfs: podman:bare: there is no program 'podman' here; install it"

done_testing
