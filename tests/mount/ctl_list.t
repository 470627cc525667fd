#!/bin/sh
# sandboxctl itself, and its list.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
needs_mount

# ---- How it is called ----------------------------------------------------------------------------

if [ "$PROVIDER" = local ]; then
	says "no command" 2 "sandboxctl: the command is missing; see sandboxctl --help" ctl
	says "an unknown command" 2 \
		"sandboxctl: 'lsit': no such command; did you mean 'list'? see sandboxctl --help" ctl lsit
	says "nothing like a command" 2 "sandboxctl: 'xyzzy': no such command; see sandboxctl --help" ctl xyzzy
	says "an unknown option" 2 \
		"sandboxctl: list: '--frob': unknown, or its value is missing; see sandboxctl list --help" ctl list --frob
	says "an unknown letter" 2 \
		"sandboxctl: list: '-x': unknown, or its value is missing; see sandboxctl list --help" ctl list local -x
	says "an option without its value" 2 \
		"sandboxctl: list: '--key-file': unknown, or its value is missing; see sandboxctl list --help" ctl list local --key-file
	says "one word too many" 2 \
		"sandboxctl: list: 'e2b': one word too many; see sandboxctl list --help" ctl list local e2b
	says "no number" 2 \
		"sandboxctl: list: option '--progress-timeout=soon': SECONDS is a number of seconds, as in --progress-timeout=1.5" \
		ctl list local --progress-timeout soon
	ok "--help names the commands" sh -c '"$1" --help | grep -q "^  list  *List the sandboxes"' - "$SANDBOXCTL"
	is "help is --help" "$(ctl help)" "$(ctl --help)"
	is "also of a command" "$(ctl help list)" "$(ctl list --help)"
	says "which there must be" 2 "sandboxctl: 'xyzzy': no such command; see sandboxctl --help" ctl help xyzzy
	for word in local local:; do
		says "the id is missing in $word" 1 \
			"sandboxctl: '$word': the id is missing; sandboxctl list local shows those there are" ctl info "$word"
	done
	ok "the help of a command shows how it is called" \
		sh -c '"$1" list --help | grep -q "^Usage: sandboxctl list "' - "$SANDBOXCTL"
	ok "--version" sh -c '"$1" --version | grep -q "^sandboxctl [0-9]"' - "$SANDBOXCTL"
	fails "output that cannot be written fails it" sh -c '"$1" --help >/dev/full' - "$SANDBOXCTL"
fi

# ---- No key, and no network ----------------------------------------------------------------------

if [ "$PROVIDER" = local ]; then
	without_key() {
		env -u E2B_API_KEY HOME="$SCRATCH" "$SANDBOXCTL" "$@"
	}
	says "no key" 1 "sandboxctl: e2b: no key: set E2B_API_KEY, log in with e2b auth login, or give -o key_file=FILE (mode 0600), with sandboxctl \
--key-file FILE; sudo and mount(8) do not pass the environment on" without_key list e2b
	for command in "info e2b:abc" "delete e2b:abc" "pause e2b:abc" "resume e2b:abc" "extend e2b:abc" "create e2b" \
		"exec e2b:abc true" "push . e2b:abc" "pull e2b:abc ." "url e2b:abc 80" "with e2b -- true"; do
		# shellcheck disable=SC2086
		like "no key for $command" "$(without_key $command 2>&1)" "^sandboxctl: e2b: no key: set E2B_API_KEY, log in with e2b auth login, or give "
	done
	echo key >key
	chmod 644 key
	says "a key for everybody" 1 "sandboxctl: key_file key: mode 0644 lets others at the key; chmod 600 key" \
		without_key info --key-file key e2b:abc
	unreachable() {
		env E2B_API_KEY=e2b_0123456789abcdef0123456789abcdef01234567 E2B_API_URL=http://127.0.0.1:1 "$SANDBOXCTL" "$@" 2>&1
	}
	for command in "list e2b" "info e2b:abc" "delete e2b:abc" "pause e2b:abc" "resume e2b:abc" "extend e2b:abc" "create e2b" \
		"exec e2b:abc true" "push key e2b:abc" "pull e2b:abc ." "url e2b:abc 80" "with e2b -- true"; do
		# shellcheck disable=SC2086
		like "$command without a network" "$(unreachable $command)" \
			"^sandboxctl: [A-Z]+ http://127.0.0.1:1/.*: Failed to connect"
	done
	like "away from this machine the way out is told" "$(E2B_API_URL=https://127.0.0.1:1 \
		E2B_API_KEY=e2b_0123456789abcdef0123456789abcdef01234567 "$SANDBOXCTL" list e2b 2>&1)" \
		"^sandboxctl: GET https://127.0.0.1:1/.*: Failed to connect .*; look at the network, and at https_proxy\$"
fi

# ---- list ----------------------------------------------------------------------------------------

