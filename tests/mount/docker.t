#!/bin/sh
# Containers of Docker: of this machine's programs and of BusyBox alone; made and deleted by sandboxfs; one that is paused,
# stopped, started again, removed and replaced; and every wrong way. The daemon's socket is used, so docker(1) is not needed; and
# docker(1), where the socket is not known here.
# shellcheck disable=SC2016
PROVIDER=docker
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs_root
needs busybox python3 unshare nsenter
DOCKER_BRIDGE=1
docker_ensure
SANDBOXCTL=$(dirname "$SANDBOXFS")/sandboxctl

# Only docker(1) knows where the daemon is: a script of the name finds it.
mkdir program
cat >program/docker <<END
#!/bin/sh
export DOCKER_HOST='$DOCKER_HOST'
echo "\$*" >>"$PWD/words"
exec $(command -v docker) "\$@"
END
chmod 755 program/docker
: >words
chmod 666 words
by_program() { # COMMAND...
	(
		unset DOCKER_HOST
		export DOCKER_CONTEXT=elsewhere PATH="${BY:-$SCRATCH/program}:$PATH"
		"$@"
	)
}

run() { # COMMAND
	as_owner timeout "$PATIENCE" python3 -c '
import json, sys
with open(sys.argv[1] + "/.sandbox/exec", "r+", buffering=1) as file:
    file.write(sys.argv[2] + "\n")
    print(json.loads(file.read())["stdout"], end="")' "$MNT" "$1"
}

works() {
	ok "a file is written" as_owner sh -c 'echo text >"$1/file"' - "$MNT"
	settle
	is "and is there" "$(cat "$STORE/file")" text
	is "a command runs" "$(run 'cat file; id -u')" "text
$MOUNT_AS"
	is "what it writes is seen" "$(run 'echo more >>file' && as_owner cat "$MNT/file")" "text
more"
}

