#!/bin/sh
# The addresses at which a container is reached: by IPv6, by names of this machine, in a private network without TLS.
# shellcheck disable=SC2016,SC2317
PROVIDER=aio
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs node python3

vendor_start
port=$SANDBOX_PORT
unset SANDBOX_PORT
mkdir dir

# reaches NAME SOURCE: a mount of it shows what is written there.
reaches() {
	"$SANDBOXFS" "$2" dir -o close=wait 2>err
	is "$1: is mounted" "$? $(cat err)" "0 "
	echo "$1" >dir/file
	is "$1: is written" "$(ctl exec "$2" -- cat file 2>/dev/null)" "$1"
	umount dir
}

# relay_from ADDRESS FILE: as if the container listened there; its port is written to FILE.
relay_from() {
	node -e '
		const net = require("net");
		net.createServer((a) => {
			const b = net.connect(+process.argv[1], "127.0.0.1");
			a.on("error", () => b.destroy());
			b.on("error", () => a.destroy());
			a.pipe(b).pipe(a);
		}).listen(0, process.argv[2], function () { console.log(this.address().port); });' "$port" "$1" >"$2" 2>&1 &
	relay=$!
	wait_until "$PATIENCE" test -s "$2"
}

export SANDBOX_HOST="0.0.0.0:$port"
reaches "where servers are said to listen" aio:
export SANDBOX_HOST="sandbox.localhost:$port"
reaches "a name below localhost" aio:
export SANDBOX_HOST="http://127.0.0.1:$port/"
reaches "a URL" aio:
export SANDBOX_HOST=127.0.0.1:1
"$SANDBOXFS" aio: dir -o "url=http://127.0.0.1:$port" 2>err
is "url= is the address of a mount, before the variable" "$? $(cat err)" "0 "
ok "umount" umount dir
ok "and --url that of a command" ctl info aio: --url "http://127.0.0.1:$port"
like "a port of the environment is not of that URL" \
	"$(SANDBOX_PORT=1 "$SANDBOXCTL" info aio: --url https://127.7.7.7 2>&1)" 'https://127[.]7[.]7[.]7:443/'
says "a source that is an address takes no URL" 1 \
	"sandboxctl: option 'url': aio:box_8080 is an address already; leave one of the two out" \
	"$SANDBOXCTL" info aio:box_8080 --url "http://127.0.0.1:$port"
says "a wrong URL is not told to be the variable" 1 "sandboxctl: option 'url': 'https://box/path' is no host: \
a name or an address, which may have a port, or http:// or https:// before it" "$SANDBOXCTL" info aio: --url https://box/path
export SANDBOX_HOST="http://127.0.0.1:$port/"

"$SANDBOXFS" aio: dir -o "header=X-Gate: open-sesame" 2>err
is "with a header of the user's own: is mounted" "$? $(cat err)" "0 "
is "the header arrives" "$(vendor_request GET "$ADMIN/received?contains=open-sesame" | sed 's/.*"found":\([a-z]*\).*/\1/')" true
umount dir
"$SANDBOXFS" aio: dir -o header=open-sesame 2>err
is "what is no header is refused" "$? $(cat err)" "1 sandboxfs: header= wants at most 31 lines of NAME: VALUE"
"$SANDBOXFS" local:x dir -o "header=X-Gate: open-sesame" 2>err
is "and where there is no API to send it to" "$? $(cat err)" \
	"1 sandboxfs: local: its requests have no headers of one's own; leave header= out"

# ---- sandboxctl start, by a docker and a podman that are played ------------------------------------

