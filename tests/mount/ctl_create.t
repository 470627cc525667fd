#!/bin/sh
# sandboxctl create: what it prints, what it refuses, its setup script. WHOLE=yes: all of it, on every vendor.
# shellcheck disable=SC2016
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
# shellcheck source=tests/support/tap_counters.sh
. "$TOP/tests/support/tap_counters.sh"
needs_mount
needs python3 git

# What each vendor takes, as its documentation has it.
takes_env='' blocks_network=''
case $PROVIDER in
e2b | daytona | modal) takes_env=1 blocks_network=1 ;;
langsmith | runloop) takes_env=1 ;;
esac

count() {
	ctl list "$PROVIDER" --json | field_of
}

nothing_left() {
	[ "$(count)" -eq 0 ]
}

[ "$PROVIDER" = local ] || vendor_start

quickstart() {
	PATH=$(dirname "$SANDBOXCTL"):$PATH deadline "$PATIENCE" "$TOP/tools/examples/$PROVIDER.sh" >said 2>&1
	is "the example works" "$? $(grep -c '"exit_code": *0' said)" "0 1"
}

# As people write them, but for the repository's host: what the script leaves in the home holds
# for every command that follows.
script_of_people() {
	cat >setup <<END
#!/bin/bash
set -e
git clone http://x-access-token:\${GITHUB_TOKEN}@127.0.0.1:$(cat port)/repo.git \$HOME/workspace
cd \$HOME/workspace
END
	cat >>setup <<'END'
cat >> ~/.bashrc <<'EOF'
export GITHUB_TOKEN="${GITHUB_TOKEN}"
cd $HOME/workspace
EOF
source ~/.bashrc
for USER in a b; do echo $USER; done
END
}

# Served by git itself over HTTP, to who knows the token: a sandbox reaches no file of this machine.
serve_repository() {
	git init -q -b main work && cd work || exit 1
	git config user.email a@example.com && git config user.name a
	echo one >file && git add file && git commit -qm one && git tag first
	echo two >file && git commit -qam two && cd ..
	git clone -q --bare work repo.git && git -C repo.git update-server-info
	printf 't0ken\n' >token && chmod 600 token
	python3 "$TOP/tests/mount/git_server.py" . token >port &
	tap_helpers="$tap_helpers $!"
	wait_until "$PATIENCE" test -s port
	url=http://127.0.0.1:$(cat port)/repo.git
}
serve_repository

# of_people NAME SOURCE: what the script has printed to `said`, and what a command through the
# mount `dir` of it prints then.
of_people() {
	is "$1: the clone is told without the token" \
		"$(grep -c t0ken said) $(grep -c "^Cloning into '.*/workspace'" said)" "0 1"
	ok "$1: whose arguments have the token, as asked" rm token.seen
	is "$1: a name that it gives a value is its own" "$(grep -x '[ab]' said)" "a
b"
	is "$1: what it put into ~/.bashrc holds" \
		"$(ran 'echo $GITHUB_TOKEN; pwd; cat file')" "t0ken
$(ctl exec --shell sh "$2" 'cd; pwd' </dev/null)/workspace
two"
}

# ran COMMAND: its output, through the mount `dir`.
ran() {
	printf '%s\n' "$1" >dir/.sandbox/exec
	field_of output <dir/.sandbox/exec
}

