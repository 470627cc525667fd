#!/bin/sh
# sandboxctl doctor: what this machine has, and whether providers answer.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs node python3

# line CHECK: of its last run.
line() {
	tr -s ' ' <out | grep -E "^(ok|unused|warn|fail) $1 "
}

vendor_start
for variable in DAYTONA_API_KEY LANGSMITH_API_KEY LANGCHAIN_API_KEY MODAL_TOKEN_ID MODAL_TOKEN_SECRET RUNLOOP_API_KEY; do
	unset "$variable"
done
export HOME="$SCRATCH/home"

says "a word too many" 2 "sandboxctl: doctor: 'me': one word too many; see sandboxctl doctor --help" ctl doctor me

ctl doctor >out
is "with all that is needed nothing fails" $? 0
is "fuse" "$(line fuse)" "ok fuse /dev/fuse can be opened"
ok "the kernel is told" grep -q "$(uname -r)" out
is "a provider whose key it takes answers" "$(line e2b)" "ok e2b answers, and takes the key: E2B_API_KEY"
is "one without a key is not used" "$(line runloop)" "unused runloop no key; to use it set RUNLOOP_API_KEY"
is "namespaces" "$(line namespaces)" "ok namespaces can be made"
mkdir played none
printf '#!/bin/sh\necho podman version 9\n' >played/podman
printf '#!/bin/sh\necho slirp4netns version 9\n' >played/slirp4netns
chmod +x played/podman played/slirp4netns
ln -s /bin/sh none/sh
PATH=$PWD/played:$PWD/none "$SANDBOXCTL" doctor >out
if [ -r /dev/net/tun ] && [ -w /dev/net/tun ]; then
	is "what makes a network for local:" "$(line slirp4netns)" "ok slirp4netns slirp4netns version 9"
else
	like "what makes a network for local: lacks a device" "$(line slirp4netns)" \
		"^warn slirp4netns .*/dev/net/tun cannot be opened"
fi
is "what runs containers" "$(line containers)" "ok containers podman version 9"
PATH=$PWD/none "$SANDBOXCTL" doctor >out
like "or what lacks" "$(line containers)" "^unused containers neither docker nor podman; "
like "a program that is not there is not used" "$(line docker)" "^unused docker "
like "and the way out" "$(line slirp4netns)" "^unused slirp4netns not here; .*apt install slirp4netns"
ctl doctor >out
like "sandboxes of this processor can be mounted" "$(line helper)" "^ok helper .*: .*$(uname -m).*; others are for exec, push and pull"
is "local: is here" "$(line local)" "ok local is here"
fails "the key is not shown" grep -qF "$VENDOR_KEY" out
is "the same as JSON" "$(ctl doctor --json | python3 -c '
import json, sys
print([(c["check"], c["result"]) for c in json.load(sys.stdin) if c["check"] in ("fuse", "e2b", "runloop")])')" \
	"[('fuse', 'ok'), ('e2b', 'ok'), ('runloop', 'unused')]"

ctl doctor --variables >out
is "the variables that are read are those of the manual page" \
	"$(sed '1d; s/ .*//' out | sort)" "$(awk -F '\t' '$1 == "variable" { print $3 }' "$TOP/build/man/facts" | sort)"
is "and which of them are set" "$(tr -s ' ' <out | grep -Eo '^(E2B_API_KEY|RUNLOOP_API_KEY) [^ ]+ [^ ]+')" \
	"E2B_API_KEY set e2b
RUNLOOP_API_KEY - runloop"
fails "but no value" grep -qF "$VENDOR_KEY" out

(export E2B_API_KEY=e2b_0000000000000000000000000000000000000000 && ctl doctor >out)
is "a key that is refused fails it" $? 1
ok "and the line says so" sh -c 'echo "$1" | grep -q "^fail e2b .*key"' - "$(line e2b)"

mkdir -p "$HOME/.e2b"
(umask 077 && echo "{\"version\": 2, \"projectApiKey\": \"$VENDOR_KEY\"}" >"$HOME/.e2b/config.json")
(unset E2B_API_KEY && ctl doctor >out)
is "the key of a login is sent to no other server" "$?" 1
like "and the line says so" "$(line e2b)" "^fail e2b e2b: the login in $HOME/.e2b/config.json is for https://api.e2b.app .* for http://127.0.0.1:"
fails "the key of a login is not shown" grep -qF "$VENDOR_KEY" out
(umask 077 && mkdir -p "$XDG_CONFIG_HOME/daytona" && cat >"$XDG_CONFIG_HOME/daytona/config.json" <<END
{"activeProfile": "a", "profiles": [{"id": "a", "api": {"url": "http://127.0.0.1:9", "key": "dtn_1"}}]}
END
)
ctl doctor >out
like "a login is asked at its own server" "$(line daytona)" "^fail daytona .*127.0.0.1"
echo nonsense >"$XDG_CONFIG_HOME/daytona/config.json"
ctl doctor >out
is "a login's file that is broken is named" "$(line daytona)" \
	"fail daytona daytona: $XDG_CONFIG_HOME/daytona/config.json: it is no JSON object"
says "by a list as well" 1 "sandboxctl: daytona: $XDG_CONFIG_HOME/daytona/config.json: it is no JSON object" ctl list daytona
rm -r "$HOME/.e2b" "$XDG_CONFIG_HOME/daytona"

(export E2B_API_URL=http://127.0.0.1:9 && ctl doctor >out)
is "a provider that cannot be reached fails it" $? 1
ok "and the line says so" sh -c 'echo "$1" | grep -q "^fail e2b .*127.0.0.1"' - "$(line e2b)"

vendor_request POST "$ADMIN/faults" '{"match":{"kind":"/./","times":0},"action":{"type":"stall"}}' >/dev/null
ctl doctor >out
is "one that does not answer fails it in time" $? 1
ok "and the line says so" sh -c 'echo "$1" | grep -qE "^fail e2b (no answer within 15 s|.*no progress)"' - "$(line e2b)"

vendor_request DELETE "$ADMIN/faults" >/dev/null
(export XDG_STATE_HOME="$PWD/out" && ctl doctor >out)
ok "a journal that cannot be written fails" sh -c 'echo "$1" | grep -q "^fail journal $2/sandboxfs: you cannot write there"' \
	- "$(line journal)" "$PWD/out"
if [ "$(id -u)" -eq 0 ]; then
	mkdir -m 755 bin
	cp "$(command -v fusermount3)" bin/fusermount3
	chmod 755 bin/fusermount3
	PATH="$PWD/bin:$PATH" ctl doctor >out
	is "a fusermount3 that lost its rights is told, with a way out" "$(line fusermount3)" \
		"warn fusermount3 $PWD/bin/fusermount3 is not set-user-ID, so that only root can mount; as root: chmod u+s $PWD/bin/fusermount3"
	mkdir -m 777 dir
	as_user env PATH="$PWD/bin:$PATH" XDG_DATA_HOME="$SCRATCH/home" "$SANDBOXFS" local:x dir 2>err
	is "as it is to who mounts" "$? $(cat err)" \
		"1 sandboxfs: $PWD/bin/fusermount3 is not set-user-ID, so that only root can mount; as root: chmod u+s $PWD/bin/fusermount3"
fi
done_testing