unset SANDBOX_HOST SANDBOX_PORT
mkdir bin
cat >bin/docker <<'END'
#!/bin/sh
echo "${0##*/} $*" >>"$PLAYED/calls"
case "$1 $2" in
"container inspect" | "image inspect") [ -e "$PLAYED/${0##*/}.$1" ] ;;
"version ") [ ! -e "$PLAYED/${0##*/}.dead" ] ;;
"pull "*) >"$PLAYED/${0##*/}.image" ;;
"run "* | "start "*) "$PLAYED/begin" >/dev/null 2>&1 ;;
esac
END
chmod +x bin/docker
cp bin/docker bin/podman
# A port of this machine that is free.
free=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >begin <<END
#!/bin/sh
setsid node -e 'const net = require("net");
	net.createServer((a) => {
		const b = net.connect($port, "127.0.0.1");
		for (const s of [a, b]) s.on("error", () => (a.destroy(), b.destroy()));
		a.pipe(b).pipe(a);
	}).listen($free, "127.0.0.1");
	require("fs").writeFileSync("$PWD/began", String(process.pid));
	setTimeout(() => process.exit(), 600000);' &
END
chmod +x begin
started() {
	env PATH="$PWD/bin:$PATH" PLAYED="$PWD" "$SANDBOXCTL" start aio --port "$free" "$@"
}
image=ghcr.io/agent-infra/sandbox:latest
says "an image that is not here is not fetched unasked" 1 \
	"sandboxctl: the image $image is not here; --pull has docker fetch it" started
touch docker.dead
says "a docker without its daemon is passed over" 1 \
	"sandboxctl: the image $image is not here; --pull has podman fetch it" started
rm docker.dead
is "nor is a container made" "$(grep -c ' run ' calls)" 0
touch podman.image
says "where podman has it that is used" 0 "sandboxctl: podman stop sandboxfs-aio-$free ends it
aio:localhost_$free" started
tap_helpers="$tap_helpers $(cat began)"
is "this machine alone reaches it" "$(grep ' run ' calls)" "podman run --detach --name sandboxfs-aio-$free \
--publish 127.0.0.1:$free:8080 --security-opt seccomp=unconfined $image"
touch podman.container
printf '#!/bin/sh\n' >begin
says "one that was stopped is started again" 0 "sandboxctl: podman stop sandboxfs-aio-$free ends it
aio:localhost_$free" started
is "it is the same" "$(tail -n 1 calls)" "podman start sandboxfs-aio-$free"
says "another image for one that is there is told to count nothing" 0 \
	"sandboxctl: sandboxfs-aio-$free is there already, so --image does not count; podman rm -f sandboxfs-aio-$free removes it
sandboxctl: podman stop sandboxfs-aio-$free ends it
aio:localhost_$free" started --image mine
rm podman.*
started --image mine --pull >/dev/null 2>&1
is "what is asked for is fetched" "$(grep -c '^docker pull mine$' calls)" 1
says "a vendor's sandboxes are no containers" 1 "sandboxctl: local: its sandboxes are no containers of this machine; \
sandboxctl create makes one" ctl start local

if [ -e /proc/net/if_inet6 ] && grep -q '^00000000000000000000000000000001 ' /proc/net/if_inet6; then
	relay_from ::1 six
	export SANDBOX_HOST="[::1]:$(cat six)"
	reaches "an address of IPv6" aio:
	unset SANDBOX_HOST
	reaches "its ID" "aio:ipv6.--1_$(cat six)"
	kill "$relay"
fi

# This machine's own address is one of a private network, or nothing is known of such a one here.
address=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -E '^(10|192\.168|172\.(1[6-9]|2[0-9]|3[01]))\.' | head -n 1)
if [ -n "$address" ]; then
	relay_from "$address" there
	export SANDBOX_HOST="$address:$(cat there)"
	reaches "a private network" aio:
	ctl info aio: >out 2>err
	is "a private network: one line warns" "$? $(grep -c 'warn: http://.* is not encrypted' err) $(wc -l <err)" "0 1 1"
	unset SANDBOX_HOST
	ctl info "aio:${address}_$(cat there)" >out 2>err
	is "a private network: its ID is the same" "$? $(grep -c 'is not encrypted' err)" "0 1"
	kill "$relay"
fi
done_testing