if [ "$PROVIDER" = aio ]; then
	# There is one, and it is found.
	SOURCE=$(ctl create aio)
	like "the one that is there is told" "$SOURCE" '^aio:'
	echo 'exit 3' >setup
	says "a setup script that fails leaves it alone" 1 "sandboxctl: setup script setup: exit status 3" \
		ctl create aio --setup setup
	says "so it is still there" 0 "hello" ctl exec "$SOURCE" 'echo hello' </dev/null
	echo 'echo "export TOKEN=$TOKEN" >>~/.bashrc' >setup
	TOKEN=ghp_1234 ctl create aio --setup setup >/dev/null 2>&1
	says "what a script put into ~/.bashrc holds for commands" 0 ghp_1234 \
		ctl exec "$SOURCE" '[[ $TOKEN ]] && echo $TOKEN' </dev/null
	like "one that does not answer is not told" \
		"$(env SANDBOX_HOST=127.0.0.1 SANDBOX_PORT=1 "$SANDBOXCTL" create aio 2>&1)" \
		"^sandboxctl: aio:127.0.0.1_1: is its container running, and is this its port\\? GET .*: Failed to connect"
	is "a session is a directory of its own" "$(ctl create aio --session chat_1 | sed 's/.*://')" chat_1
	says "and a name" 2 "sandboxctl: create: option '--session=a/b': a name without '/', as in chat_123" \
		ctl create aio --session a/b
	home=$(ctl exec "$SOURCE" 'cd && pwd' </dev/null)
	mkdir one two
	for dir in one two; do
		deadline "$PATIENCE" "$SANDBOXFS" "$SOURCE:$home/chats/$dir" "$dir" >said 2>&1
		is "a workspace that is missing is made by its mount" $? 0
		echo $dir >$dir/file
	done
	is "several are mounted at once" "$(cat one/file two/file)" "one
two"
	tap_umount one
	tap_umount two
	is "each is a directory of the sandbox" \
		"$(ctl exec "$SOURCE" 'cat ~/chats/one/file ~/chats/two/file' </dev/null)" "one
two"
	quickstart
	script_of_people
	GITHUB_TOKEN=t0ken ctl create aio --setup setup >said 2>&1
	mkdir dir
	deadline "$PATIENCE" "$SANDBOXFS" aio: dir 2>&1
	of_people "a script as people write them" aio:
	name=$(ctl create aio --session cloned --git "$url" --git-token-file token 2>said)
	is "a repository is cloned into a session" "$(ctl exec "$name" 'cat file' </dev/null)" two
	fails "by a token that is no argument of any process" test -e token.seen
	tap_umount dir
	done_testing
fi

# ---- Wrong words ---------------------------------------------------------------------------------

says "no provider" 2 "sandboxctl: create: the provider is missing, as in sandboxctl create local" ctl create
says "an id where a new one is to be made" 1 "sandboxctl: '$PROVIDER:x': a provider alone, as in $PROVIDER" \
	ctl create "$PROVIDER:x"
says "no size" 2 \
	"sandboxctl: create: option '--memory=much': SIZE is a number with K, M or G behind it, as in --memory=512M" \
	ctl create "$PROVIDER" --memory much
says "no label" 2 "sandboxctl: create: option '--label=red': use --label=KEY=VALUE" \
	ctl create "$PROVIDER" --label red
says "a variable that is not set here" 2 \
	"sandboxctl: create: option '--env=NOT_SET': that is not set here; give it a value, as in --env=NAME=VALUE" \
	ctl create "$PROVIDER" --env NOT_SET
says "a file of variables that is not there" 2 \
	"sandboxctl: create: --env-file nowhere: no such file or directory" ctl create "$PROVIDER" --env-file nowhere
says "a setup script that is not there" 1 "sandboxctl: setup script nowhere: no such file or directory" \
	ctl create "$PROVIDER" --setup nowhere
case $PROVIDER in
local | e2b) says "an option of a vendor's that is not this one's" 1 \
	"sandboxctl: $PROVIDER: a new sandbox cannot be given '--delete-after='; leave it out" \
	ctl create "$PROVIDER" --delete-after 5 ;;
runloop) says "options that belong together" 1 \
	"sandboxctl: runloop: a devbox of another size needs --cpus= and --memory= together" \
	ctl create runloop --cpus 2 ;;
daytona) says "options that belong together" 1 \
	"sandboxctl: daytona: a snapshot says itself what it needs; --cpus=, --memory= and --disk= go with --image=NAME" \
	ctl create daytona --cpus 2 ;;