a_user() {
	mount_sandbox "user$MOUNT_AS"
	works
	unmount
}
for_each_user a_user
PATH=${SANDBOXFS%/*}:$PATH deadline "$PATIENCE" "$TOP/tools/examples/docker.sh" "$SANDBOX" >said 2>&1
is "the example works" "$? $(grep -c '"exit_code": *0' said)" "0 1"

# ---- BusyBox alone, read-only but for one directory ---------------------------------------------------

tap_prefix="busybox: "
mkdir -p busybox/bin busybox/etc busybox/root busybox/tmp
cp "$(command -v busybox)" busybox/bin/busybox
for applet in $(busybox --list); do
	[ "$applet" = busybox ] || ln -s busybox "busybox/bin/$applet"
done
ok "an image" docker_image busybox busybox
ok "a container" docker run -d --name bare --network none --read-only --tmpfs /work:exec busybox sleep 100000
MNT=$SCRATCH/mnt.bare
start_bare() {
	mkdir -p "$MNT"
	"$SANDBOXFS" docker:bare:/work "$MNT"
}
ok "is mounted by name" start_bare
is "without docker(1)" "$(cat words)" ""
STORE=/proc/$(docker inspect -f '{{.State.Pid}}' bare)/root/work
works
ok "and unmounted" tap_umount "$MNT"
like "its root is shown without a path" "$(ctl exec docker:bare 'pwd; echo $HOME')" "^/$"
is "as another user" "$(ctl exec --user 1234 docker:bare:/work 'id -u')" 1234
ok "by docker(1) it is mounted as well" by_program start_bare
like "which runs the helper" "$(cat words)" "^exec -i [0-9a-f]* /bin/sh"
works
ok "and unmounted" tap_umount "$MNT"

# ---- States ------------------------------------------------------------------------------------------

tap_prefix="states: "
mount_sandbox states timeout=10
expect_log 'the sandbox (does not tell|tells) of its changes|what is known is shown until'
echo before >"$MNT/before"
settle
state() {
	ctl info "docker:$SANDBOX" --json | field_of state
}
is "it runs" "$(state)" running
docker pause "$SANDBOX" >/dev/null
is "it is paused" "$(ctl info "docker:$SANDBOX" --json | field_of state)" paused
like "which a mount says" "$("$SANDBOXFS" -f "docker:$SANDBOX" "$SCRATCH" -o nonempty 2>&1)" \
	"^sandboxfs: docker:$SANDBOX is paused; wake it with: docker unpause $SANDBOX$"
docker unpause "$SANDBOX" >/dev/null
is "files are as they were" "$(cat "$MNT/before")" before
docker stop -t 1 "$SANDBOX" >/dev/null
is "it is stopped" "$(state)" stopped
like "which a mount says" "$("$SANDBOXFS" -f "docker:$SANDBOX" "$SCRATCH" -o nonempty 2>&1)" \
	"^sandboxfs: docker:$SANDBOX is exited; start it with: docker start $SANDBOX$"
fails "what is not known cannot be read" deadline "$PATIENCE" sh -c 'echo "cat before" >"$1/.sandbox/exec"; cat "$1/.sandbox/exec" | grep before' - "$MNT"
docker start "$SANDBOX" >/dev/null
ran() {
	[ "$(run 'cat before')" = before ]
}
ok "the mount works again by itself" wait_until "$PATIENCE" ran
echo after >"$MNT/after"
settle
is "its files are the container's" "$(docker exec "$SANDBOX" sh -c 'cat "$HOME/after"')" after
docker rm -f "$SANDBOX" >/dev/null
vendor_sandbox states # another of its name
fails "one that was replaced is gone" deadline "$PATIENCE" sh -c 'echo more >"$1/after" && echo | dd of="$1/.sandbox/sync" conv=notrunc status=none' - "$MNT"
fails "and nothing reaches the other" docker exec "$SANDBOX" sh -c 'cat "$HOME/after"'
expect_log 'is gone|No such container|not everything could be sent'
tap_umount "$MNT"

# ---- Made by sandboxfs -------------------------------------------------------------------------------

tap_prefix="made: "
listed() {
	ctl list docker --json | python3 -c 'import json, sys
for box in json.load(sys.stdin): print(box["id"], box["state"], box["labels"]["thread"])'
}
name=$(SECRET='se cret"' ctl create docker --image busybox --env SECRET --env TWO=2 --label thread=7,x=y \
	--memory 64M --cpus 0.5 --pids 100 --port 80 --workdir /work)
id=${name#docker:}
id=${id%%:*}
like "a container is made, and its name is a source" "$name" '^docker:sandboxfs-[0-9a-f]+:/work$'
completes "which completes" "docker:$id " sandboxctl info "docker:${id%?}"
completes "as one does that is not of sandboxfs" "docker:bare " sandboxfs docker:ba
is "with its limits" "$(docker inspect -f '{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}} {{.HostConfig.PidsLimit}}' "$id")" \
	"$((64 << 20)) 500000000 100"
is "its variables" "$(ctl exec "$name" 'echo "$SECRET $TWO"; pwd')" 'se cret" 2
/work'
is "and its label" "$(listed)" "$id running 7,x=y"
is "which --reuse finds" "$(ctl create docker --image busybox --label thread=7,x=y --reuse)" "docker:$id"
url=$(ctl url "$name" 80)
docker exec "$id" sh -c 'echo hello >/work/hello; httpd -h /work -p 80'
is "its port has a URL" "$(deadline "$PATIENCE" nsenter --net="/proc/$DOCKER_DAEMON/ns/net" busybox wget -qO- "$url/hello")" hello
says "another has none" 1 "sandboxctl: docker:$id does not publish port 81; give it when the container is made, as in sandboxctl create docker --port 81" \
	ctl url "docker:$id" 81
ok "it is paused" ctl pause "$name"
ok "twice is as once" ctl pause "$name"
is "which list says" "$(listed)" "$id paused 7,x=y"
ok "and goes on" ctl resume "$name"
docker stop -t 60 "$id" >/dev/null
is "it ends when it is told to" "$(docker inspect -f '{{.State.ExitCode}}' "$id") $(listed)" "0 $id stopped 7,x=y"
ok "and is started again" ctl resume "$name"
is "with its files" "$(ctl exec "$name" 'cat hello')" hello
old=$(docker exec "$id" pidof sleep)
docker exec "$id" sh -c 'kill -9 -1'
sleeps_again() {
	new=$(docker exec "$id" pidof sleep) && [ "$new" != "$old" ]
}
ok "it outlives all its other programs" wait_until "$PATIENCE" sleeps_again
is "and still ends when it is told to" "$(docker stop -t 60 "$id" >/dev/null; docker inspect -f '{{.State.ExitCode}}' "$id"; ctl resume "$name")" 0
like "another of its name is not made" "$(ctl create docker --image busybox --name "$id" 2>&1)" "^sandboxctl: docker: .*is already in use"
is "and leaves it alone" "$(listed)" "$id running 7,x=y"
says "what sandboxfs did not make is not deleted" 1 \
	"sandboxctl: docker:bare was not made by sandboxfs; remove it with: docker rm --force bare" ctl delete docker:bare
is "so it is there" "$(docker inspect -f '{{.State.Status}}' bare)" running
docker run --name talks --network none busybox sh -c 'echo out; echo err >&2' >/dev/null 2>&1
is "its log is what its first program said, with times" "$(ctl logs docker:talks | grep -cE '^20[^ ]*Z (out|err)$')" 2
like "also of a terminal" "$(docker run -t --name tty --network none busybox echo out; ctl logs docker:tty)" '^20[^ ]*Z out.?$'
is "docker(1) says the same" "$(by_program ctl logs docker:talks --json | python3 -c 'import json, sys
print(sorted(line["message"] for line in json.load(sys.stdin)))')" "['err', 'out']"
docker rm -f talks tty >/dev/null
image=$(ctl snapshot "$name")
like "a snapshot is an image" "$image" '^sha256:[0-9a-f]{64}$'
is "with the container's files" "$(copy=$(ctl create docker --image "$image") && ctl exec "$copy:/work" 'cat hello'; ctl delete "$copy")" hello
is "of a name, where one is given" "$(by_program ctl snapshot "$name" kept/it:2) $(ctl snapshot "$name" kept/it:1)" "kept/it:2 kept/it:1"
is "which the daemon has" "$(docker image ls -q kept/it | wc -l)" 2
docker rmi "$image" kept/it:1 kept/it:2 >/dev/null
docker commit "$id" snapshot >/dev/null
docker run -d --name copy --network none snapshot >/dev/null
is "a container of its image is not of sandboxfs" "$(listed)" "$id running 7,x=y"
says "and is not deleted" 1 \
	"sandboxctl: docker:copy was not made by sandboxfs; remove it with: docker rm --force copy" ctl delete docker:copy
docker rm -f copy >/dev/null
copy=$(ctl create docker --image snapshot --label thread=8)
is "one that sandboxfs makes of it is" "$(listed | sort)" "$(printf '%s\n' "$id running 7,x=y" "${copy#docker:} running 8" | sort)"
ok "and is deleted" ctl delete "$copy"
docker rmi snapshot >/dev/null
ok "the other is deleted" ctl delete "$name"
ok "twice is as once" ctl delete "$name"
says "nothing is listed" 0 "[]" ctl list docker --json

# The same by docker(1).
tap_prefix="made by docker(1): "
: >words
name=$(SECRET='se cret"' by_program ctl create docker --image busybox --env SECRET --env TWO=2 --label thread=7,x=y --memory 64M --cpus 0.5 \
	--pids 100 --port 80 --workdir /work)
id=${name#docker:}
id=${id%%:*}
is "with the same limits" \
	"$(docker inspect -f '{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}} {{.HostConfig.PidsLimit}}' "$id")" "$((64 << 20)) 500000000 100"
is "its variables, in no list of processes" "$(grep -c -e cret -e TWO words) $(by_program ctl exec "$name" 'echo "$SECRET $TWO"; pwd')" \
	"0 se cret\" 2
/work"
is "the port of the same URL" "$(by_program ctl url "$name" 80)" "$(ctl url "$name" 80)"
without_age() { sed 's/"age_s": [0-9]*//'; }
is "the same list" "$(by_program ctl list docker --json | without_age)" "$(ctl list docker --json | without_age)"
ok "it is paused" by_program ctl pause "$name"
is "which list says" "$(by_program listed)" "$id paused 7,x=y"
ok "and goes on" by_program ctl resume "$name"
completed() {
	[ "$(by_program "$SANDBOXCTL" --complete sandboxctl info "docker:${id%?}" | cut -f 1)" = "docker:$id" ]
}
ok "which completes" wait_until "$PATIENCE" completed
ok "it is deleted" by_program ctl delete "$name"
says "nothing is listed" 0 "[]" by_program ctl list docker --json
tap_prefix="made: "
first=$(ctl create docker --image busybox --name again)
mkdir "$SCRATCH/mnt.again"
like "list tells its age" "$(ctl list docker --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0].get("age_s", "none"))')" '^[0-9]{1,3}$'
for source in "$first" "${first%????????????????}"; do
	"$SANDBOXFS" "$source" "$SCRATCH/mnt.again"
	says "gc keeps it mounted as $source" 0 "docker:again: kept: mounted on $SCRATCH/mnt.again" ctl gc --older-than 0 docker
	tap_umount "$SCRATCH/mnt.again"
done
docker rm -f again >/dev/null
second=$(ctl create docker --image busybox --name again)
ok "one that was removed is deleted" ctl delete "$first"
is "and not what has its name now" "docker:$(docker inspect -f '{{.Id}}' again)" "$second"
ok "which is deleted by its name" ctl delete docker:again
mkdir late
# A daemon that makes the container once its maker is gone and somebody has looked for it.
cat >late/docker <<END
#!/bin/sh
export DOCKER_HOST='$DOCKER_HOST'
case \$1 in
create)
	echo "\$*" | sed "s/.*--name=\([^ ]*\) .*--label=\([^ ]*\) .*/--name=\1 --label=\2/" >"$PWD/late/wanted"
	exec sleep 100000
	;;