if [ "$PROVIDER" = local ]; then
	says "none yet" 0 "SANDBOX  STATE  LIFE LEFT  AGE  LABELS" ctl list local
	says "none yet, as JSON" 0 "[]" ctl list local --json
	says "an unknown provider" 1 \
		"sandboxctl: 'nowhere:': unknown provider 'nowhere'; known: $("$SANDBOXCTL" --help | sed -n 's/.*Providers: //p')" \
		ctl list nowhere
	says "a sandbox where a provider is expected" 1 \
		"sandboxctl: 'local:a': a provider alone, as in local" ctl list local:a
fi
if [ "$PROVIDER" = local ]; then
	# Whoever runs this may have keys.
	with_keys() { # NAME=VALUE...
		deadline "$PATIENCE" env -i PATH="$PATH" HOME="$SCRATCH/home" XDG_DATA_HOME="$XDG_DATA_HOME" "$@"
	}
	"$SANDBOXCTL" create local >made
	set -- "$SANDBOXCTL" list
	is "without a provider, and without a key" "$(with_keys "$@" | sed 1d | cut -d' ' -f1)" "$(cat made)"
	mkdir silent
	cat >silent/docker <<'END'
#!/bin/sh
read -r _ _ _ _ _ session _ <"/proc/$$/stat"
[ "$session" != $$ ] || echo apart >"${0%/*}/said"
exec sleep 100000
END
	chmod 755 silent/docker
	with_keys PATH="$PWD/silent:$PATH" "$@" >out
	is "a daemon that is silent is left out" "$? $(sed 1d out | cut -d' ' -f1)" "0 $(cat made)"
	is "and asks nothing on the terminal" "$(cat silent/said)" apart
	mkdir -p wide/sandboxfs
	chmod 777 wide/sandboxfs
	like "a store that is refused is told" "$(with_keys XDG_DATA_HOME="$PWD/wide" "$@" 2>&1 >/dev/null)" \
		"^sandboxctl: list local: .*: others may write to it; chmod go-w "
	broken="E2B_API_KEY=e2b_0123456789abcdef0123456789abcdef01234567 E2B_API_URL=http://127.0.0.1:1"
	# shellcheck disable=SC2086
	with_keys $broken "$@" >out 2>err
	is "one that fails makes it fail" "$?" 1
	like "is told" "$(cat err)" "^sandboxctl: list e2b: GET http://127.0.0.1:1/.*: Failed to connect"
	is "in one line" "$(wc -l <err)" 1
	is "and hides no other" "$(sed 1d out | cut -d' ' -f1)" "$(cat made)"
	# shellcheck disable=SC2086
	with_keys $broken RUNLOOP_API_KEY=key RUNLOOP_BASE_URL=http://127.0.0.1:1 "$@" --json >out 2>err
	is "of two each is told" "$? $(sed 's/^sandboxctl: list \([a-z0-9]*\): .*/\1/' err | sort | tr '\n' ' ')" "1 e2b runloop "
	is "as JSON" "$(python3 -c 'import json; print(len(json.load(open("out"))))')" 1
	says "a key that is of one alone" 2 \
		"sandboxctl: list: --key-file is the key of one provider: name that, as in sandboxctl list e2b" ctl list --key-file key
	says "an address that is of one alone" 2 \
		"sandboxctl: list: --url is the address of one provider: name that, as in sandboxctl list e2b" \
		ctl list --url http://127.0.0.1:1
	is "SANDBOX_PROVIDER is that of a source without one" \
		"$(SANDBOX_PROVIDER=local ctl exec "$(sed 's/^local//' made)" 'echo there' </dev/null)" there
	ctl delete "$(cat made)"
	made=$(SANDBOX_PROVIDER=local ctl create)
	like "and of one that is made" "$made" '^local:'
	ctl delete "$made"
fi
if [ "$PROVIDER" = aio ]; then
	vendor_start
	id="aio:${SANDBOX_HOST:-localhost}_$SANDBOX_PORT"
	like "the one that is there is listed" "$(ctl list aio)" "^$id  *running "
	for command in info 'exec aio true' 'url aio 80'; do
		set -- $command
		ok "$1 needs no ID" ctl "$1" "${2:-aio:}" ${3:+"$3"} </dev/null
	done
	mkdir dir
	if [ "$(id -u)" -eq 0 ]; then
		printf 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 51\r\nConnection: close\r\n\r\n%s' \
			'{"success":true,"data":null,"home_dir":"/home/gem"}' >answer
		cat >elsewhere <<'END'
ip link set lo up
python3 - "$1" <<'EOF' &
import socket, sys
server = socket.create_server(("127.0.0.1", 8090))
open("listens", "w").close()
while True:
    peer, _ = server.accept()
    peer.recv(65536)
    peer.sendall(open("answer", "rb").read())
    peer.close()