esac
[ -n "$blocks_network" ] || [ "$PROVIDER" = local ] || says "a network that cannot be blocked" 1 \
	"sandboxctl: $PROVIDER: a new sandbox cannot be given '--block-network'; leave it out" \
	ctl create "$PROVIDER" --block-network
[ -n "$blocks_network" ] || says "a network that cannot have a list" 1 \
	"sandboxctl: $PROVIDER: a new sandbox cannot be given '--allow='; leave it out" \
	ctl create "$PROVIDER" --allow pypi.org
says "what is no host" 2 "sandboxctl: create: option '--allow=https://pypi.org': use a host or addresses, as in \
--allow=pypi.org, --allow=*.npmjs.org or --allow=10.0.0.0/8" ctl create "$PROVIDER" --allow https://pypi.org
is "nothing was made" "$(count)" 0

# ---- A new one -----------------------------------------------------------------------------------

name=$(ctl create "$PROVIDER")
like "its name is a source" "$name" "^$PROVIDER:[A-Za-z0-9_-]+\$"
is "the name alone is printed" "$(printf '%s\n' "$name" | wc -l)" 1
is "it is there" "$(ctl list "$PROVIDER" | sed 1d | cut -d' ' -f1)" "$name"
is "and its programs run" "$(ctl exec "$name" 'echo hello' </dev/null)" hello
ctl delete "$name"
is "as JSON" "$(ctl create "$PROVIDER" --json | field_of provider)" "$PROVIDER"
ctl delete "$(ctl list "$PROVIDER" | sed 1d | cut -d' ' -f1)"
fails "one whose name cannot be told" sh -c '"$1" create "$2" >/dev/full' - "$SANDBOXCTL" "$PROVIDER"
is "is not left behind" "$(count)" 0
ctl create "$PROVIDER" >&- 2>err
is "nor is one where standard output is closed" "$? $(count)" "1 0"
like "the line says why" "$(cat err)" '^sandboxctl: standard output: '
fails "nor one that is told as JSON" sh -c '"$1" create "$2" --json >&-' - "$SANDBOXCTL" "$PROVIDER"
is "is not left behind either" "$(count)" 0

# What a mount makes is told on the other stream then.
mkdir made
"$SANDBOXFS" -o keep "$PROVIDER:" "$SCRATCH/made" >/dev/full 2>err
like "one that a mount makes is told all the same" "$(cat err)" "^sandboxfs: made $PROVIDER:[A-Za-z0-9_-]+\$"
ok "it is mounted" fusermount3 -u "$SCRATCH/made"
ok "and deleted by that name" wait_until "$PATIENCE" ctl delete "$(sed "s/.* made //" err)"

# ---- An answer that cannot be read -----------------------------------------------------------------

made_so=
case $PROVIDER in
e2b) made_so=/sandboxes ;;
daytona) made_so=/sandbox ;;
runloop) made_so=/devboxes ;;
langsmith) made_so=/boxes ;;
modal) made_so=SandboxCreateV2 ;;
esac

# create_cut BYTES: a sandbox is made, and of the answers that say so only so much comes.
create_cut() {
	vendor_request POST "$ADMIN/faults" \
		"{\"match\":{\"path\":\"$made_so\$\",\"times\":0},\"action\":{\"type\":\"truncate\",\"bytes\":$1}}" >/dev/null
	ctl create "$PROVIDER" >said 2>err
	code=$?
	vendor_request DELETE "$ADMIN/faults" >/dev/null
}

if [ -n "$made_so" ]; then
	create_cut 5
	is "of an answer without an id nothing is printed" "$code $(cat said)" "1 "
	is "what was made is found by its label and deleted" "$(count)" 0
	for more in 30 60 90 120; do
		create_cut $more
		is "an answer of $more bytes leaves nothing behind" "$(cat said)$(count)" 0
	done
	[ "$PROVIDER" = modal ] ||
		is "one that has the id is deleted without a word of it" "$(grep -c "sandboxctl list" err)" 0
fi