esac
$(command -v docker) "\$@"
status=\$?
if mv "$PWD/late/wanted" "$PWD/late/made"; then
	$(command -v docker) create \$(cat "$PWD/late/made") busybox true
fi >>"$PWD/late/log" 2>&1
exit \$status
END
chmod 755 late/docker
like "a container that is late is deleted" "$(BY=$PWD/late by_program ctl create docker --image busybox --progress-timeout 1 2>&1)" \
	"^sandboxctl: docker: .*one was made, and is deleted"
says "so none is left" 0 "[]" ctl list docker --json
mkdir "$SCRATCH/mnt.made"
ok "a mount makes one" "$SANDBOXFS" docker: "$SCRATCH/mnt.made" -o image=busybox,name=mounted,network=none,env=A=b
is "of its options" "$(docker inspect -f '{{.HostConfig.NetworkMode}} {{.Config.Env}}' mounted)" "none [A=b]"
ok "and is unmounted" tap_umount "$SCRATCH/mnt.made"
no_mounted() {
	! docker inspect mounted
}
ok "which deletes it" wait_until "$PATIENCE" no_mounted
says "an image is needed" 1 "sandboxctl: docker: '--image=NAME' is missing, as in --image=debian:12" ctl create docker
says "which is here" 1 "sandboxctl: docker: the image nowhere/at-all:1 is not here; fetch it with: docker pull nowhere/at-all:1" \
	ctl create docker --image nowhere/at-all:1
