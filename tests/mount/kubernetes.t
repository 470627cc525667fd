#!/bin/sh
# Pods that kubectl reaches: contexts and containers, streams that break, a pod that is evicted, removed and replaced; one
# that sandboxfs makes; and every wrong way.
# shellcheck disable=SC2016
PROVIDER=kubernetes
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs python3
kubernetes_start
SANDBOXCTL=$(dirname "$SANDBOXFS")/sandboxctl

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
}

a_user() {
	mount_sandbox "user$MOUNT_AS"
	works
	unmount
}
for_each_user a_user
if [ "$KUBECTL_EXEC" = ours ]; then
	skip "kubectl's own exec" "it is older than 1.30"
else
	ok "by kubectl's own exec" grep -q '^GET .*/exec?command=' "$SCRATCH/kubectl/log"
fi
PATH=${SANDBOXFS%/*}:$PATH deadline "$PATIENCE" "$TOP/tools/examples/kubernetes.sh" "$SANDBOX" >said 2>&1
is "the example works" "$? $(grep -c '"exit_code": *0' said)" "0 1"

# ---- Names -----------------------------------------------------------------------------------------

tap_prefix="names: "
mkdir one two far
pod web-0 containers="{\"one\": $(container "$PWD/one"), \"two\": $(container "$PWD/two")}"
pod far-0 context='"other@far"' containers="{\"main\": $(container "$PWD/far")}"
where() { # SOURCE
	ctl exec "$1" pwd 2>&1
}
is "the first container, of the context that is in use" "$(where kubernetes:demos/web-0)" "$PWD/one"
is "another container" "$(where kubernetes:demos/web-0/two)" "$PWD/two"
is "another directory" "$(where "kubernetes:demos/web-0/two:$PWD/far")" "$PWD/far"
is "another context" "$(where kubernetes:other@far/demos/far-0)" "$PWD/far"
is "all four" "$(where kubernetes:kind/demos/web-0/two)" "$PWD/two"
AWS=arn:aws:eks:eu-west-1:123456789012:cluster/blue
pod aws-0 context="\"$AWS\"" containers="{\"main\": $(container "$PWD/far"), \"two\": $(container "$PWD/two")}"
is "a context of AWS, which has colons and a slash" "$(where "kubernetes:$AWS/demos/aws-0")" "$PWD/far"
is "with all else" "$(where "kubernetes:$AWS/demos/aws-0/two@aws-0-1:$PWD/far")" "$PWD/far"
is "its UID, too" "$(where kubernetes:demos/web-0/two@web-0-1)" "$PWD/two"
pod web-0 default='"two"'
is "the container that the pod says" "$(where kubernetes:demos/web-0)" "$PWD/two"
completes "pods complete, of the context that is in use" "kubernetes:demos/web-0 " sandboxfs kubernetes:demos/w
pod home-0 namespace='"default"' containers="{\"main\": $(container "$PWD/one")}"
mkdir partial
cat >partial/kubectl <<END
#!/bin/sh
case " \$* " in *" --all-namespaces "*) exit 1 ;; esac
exec $(command -v kubectl) "\$@"
END
chmod 755 partial/kubectl
PATH_WAS=$PATH PATH=$PWD/partial:$PATH
completes "who may not see all sees some" "kubernetes:default/home-0 " sandboxfs kubernetes:
PATH=$PATH_WAS
mkdir silent
cat >silent/kubectl <<'END'
#!/bin/sh
echo $$ >>"${0%/*}/pids"
exec sleep 100000
END
chmod 755 silent/kubectl
given_up() {
	PATH=$PWD/silent:$PATH deadline "$PATIENCE" "$SANDBOXCTL" --complete sandboxctl info kubernetes: && [ -s silent/pids ]
}
ok "a cluster that is silent completes nothing" wait_until "$PATIENCE" given_up
ended_all() {
	while read -r pid; do
		ended "$pid" || return 1
	done <silent/pids
}
ok "and its kubectl is ended" wait_until "$PATIENCE" ended_all
is "the ID has the UID" "$(ctl info kubernetes:demos/web-0 --json | field_of id)" demos/web-0@web-0-1

# ---- What may happen to it --------------------------------------------------------------------------

tap_prefix="cut: "
mount_sandbox cut
expect_log 'the sandbox (does not tell|tells) of its changes|what is known is shown until|: kubernetes:demos/cut'
# Those of this script.
streams() {
	pgrep -P "$DAEMON" -f 'kubectl exec'
}
cut_off() {
	cut_pids=$(streams)
	# shellcheck disable=SC2086 # words
	[ -n "$cut_pids" ] && kill -KILL $cut_pids
}
i=0
while [ $i -lt 20 ]; do
	echo "$i" >"$MNT/file.$i" || echo "file.$i" >>failed
	[ $i -ne 10 ] || wait_until "$PATIENCE" cut_off || echo "cut $i" >>failed
	i=$((i + 1))
done
settle
is "no file failed" "$(cat failed 2>/dev/null)" ""
is "all are there" "$(cat "$STORE"/file.* | sort -n | tr '\n' ' ')" "$(seq 0 19 | tr '\n' ' ')"
is "a command runs" "$(run 'echo $((6 * 7))')" 42

tap_prefix="replaced: "
mkdir other
pod "cut.$MOUNT_AS" uid='"other-1"' containers="{\"main\": $(container "$PWD/other")}"
cut_off
fails "a pod that was replaced is gone" deadline "$PATIENCE" sh -c 'echo more >"$1/after" && echo | dd of="$1/.sandbox/sync" conv=notrunc status=none' - "$MNT"
is "and nothing reaches the other" "$(ls -A other)" ""
expect_log 'is gone|not everything could be sent'
tap_umount "$MNT"

# ---- Made by sandboxfs -------------------------------------------------------------------------------

# The rest is in kubernetes_made.t.
tap_prefix="made: "
pod web-0 denies='""'
listed() {
	ctl list kubernetes --json | python3 -c 'import json, sys
for box in json.load(sys.stdin): print(box["id"], box["state"], box["labels"]["thread"])'
}
name=$(ctl create kubernetes --image busybox --app demos --env A=b --label thread=7 --workdir work)
like "one is made, and its name is a source" "$name" '^kubernetes:kind/demos/sandboxfs-[0-9a-f]+:work$'
id=${name#kubernetes:}
id=${id%:work}
is "which list has" "$(listed)" "$id running 7"
is "its programs have its variables" "$(ctl exec "$name" 'echo "$A"; basename "$PWD"')" "b
work"
ok "and is deleted" ctl delete "$name"
like "one whose image nobody has" "$(ctl create kubernetes --image nowhere/at-all 2>&1 | tr '\n' '|')" \
	'^sandboxctl: kubernetes: the new pod does not run: ErrImagePull: failed to pull .*not found\|$'
is "is deleted" "$(listed)" ""
says "what sandboxfs did not make is not" 1 \
	"sandboxctl: kubernetes:demos/web-0 was not made by sandboxfs; remove it with: kubectl delete pod --namespace=demos web-0" \
	ctl delete kubernetes:demos/web-0
mkdir chatty
printf '#!/bin/sh\nwhile echo complains >&2; do sleep 0.1; done\n' >chatty/kubectl
chmod 755 chatty/kubectl
like "a kubectl that only complains is given up" \
	"$(PATH=$PWD/chatty:$PATH ctl list --progress-timeout 2 kubernetes 2>&1)" \
	'^sandboxctl: kubernetes: (complains|no answer within 2 s)$'
like "no manifest on standard input is told" "$(ctl create kubernetes --template - 2>&1)" \
	'^sandboxctl: kubernetes: error: no objects passed to create; --template takes a file with a manifest$'
cluster denies='"login"'
like "who is not logged in is told so" "$(ctl list kubernetes 2>&1)" '^sandboxctl: kubernetes: .*\(Unauthorized\); log in as for kubectl$'
ok "which fails no list of all" ctl list
cluster denies='""'

# ---- Wrong ways ------------------------------------------------------------------------------------

tap_prefix="wrong: "
mkdir wrong
refuses() { # NAME PATTERN SOURCE
	says_line=$("$SANDBOXFS" -f "$3" wrong 2>&1)
	like "$1" "$says_line" "^sandboxfs: $2"
	is "$1: one line" "$(printf '%s\n' "$says_line" | wc -l)" 1
}
refuses "no such pod" 'kubernetes:demos/none: Error from server \(NotFound\): pods "none" not found$' kubernetes:demos/none
refuses "no such container" "kubernetes:demos/web-0/three: the pod has no container 'three'; it has: one two$" kubernetes:demos/web-0/three
refuses "no such context" 'kubernetes:no/demos/web-0/one: error: context "no" does not exist; see: kubectl config get-contexts$' kubernetes:no/demos/web-0/one
refuses "another UID" "kubernetes:demos/web-0@2: the pod of this name is another one by now$" kubernetes:demos/web-0@2
refuses "no such directory" "/no/where: no such file or directory" kubernetes:demos/web-0:/no/where
refuses "no namespace" "'kubernetes:web-0': a source is kubernetes:\[CONTEXT/\]NAMESPACE/POD" kubernetes:web-0
refuses "what would be an option" "'kubernetes:-v/web-0': a source is" kubernetes:-v/web-0
pod web-0 denies='"pods/exec"'
refuses "may not exec" 'kubernetes:demos/web-0: .*\(Forbidden\).*; a role is needed that may get pods and create pods/exec$' kubernetes:demos/web-0
pod web-0 denies='"pods"'
refuses "may not look" 'kubernetes:demos/web-0: .*\(Forbidden\).*; a role is needed' kubernetes:demos/web-0
pod web-0 denies='""' phase='"Failed"' reason='"Evicted"'
refuses "evicted" "kubernetes:demos/web-0 is Failed: Evicted; see: kubectl describe pod$" kubernetes:demos/web-0
is "which info says" "$(ctl info kubernetes:demos/web-0 --json | field_of state)" stopped
pod web-0 phase='"Running"' reason='""' containers="{\"two\": {\"dir\": \"$PWD\", \"shell\": false, \"runs\": true}}"
refuses "no shell" "kubernetes:demos/web-0: .*/bin/sh.*; its image has no /bin/sh, which is needed" kubernetes:demos/web-0
pod web-0 containers="{\"two\": {\"dir\": \"$PWD\", \"shell\": true, \"runs\": false}}"
refuses "a container that does not run" "kubernetes:demos/web-0: .*container not found \(\"two\"\); does the container run" kubernetes:demos/web-0
mkdir empty
like "no kubectl" "$(PATH=$PWD/empty "$SANDBOXFS" -f kubernetes:demos/web-0 wrong 2>&1)" \
	"^sandboxfs: kubernetes:demos/web-0: there is no program 'kubectl' here; install it"
kill "$KUBERNETES_SERVER"
wait_until "$PATIENCE" ended "$KUBERNETES_SERVER"
refuses "no cluster" "kubernetes:demos/web-0: The connection to the server .* was refused.*; see: kubectl config current-context$" kubernetes:demos/web-0
tap_prefix=

done_testing