if [ -n "$takes_env" ]; then
	printf '# a comment\n\nFROM_FILE=of a file\nFROM_HERE\n' >variables
	name=$(FROM_HERE='of here' ctl create "$PROVIDER" -e GIVEN=1 --env-file variables -l team=red -l kind=test)
	is "its programs have what was given" \
		"$(ctl exec "$name" 'echo "$GIVEN, $FROM_FILE, $FROM_HERE"' </dev/null)" "1, of a file, of here"
	is "it is found by its label" "$(ctl list "$PROVIDER" --label team=red | sed 1d | cut -d' ' -f1)" "$name"
	is "by its key" "$(ctl list "$PROVIDER" --label team --label kind=test | sed 1d | cut -d' ' -f1)" "$name"
	says "and by no other" 0 "[]" ctl list "$PROVIDER" --json --label team=blue
	ctl delete "$name"
	name=$(ctl create "$PROVIDER" --label 'who=André €')
	is "a label need not be ASCII" "$(ctl list "$PROVIDER" --label 'who=André €' | sed 1d | cut -d' ' -f1)" "$name"
	ctl delete "$name"
fi
case $PROVIDER in
modal)
	name=$(ctl create modal --app another.app --name same)
	name2=$(ctl create modal --name same)
	fails "a name is unique in its app" ctl create modal --name same
	is "it is looked up in the app that is named" "modal:$(ctl info modal:same --app another.app --json | field_of id)" "$name"
	is "else in ours" "modal:$(ctl info modal:same --json | field_of id)" "$name2"
	fails "and in no other" ctl info modal:same --app nowhere
	is "the list has those of all apps" "$(count)" 2
	ctl delete "$name"
	ctl delete "$name2"
	;;
daytona)
	name=$(ctl create daytona --language typescript --archive-after 3600)
	is "the language of a sandbox is a label" \
		"$(ctl list daytona --label code-toolbox-language=typescript | sed 1d | cut -d' ' -f1)" "$name"
	ctl delete "$name"
	says "a language that the vendor does not know" 1 \
		"sandboxctl: daytona: '--language=cobol': use python, typescript or javascript" \
		ctl create daytona --language cobol
	;;
e2b)
	name=$(E2B_TIMEOUT=1234 ctl create e2b)
	is "E2B_TIMEOUT is how long a new sandbox lives" \
		"$(ctl info "$name" --json | python3 -c 'import json, sys; print(1100 < json.load(sys.stdin)["expires_s"] < 1235)')" True
	ctl delete "$name"
	says "E2B_TIMEOUT is a number of seconds" 1 \
		"sandboxctl: e2b: E2B_TIMEOUT 'soon': a number of seconds, as in 300" env E2B_TIMEOUT=soon "$SANDBOXCTL" create e2b
	;;
langsmith)
	like "a sandbox that is not ready in time" "$(ctl create langsmith --ready-timeout 0.001 2>&1)" \
		'^sandboxctl: .*langsmith:.*: waiting until it is ready: .*'
	wait_until "$PATIENCE" nothing_left
	is "is deleted again" "$(count)" 0
	;;
*)
	says "an app where there is none" 1 \
		"sandboxctl: $PROVIDER: a new sandbox cannot be given '--app='; leave it out" \
		ctl create "$PROVIDER" --app x
	;;