says "it does not end by itself" 1 "sandboxctl: docker: a new sandbox cannot be given '--timeout='; leave it out" \
	ctl create docker --image busybox --timeout 60
says "a port needs a network" 1 "sandboxctl: docker: a container without a network publishes no port; leave '--port=' out" \
	ctl create docker --image busybox --port 80 --network none
says "of its own" 1 "sandboxctl: docker: a container in this machine's network publishes no port; leave '--port=' out" \
	ctl create docker --image busybox --port 80 --network host
# shellcheck disable=SC2046 # many words
says "its labels have an end" 1 \
	"sandboxctl: docker: a new container takes up to 100 labels and ports together, and the label of sandboxfs is one of them" \
	ctl create docker --image busybox $(seq -f '--label=l%g=x' 100)
says "a variable is a line for docker(1)" 1 "sandboxctl: docker: the variable A has an end of line, which it cannot be given" \
	by_program ctl create docker --image busybox --env 'A=1
2'

# ---- Wrong ways --------------------------------------------------------------------------------------

tap_prefix="wrong: "
mkdir wrong
refuses() { # NAME PATTERN SOURCE
	says_line=$("$SANDBOXFS" -f "$3" wrong 2>&1)
	like "$1" "$says_line" "^sandboxfs: $2"
	is "$1: one line" "$(printf '%s\n' "$says_line" | wc -l)" 1
}
refuses "no such container" "docker:nobody: .*[Nn]o such container: nobody$" docker:nobody
refuses "no such directory" "/no/where: no such file or directory" docker:bare:/no/where
refuses "no name" "'docker:-v': an id is letters, digits" docker:-v
mkdir empty scratch
cp busybox/bin/busybox scratch/busybox
ok "an image without a shell" docker_image scratch scratch
like "none is made without a shell" "$(ctl create docker --image scratch 2>&1)" "^sandboxctl: docker: .*its image has no /bin/sh, which is needed"
says "nothing is left of it" 0 "[]" ctl list docker --json
docker run -d --name scratch --network none scratch /busybox sleep 100000 >/dev/null
refuses "no shell" "docker:scratch: .*/bin/sh.*; its image has no /bin/sh, which is needed" docker:scratch
DOCKER_WAS=$DOCKER_HOST
export DOCKER_HOST="unix://$PWD/empty/socket"
like "no docker" "$(PATH=$PWD/empty "$SANDBOXFS" -f docker:bare wrong 2>&1)" \
	"^sandboxfs: docker:bare: there is no program 'docker' here; install it"
refuses "no daemon" "docker:bare: Cannot connect to the Docker daemon" docker:bare
DOCKER_HOST=$DOCKER_WAS
chmod 600 "$DOCKER_DIR/socket"
as_user mkdir "$SCRATCH/home/wrong"
like "no rights" "$(as_user "$SANDBOXFS" -f docker:bare "$SCRATCH/home/wrong" 2>&1)" "^sandboxfs: .*permission denied.*; is this user in the daemon's group"
like "nor docker" "$(as_user env PATH="$PWD/empty" "$SANDBOXFS" -f docker:bare "$SCRATCH/home/wrong" 2>&1)" \
	"^sandboxfs: docker:bare: permission denied while trying to connect to $DOCKER_DIR/socket; is this user in the daemon's group"
tap_prefix=

done_testing