EOF
server=$!
until [ -e listens ]; do kill -0 $server || exit; done
"$1" list aio
kill $server
"$1" list aio
END
		env -u SANDBOX_HOST -u SANDBOX_PORT unshare -n sh elsewhere "$SANDBOXCTL" >said 2>&1
		like "without a port 8080 and then 8090 are tried" "$(cat said)" "^aio:localhost_8090  *running "
		like "and named where none answers" "$(cat said)" \
			"^sandboxctl: aio:localhost_8080: is its container running.*; nor is there one at port 8090; SANDBOX_PORT names another"
	fi
	done_testing
fi
mount_sandbox one
unmount
ok "a sandbox is listed with its state" sh -c '"$1" list "$2" | grep -q "^$3  *running "' - "$SANDBOXCTL" "$PROVIDER" "$SOURCE"
case $PROVIDER in
e2b) variable=E2B_API_URL ;;
daytona) variable=DAYTONA_API_URL ;;
langsmith) variable=LANGSMITH_ENDPOINT ;;
modal) variable=MODAL_SERVER_URL ;;
runloop) variable=RUNLOOP_BASE_URL ;;
*) variable='' ;;
esac
if [ "$variable" ]; then
	url=$(printenv $variable)
	elsewhere() { # COMMAND...: with a variable that leads nowhere
		env $variable=http://127.0.0.1:1 "$@"
	}
	ok "--url is the address of its API, before the variable" elsewhere "$SANDBOXCTL" info "$SOURCE" --url "$url"
	mkdir -p dir
	elsewhere "$SANDBOXFS" "$SOURCE" dir -o "url=$url"
	ok "url= is that of a mount" test -d dir/.sandbox
	tap_umount dir
	like "what is no URL is told" "$(ctl info "$SOURCE" --url example.com 2>&1)" \
		"^sandboxctl: $PROVIDER: 'example.com' is no base URL, as in https://HOST/PATH\$"
else
	like "one without an address of an API takes no --url" "$(ctl info "$SOURCE" --url http://127.0.0.1:1 2>&1)" \
		"^sandboxctl: $PROVIDER: there is no URL to choose; leave it out"
fi
ok "the provider may have its colon" sh -c '"$1" list "$2:" | grep -q "^$3 "' - "$SANDBOXCTL" "$PROVIDER" "$SOURCE"
# Nobody's real account is asked: the keys of others, as `env -u NAME` forgets them.
keys_of_others() {
	env | sed -En 's/^((E2B|DAYTONA|MODAL|RUNLOOP|LANGSMITH|LANGCHAIN|SANDBOX)_[A-Z0-9_]*)=.*/-u \1/p' | grep -iv "^-u ${PROVIDER}_"
}
# shellcheck disable=SC2046
env $(keys_of_others) HOME="$SCRATCH/home" "$SANDBOXCTL" list >all 2>&1
like "and among all" "$(cat all)" "^$SOURCE  *running "
is "which are those that have a key here" "$(sed '1d; s/:.*//' all | sort -u | grep -vx -e local -e "$PROVIDER")" ""
is "and the same as JSON" "$(ctl list "$PROVIDER" --json | python3 -c '
import json, sys
print(" ".join("%(provider)s:%(id)s %(state)s" % s for s in json.load(sys.stdin)))')" "$SOURCE running"
# Answers of a vendor that speaks JSON, with one sandbox that cannot be read before one that can.
of_two() { # OBJECT
	case $PROVIDER in
	e2b) echo "[{\"sandboxID\":7},$1]" ;;
	daytona) echo "{\"items\":[{\"id\":7},$1]}" ;;
	langsmith) echo "{\"sandboxes\":[{\"id\":7},$1]}" ;;
	runloop) echo "{\"devboxes\":[{\"id\":7},$1]}" ;;
	esac
}
readable='{"sandboxID":"isb1","id":"isb1","status":"running","state":"running"}'
if [ -n "$(of_two '')" ]; then
	vendor_request POST "$ADMIN/faults" \
		"{\"match\":{\"kind\":\"/./\"},\"action\":{\"type\":\"status\",\"status\":200,\"body\":$(of_two "$readable")}}" >/dev/null
	ctl list "$PROVIDER" >out 2>err
	is "a sandbox that cannot be read makes it fail" $? 1
	like "is told" "$(cat err)" "^sandboxctl: $PROVIDER: .*; so 1 in the list cannot be shown\$"
	is "and hides no other" "$(sed 1d out | cut -d' ' -f1)" "$PROVIDER:isb1"
fi
ok "what goes to no terminal has no colour" sh -c '! "$1" list "$2" | grep -q "$(printf "\033")"' - "$SANDBOXCTL" "$PROVIDER"

if command -v script >/dev/null; then
	on_terminal() { # VARIABLE=VALUE...
		env -u NO_COLOR TERM=xterm "$@" script -qec "$SANDBOXCTL list $PROVIDER" /dev/null | sed -n '1s/SANDBOX.*//p' | od -An -c
	}
	is "on a terminal its heads are bold" "$(on_terminal)" "$(printf '\033[1m\n' | od -An -c)"
	is "but not with NO_COLOR" "$(on_terminal NO_COLOR=1)" "$(printf '\n' | od -An -c)"
fi

done_testing