esac
if [ -n "$blocks_network" ]; then
	name=$(ctl create "$PROVIDER" --block-network)
	is "its network is blocked" "$(vendor_request GET "$ADMIN/network/${name#*:}" | field_of blocked)" true
	ctl delete "$name"
	name=$(ctl create "$PROVIDER" --allow PyPI.org --allow 10.0.0.0/8 --allow '*.npmjs.org' --allow 8.8.8.8)
	is "what it may reach is allowed" \
		"$(vendor_request GET "$ADMIN/network/${name#*:}" | field_of allowed | tr ' ' '\n' | sort | tr '\n' ' ')" \
		"$(printf '*.npmjs.org\n10.0.0.0/8\n8.8.8.8/32\npypi.org\n' | sort | tr '\n' ' ')"
	is "and nothing else" "$(vendor_request GET "$ADMIN/network/${name#*:}" | field_of blocked)" true
	ctl delete "$name"
	name=$(ctl create "$PROVIDER")
	is "and else it is not" "$(vendor_request GET "$ADMIN/network/${name#*:}" | field_of blocked)" false
	ctl delete "$name"
fi

# ---- A repository --------------------------------------------------------------------------------

says "a token in the URL" 1 "sandboxctl: --git: a name or password in the URL would stand in lists of processes \
and in the clone; leave it out and give --git-token-file" ctl create "$PROVIDER" --git "https://x:y@example.com/r.git"
name=$(ctl create "$PROVIDER" --workdir code --git "$url#first" --git-token-file token 2>said)
is "a repository is cloned into the working directory, at a tag" \
	"$(ctl exec "$name" 'cat file; git remote get-url origin' </dev/null)" "one
$url"
is "the token is nowhere in it" "$(ctl exec "$name" 'grep -r t0ken ~ | wc -l' </dev/null)" 0
fails "nor was it an argument of any process" test -e token.seen
ctl delete "$name"
if [ "$PROVIDER" = local ]; then
	name=$(ctl create local --git "$url" --git-token-file token 2>said)
	is "else into one of its name" "$(ctl exec "$name" 'cat repo/file' </dev/null)" two
	ctl delete "$name"
	like "without the token it fails" "$(ctl create local --git "$url" 2>&1)" 'sandboxctl: git clone: exit status 128'
	is "and nothing is left" "$(count)" 0
fi

# ---- The setup script ----------------------------------------------------------------------------

cat >setup <<'END'
echo "value: $VALUE, ${VALUE}, '$VALUE', $NOT_SET, $$VALUE"
echo "to standard error" >&2
printf '%s' "$0" >name
stat -c %a "$0" >mode
printf done >result
END
printf 'printf %%s "$VALUE $BESIDE" >values\n' >>setup
echo 'export BESIDE="beside it" # and VALUE is of here' >.env
echo 'VALUE=unused' >>.env
name=$(VALUE='a secret' ctl create "$PROVIDER" --setup setup 2>said)
is "what it prints is shown without the values of here" "$(sort said)" "to standard error
value: ***, ***, '***', , "
is "which it has" "$(ctl exec "$name" 'cat values' </dev/null)" "a secret beside it"
like "a quote that is not closed in the file beside it is told" \
	"$(printf 'A="open\n' >.env; ctl create "$PROVIDER" --setup setup 2>&1)" \
	'^sandboxctl: \.env:1: the " is not closed$'
rm .env
is "it ran in the working directory" "$(ctl exec "$name" 'cat result' </dev/null)" "done"
is "its text was for its user alone" "$(ctl exec "$name" 'cat mode' </dev/null)" 600
is "and is gone" "$(ctl exec "$name" 'test -e "$(cat name)" && echo still there' </dev/null)" ""
ctl delete "$name"

echo 'echo before; exit 3' >setup
says "one that fails is told, with what it printed" 1 "before
sandboxctl: setup script setup: exit status 3; the sandbox was deleted (--keep-failed keeps it)" \
	ctl create "$PROVIDER" --setup setup
is "and its sandbox is deleted" "$(count)" 0
like "it is kept where that is asked for" "$(ctl create "$PROVIDER" --setup setup --keep-failed 2>&1 | tail -n 1)" \
	"^sandboxctl: setup script setup: exit status 3; $PROVIDER:[^ ]* is kept\$"
is "and is still there" "$(count)" 1
ctl delete "$(ctl list "$PROVIDER" --json | python3 -c 'import json, sys; print("'"$PROVIDER"':" + json.load(sys.stdin)[0]["id"])')"

# ---- From an image -------------------------------------------------------------------------------

if [ "$PROVIDER" != local ]; then
	name=$(ctl create "$PROVIDER" --image python:3.11-slim 2>said)
	is "a sandbox is made from an image" "$(cat said)${name%%:*}" "$PROVIDER"
	ctl delete "$name"
	name=$(python3 "$TOP/tests/mount/on_terminal.py" shown "$SANDBOXCTL" create "$PROVIDER" --image node:22)
	like "on a terminal the build is shown meanwhile" "$(tr '\r' '\n' <shown)" 'building the image, 0 s: [^ ]'
	ctl delete "$name"
	like "of an image and a template one is enough" \
		"$(ctl create "$PROVIDER" --image python:3.11-slim --template base 2>&1)" \
		"^sandboxctl: $PROVIDER: '--template=' and '--image=': one of them\$"
	fails "an image that is not there" sh -c '"$1" create "$2" --image no-such/does-not-exist 2>said' - "$SANDBOXCTL" "$PROVIDER"
	like "is told" "$(tail -n 1 said)" "^sandboxctl: $PROVIDER: the image no-such/does-not-exist cannot be built: ."
	like "with the log of the build" "$(sed '$d' said)" 'no-such/does-not-exist|uilding'
	is "and no sandbox is left" "$(count)" 0
fi
# builds_asked PATH: how often the vendor was asked to make something of an image.
builds_asked() {
	vendor_request GET "$ADMIN/counters" | python3 -c 'import json, sys
kinds = json.load(sys.stdin)["kinds"]
print(sum(n["requests"] for kind, n in kinds.items() if kind.startswith("POST ") and kind.endswith(sys.argv[1])))' "$1"
}
case $PROVIDER in
langsmith) builds=/snapshots ;;
runloop) builds=/blueprints ;;
e2b) builds=/v3/templates ;;
*) builds= ;;
esac
if [ -n "$builds" ]; then
	before=$(builds_asked $builds)
	ctl delete "$(ctl create "$PROVIDER" --image python:3.11-slim)"
	is "what was made of an image is used again" "$before $(builds_asked $builds)" "3 3"
fi
if [ "$PROVIDER" = e2b ]; then
	# Its maker ended before it began the build. The name is the one that image_name() makes.
	vendor_request POST "$E2B_API_URL/v3/templates" '{"name": "sandboxfs-begun-1-761a7807"}' >/dev/null
	ctl delete "$(ctl create e2b --image begun:1)"
	is "a build that nobody began is begun" "$? $(builds_asked $builds)" "0 4"
fi

# ---- One that is there already -------------------------------------------------------------------

if [ "$PROVIDER" = local ]; then
	says "sandboxes without labels are found by their names" 1 \
		"sandboxctl: local: sandboxes have no labels; local:NAME is made at its first use and then found" \
		ctl create local --reuse
else
	says "a sandbox is found by labels" 1 \
		"sandboxctl: reuse finds a sandbox by its labels: name one, as in label=thread_id=X" \
		ctl create "$PROVIDER" --reuse
	echo 'echo made' >setup
	askers=''
	for n in 1 2 3; do
		deadline "$PATIENCE" "$SANDBOXCTL" create "$PROVIDER" --reuse --label thread_id=one --setup setup >name.$n 2>said.$n &
		askers="$askers $!"
	done
	# shellcheck disable=SC2086
	wait $askers
	is "of three that ask at once one makes it" "$(cat said.1 said.2 said.3)" made
	is "and all have the same" "$(sort -u name.1 name.2 name.3 | wc -l) $(count)" "1 1"
	other=$(ctl create "$PROVIDER" --reuse --label thread_id=two 2>/dev/null)
	ok "another label is another sandbox" test "$other" != "$(cat name.1)"
	ctl delete "$other"
	mkdir dir
	deadline "$PATIENCE" "$SANDBOXFS" "$PROVIDER:" dir -o reuse,label=thread_id=one >said 2>&1
	is "a mount finds it" "$(sed -n "s,\([^ ]*\) $PWD/dir .*,\1,p" /proc/self/mounts)" "$(cat name.1)"
	tap_umount dir
	is "and leaves it" "$(count)" 1
	ctl delete "$(cat name.1)"
	deadline "$PATIENCE" "$SANDBOXFS" "$PROVIDER:" dir -o reuse,label=thread_id=one >said 2>&1
	like "or makes one" "$(cat said)" "^sandboxfs: made $PROVIDER:[^,]*\$"
	tap_umount dir
	is "which stays" "$(count)" 1
	ctl delete "$(ctl create "$PROVIDER" --reuse --label thread_id=one)"
	rmdir dir
fi

# ---- A working directory -------------------------------------------------------------------------

echo 'pwd >where' >setup
name=$(ctl create "$PROVIDER" --workdir work/deep --setup setup 2>said)
like "a working directory is in the name" "$name" "^$PROVIDER:[^:]*:work/deep\$"
like "it is made, and where the script runs" "$(ctl exec "$name" 'cat where' </dev/null)" "/work/deep\$"
ctl delete "$name"
like "one that cannot be made is told" "$(ctl create "$PROVIDER" --workdir /dev/null/work 2>&1)" \
	'^sandboxctl: working directory /dev/null/work: .*/dev/null.*Not a directory$'
is "and its sandbox is deleted" "$(count)" 0

# ---- The same of a mount that makes its sandbox --------------------------------------------------

mkdir dir
printf 'printf %%s "$VALUE" >result\n' >setup
VALUE=value deadline "$PATIENCE" "$SANDBOXFS" "$PROVIDER:" dir -o setup=setup >said 2>&1
is "a mount that makes its sandbox runs the script in it first" "$(cat dir/result)" value
like "and tells which one it made" "$(cat said)" "^sandboxfs: made $PROVIDER:"
tap_umount dir
ok "which goes with it" wait_until "$PATIENCE" nothing_left

if [ "$PROVIDER" = local ]; then
	begin_setup() {
		"$SANDBOXCTL" create local --setup setup >said 2>&1 &
		wait_until "$PATIENCE" grep -q ready said
	}
	echo 'echo ready; sleep 1000' >setup
	begin_setup
	kill -TERM $!
	wait $!
	is "a signal ends it" $? 143
	ok "and nothing is left behind" nothing_left
	begin_setup
	kill -KILL $!
	wait $!
	ok "nor when it was killed" wait_until "$PATIENCE" nothing_left
fi

quickstart
ok "and leaves nothing" wait_until "$PATIENCE" nothing_left

# ---- What no vendor has a part in ----------------------------------------------------------------

case ${WHOLE:-$PROVIDER} in
yes | local | e2b) ;;
*) done_testing ;;
esac

printf '#!/usr/bin/env perl\nprint "of perl, $NAME\\n"; print "@ARGV";' >setup
is "its first line names what runs it" "$(NAME=x ctl create "$PROVIDER" --setup setup --keep-failed 2>&1 >name)" "of perl, x"
ctl delete "$(cat name)"
printf '#! /bin/sh -e\nfalse\necho not reached\n' >setup
like "with a word of its own" "$(ctl create "$PROVIDER" --setup setup 2>&1)" \
	'^sandboxctl: setup script setup: exit status 1; '
printf '#!/no/such/program\n' >setup
like "which must be there" "$(ctl create "$PROVIDER" --setup setup 2>&1 | tail -n 1)" \
	'^sandboxctl: setup script setup: exit status 127; '
says "names that are asked for must be set" 1 \
	"sandboxctl: setup script setup: NOT_SET is to be replaced, but is set neither here nor in .env" \
	ctl create "$PROVIDER" --setup setup --setup-env NOT_SET

echo 'sleep 1000' >setup
like "one that takes too long is ended" "$(ctl create "$PROVIDER" --setup setup --setup-timeout 0.5 2>&1)" \
	"^sandboxctl: setup script setup: not done after 0.5 s; --setup-timeout, or -o setup_timeout=, gives it more; the"
is "and its sandbox is deleted as well" "$(count)" 0

{
	head -c 300000 /dev/zero | tr '\0' '#'
	printf '\necho it ran\n'
} >setup
says_name=$(ctl create "$PROVIDER" --setup setup 2>said)
is "one that is longer than an argument may be runs" "$(cat said)" "it ran"
ctl delete "$says_name"

printf '\377\n' >setup
says "one that is no text is refused" 1 "sandboxctl: setup script setup: is no text of UTF-8" \
	ctl create "$PROVIDER" --setup setup

script_of_people
GITHUB_TOKEN=t0ken deadline "$PATIENCE" "$SANDBOXFS" "$PROVIDER:" dir -o setup=setup >said 2>&1
name=$(sed -n "s/^sandboxfs: made \([^,]*\),.*/\1/p" said)
of_people "a script as people write them" "$name"
is "also without the mount" "$(ctl exec "$name" 'echo $GITHUB_TOKEN' </dev/null)" t0ken
is "info tells the shell that the manual page gives this provider" \
	"$(ctl info --inside "$name" | sed -n 's/^shell *//p')" \
	"$(awk -F '\t' -v p="$PROVIDER" '$1 == "provider" && $2 == p { print $10 }' "$TOP/build/man/facts")"
is "but not where sh is asked for" "$(ctl exec "$name" --shell sh 'echo "<$GITHUB_TOKEN>"' </dev/null)" "<>"
job=$(exec 3<>dir/.sandbox/spawn; echo 'echo $GITHUB_TOKEN; pwd' >&3; cat <&3)
ok "and for jobs" wait_until "$PATIENCE" grep -q 'workspace$' "dir/.sandbox/jobs/$job/output"
tap_umount dir
ok "and goes" wait_until "$PATIENCE" nothing_left
deadline "$PATIENCE" "$SANDBOXFS" "$PROVIDER:" dir -o exec_shell=sh >said 2>&1
is "commands of a mount may be for sh" "$(ran 'echo "${BASH_VERSION:-sh}"')" sh
tap_umount dir
ok "which ends like others" wait_until "$PATIENCE" nothing_left
echo 'echo before; exit 3' >setup
says "where the script fails nothing is mounted" 32 "before
sandboxfs: setup script setup: exit status 3; the sandbox was deleted (-o keep_failed keeps it)" \
	deadline "$PATIENCE" "$SANDBOXFS" "$PROVIDER:" dir -o setup=setup
is "and no sandbox is left" "$(count)" 0
echo 'pwd >where' >setup
deadline "$PATIENCE" "$SANDBOXFS" "$PROVIDER:" dir -o workdir=work,setup=setup >said 2>&1
like "a mount makes it, too, and shows it" "$(cat dir/where) $(pwd)" "/work "
like "as the mount table says" "$(grep -F " $PWD/dir " /proc/self/mounts)" "^$PROVIDER:[^: ]*:work "
tap_umount dir
ok "and its sandbox goes" wait_until "$PATIENCE" nothing_left
deadline "$PATIENCE" "$SANDBOXFS" "$PROVIDER::made/here" dir -o setup=setup >said 2>&1
like "a path that a new sandbox lacks is made as well" "$(cat dir/where) $(pwd)" "/made/here "
tap_umount dir
ok "and goes with its sandbox" wait_until "$PATIENCE" nothing_left
if [ "$PROVIDER" = e2b ]; then
	reset
	deadline "$PATIENCE" "$SANDBOXFS" "$PROVIDER::/usr/lib" dir >said 2>&1
	at_most "the mount of one that is there asks for nothing else" 8
	tap_umount dir
	ok "and goes with its sandbox, too" wait_until "$PATIENCE" nothing_left
fi
says "a source with a path takes none" 1 \
	"sandboxfs: option 'workdir=': '$PROVIDER::/tmp' has a path already; leave one of the two out" \
	"$SANDBOXFS" "$PROVIDER::/tmp" dir -o workdir=work
says "a sandbox that exists already takes no script" 1 \
	"sandboxfs: option 'setup=': $PROVIDER:there exists already; leave one of the two out" \
	"$SANDBOXFS" "$PROVIDER:there" dir -o setup=setup
done_testing
