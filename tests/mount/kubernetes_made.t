#!/bin/sh
# Pods, and Sandboxes of agents.x-k8s.io, that sandboxfs makes of an image or a manifest, lists and deletes; those that cannot
# run; and every wrong way.
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

# What the cluster has of it.
made() { # EXPRESSION
	python3 -c '
import json, sys
cluster = json.load(open(sys.argv[1]))
pods = [pod["object"] for pod in cluster["pods"] if "object" in pod]
boxes = [box["object"] for box in cluster["objects"]]
pod, box = (pods + [None])[0], (boxes + [None])[0]
print(eval(sys.argv[2]))' "$KUBECTL_CLUSTER" "$1"
}
listed() {
	ctl list kubernetes --json | python3 -c 'import json, sys
for box in json.load(sys.stdin): print(box["id"], box["state"], *(box["labels"].get(name, "-") for name in ["thread", "sandboxfs-user"]))'
}
age_of_first() {
	python3 -c 'import json, sys; print(json.load(sys.stdin)[0].get("age_s", "none"))'
}
manifest() { # KIND SPEC
	printf 'apiVersion: %s\nkind: %s\nmetadata: {name: ours, labels: {team: red}}\nspec: {%s}\n' "$@"
}
me=$(id -un)
stays() { # the rules that hold for a pod and for a Sandbox
	name=$(SECRET='se cret"' ctl create kubernetes --image busybox --app demos --env SECRET --env TWO='2
3' --label thread=7 --memory 64M --cpus 0.5 --timeout 3600 --workdir work)
	id=${name#kubernetes:}
	id=${id%%:*}
	like "one is made, and its name is a source" "$name" '^kubernetes:kind/demos/sandboxfs-[0-9a-f]+:work$'
	is "which list has, with its labels" "$(listed)" "$id running 7 $me"
	like "and its age" "$(ctl list kubernetes --json | age_of_first)" '^[0-9]{1,3}$'
	is "in its namespace" "$(ctl list kubernetes --app default --json)" "[]"
	is "and --reuse finds" "$(ctl create kubernetes --image busybox --label thread=7 --reuse)" "kubernetes:$id"
	completes "it completes" "kubernetes:${id#kind/} " sandboxctl info "kubernetes:demos/sandboxfs-"
	is "its limits" "$(made 'pod["spec"]["containers"][0]["resources"]["limits"]')" "{'cpu': '500m', 'memory': '64Mi'}"
	is "it is never started again, and has no rights in the cluster" \
		"$(made 'pod["spec"]["restartPolicy"], pod["spec"]["automountServiceAccountToken"]')" "('Never', False)"
	like "its life has an end" "$(ctl info "kubernetes:$id" --json | field_of expires_s)" '^3[0-9]{3}$'
	like "which is not made longer" "$(ctl extend --timeout 7200 "$name" 2>&1)" "kubernetes:$id ends in 3[0-9]* s, as was said when it was made: .*"
	is "its programs have its variables" "$(ctl exec "$name" 'echo "$SECRET $TWO"; basename "$PWD"')" 'se cret" 2
3
work'
	is "its log has times" "$(ctl logs "$name")" "2026-11-27T20:15:42.123456789Z the pod starts
2026-11-27T20:15:42.123456789Z the pod works"
	like "another of its name is not made" "$(ctl create kubernetes --image busybox --app demos --name "${id##*/}" 2>&1)" \
		"^sandboxctl: kubernetes: .*\(AlreadyExists\).*already exists$"
	is "and leaves it alone" "$(listed)" "$id running 7 $me"
	ok "it is deleted by the ID that info shows" ctl delete "kubernetes:$(ctl info "kubernetes:$id" --json | field_of id)"
	ok "twice is as once" ctl delete "$name"
	says "nothing is left" 0 "[] []" made 'f"{pods} {boxes}"'
	first=$(ctl create kubernetes --image busybox --name again)
	mkdir -p "$SCRATCH/mnt.again"
	for source in "$first" kubernetes:default/again; do
		"$SANDBOXFS" "$source" "$SCRATCH/mnt.again"
		says "gc keeps it mounted as $source" 0 "kubernetes:kind/default/again: kept: mounted on $SCRATCH/mnt.again" \
			ctl gc --older-than 0 kubernetes
		tap_umount "$SCRATCH/mnt.again"
	done
	like "one of a name of its own has its UID" "$first" '^kubernetes:kind/default/again@'
	is "which is a source" "$(ctl exec "$first" 'echo here')" here
	ok "it is deleted" ctl delete "$first"
	second=$(ctl create kubernetes --image busybox --name again)
	ok "what was deleted is deleted" ctl delete "$first"
	is "and not what has its name now" "$(listed)" "kind/default/again running - $me"
	ok "which is deleted" ctl delete "$second"
}
fails_so() { # NAME TEXT IMAGE OPTION...
	so_name=$1 so_text=$2
	shift 2
	like "$so_name" "$(ctl create kubernetes --image "$@" 2>&1 | tr '\n' '|')" "^sandboxctl: kubernetes: $so_text\|$"
}

tap_prefix="pods: "
stays
fails_so "an image that nobody has" 'the new pod does not run: ErrImagePull: failed to pull .*not found' nowhere/at-all
fails_so "a secret that is missing" 'the new pod does not run: CreateContainerConfigError: secret "absent" not found' secret/one
fails_so "one that is evicted" 'the new pod does not run: Evicted: The node was low on resource: memory.' evicted
fails_so "an image without a shell" 'the new pod does not run: StartError: .*; its image has no /bin/sh, which is needed' scratch
fails_so "no node takes it" 'the new pod does not run after 0.5 s: Unschedulable: 0/3 nodes are available: .*' huge --ready-timeout 0.5
fails_so "a quota" '.*exceeded quota: compute, requested: pods=1, used: pods=4, limited: pods=4' busybox --app full
fails_so "no such namespace" '.*namespaces "nowhere" not found' busybox --app nowhere
long=$(printf '%0120d' 0)
fails_so "a name too long for an ID" "the name '0{60}\.\.\.' is too long" busybox --name "$long"
fails_so "a name that none may have" 'The .* "Foo" is invalid: metadata.name: .*' busybox --name Foo
says "nothing is left of them" 0 "[] []" made 'f"{pods} {boxes}"'
name=$(python3 "$TOP/tests/mount/on_terminal.py" shown "$SANDBOXCTL" create kubernetes --image busybox)
like "on a terminal its states are shown meanwhile" "$(tr '\r' '\n' <shown)" 'waiting for the sandbox, [0-9]+ s: ContainerCreating'
ctl delete "$name"
"$SANDBOXCTL" create kubernetes --image endless --ready-timeout 1000 >said 2>&1 &
endless=$!
is_there() {
	[ "$(made 'len(pods)')" = 1 ]
}
wait_until "$PATIENCE" is_there
kill "$endless"
wait_until "$PATIENCE" ended "$endless"
says "one whose making is interrupted is deleted" 0 "[] []" made 'f"{pods} {boxes}"'
mkdir -p "$SCRATCH/mnt.made"
ok "a mount makes one" "$SANDBOXFS" kubernetes: "$SCRATCH/mnt.made" -o image=busybox,name=mounted,env=A=b,app=demos
is "of its options" "$(listed) $(made 'pod["spec"]["containers"][0]["env"]')" \
	"kind/demos/mounted running - $me [{'name': 'A', 'value': 'b'}]"
says "gc keeps what is mounted" 0 "kubernetes:kind/demos/mounted: kept: mounted on $SCRATCH/mnt.made" ctl gc -l sandboxfs-user kubernetes
ok "and is unmounted" tap_umount "$SCRATCH/mnt.made"
no_mounted() {
	[ "$(made 'f"{pods} {boxes}"')" = "[] []" ]
}
ok "which deletes it" wait_until "$PATIENCE" no_mounted
manifest v1 Pod 'containers: [{name: one, image: busybox, env: [{name: A, value: "1"}, {name: B, value: "2"}]}, {name: two, image: busybox}]' >pod.yaml
name=$(ctl create kubernetes --template pod.yaml --env A=3 --label thread=8)
is "a manifest of a Pod makes one" "$(listed) $(made 'pod["metadata"]["labels"]["team"], boxes')" "${name#kubernetes:} running 8 $me ('red', [])"
is "whose variables are added to" "$(ctl exec "$name" 'echo "$A $B"')" "3 2"
ok "and is deleted" ctl delete "$name"
kubectl create -f pod.yaml --namespace demos >/dev/null
says "what sandboxfs did not make is not deleted" 1 \
	"sandboxctl: kubernetes:demos/ours was not made by sandboxfs; remove it with: kubectl delete pod --namespace=demos ours" ctl delete kubernetes:demos/ours
is "nor listed" "$(listed)" ""
kubernetes_change 'cluster["pods"][-1]["default"] = words[0]' "
one
a mark

"
like "nor one with an annotation of many lines" "$(ctl delete kubernetes:demos/ours 2>&1)" 'kubernetes:demos/ours was not made by sandboxfs'
kubernetes_change 'cluster["pods"][-1].update(default="", denies="get pods/log")'
like "why there is no log is said" "$(ctl logs kubernetes:demos/ours/one 2>&1)" 'cannot get resource "pods/log".*; a role is needed'
like "so it is there" "$(kubectl delete pod ours --namespace demos)" 'deleted$'
copy() {
	kubernetes_change 'cluster["pods"].append({**cluster["pods"][-1], "name": "copy", "uid": "copy-1", "object": {**cluster["pods"][-1]["object"],
	"metadata": {**cluster["pods"][-1]["object"]["metadata"], "name": "copy", "uid": "copy-1", "ownerReferences": [{"uid": "of-another"}]}}})'
}
name=$(ctl create kubernetes --image busybox)
copy
is "a pod of another owner is not listed, though it has the labels" "$(listed)" "${name#kubernetes:} running - $me"
like "nor deleted" "$(ctl delete kubernetes:default/copy 2>&1)" 'kubernetes:default/copy was not made by sandboxfs'
pod copy gone
forge() { # a line of a list, in the name of the pod that is there
	kubernetes_change 'cluster["pods"][0]["object"]["metadata"].setdefault("annotations", {})["sandboxfs-ends"] = words[0]' "$1"
}
forge "
default ${name##*/} Running   2020-01-01T00:00:00Z  {\"thread\":\"9\"}"
unread="sandboxctl: a line about a pod cannot be read; so 1 in the list cannot be shown"
says "a pod forges no line of a list" 1 "$unread" ctl list kubernetes --label thread
says "by which gc would delete another" 1 "$unread" ctl gc --label thread=9 kubernetes
forge ""
kubernetes_change 'cluster["pods"][0]["denies"] = "list pods"'
is "who may not list all namespaces lists the one in use" "$(listed)" "${name#kubernetes:} running - $me"
ok "as the other is" ctl delete "$name"
in_all() { # WORD: with all providers, whose programs may reach nothing
	like "a cluster $1 hides no other sandbox" "$(ctl list 2>&1)" "^SANDBOX  STATE  LIFE LEFT  AGE  LABELS\$"
	like "and is not used" "$(ctl doctor | grep ' kubernetes ')" "^unused  kubernetes   $2"
}
cluster denies='"login"'
in_all "without a login" 'kubernetes: .*Unauthorized\).*; log in as for kubectl$'
cluster denies='"all"'
in_all "that is another server" 'kubernetes: .*\(NotFound\).*'
cluster denies='"answers"'
in_all "that does not answer" 'kubernetes: no answer within 5 s$'
cluster denies='""'
cluster denies='"pods"'
like "who may not make any" "$(ctl create kubernetes --image busybox 2>&1)" \
	'cannot create resource "pods" .*; a role is needed that may create, get, list and delete pods$'
cluster denies='""'
says "an image is needed" 1 "sandboxctl: kubernetes: '--image=NAME' is missing, as in --image=debian:12" ctl create kubernetes
says "a pod that ends is not deleted" 1 "sandboxctl: kubernetes: a new sandbox cannot be given '--delete-after='; leave it out" \
	ctl create kubernetes --image busybox --delete-after 60
says "a manifest that is not there" 1 'sandboxctl: kubernetes: error: the path "none.yaml" does not exist' \
	ctl create kubernetes --template none.yaml
cat pod.yaml >many.yaml
{ echo ---; cat pod.yaml; } >>many.yaml
says "one object is made" 1 "sandboxctl: kubernetes: 'many.yaml' is to have one object, a Pod or a Sandbox of agents.x-k8s.io" \
	ctl create kubernetes --template many.yaml
manifest v1 Pod 'containers: []' >empty.yaml
says "with a container" 1 "sandboxctl: kubernetes: 'empty.yaml' has no container" ctl create kubernetes --template empty.yaml
manifest v1 Pod 'containers: [text]' >text.yaml
manifest v1 Pod 'containers: [{name: one, image: busybox, resources: [], env: {A: b}}]' >wrong.yaml
says "which is an object" 1 "sandboxctl: kubernetes: 'text.yaml' has no container" ctl create kubernetes --template text.yaml
name=$(ctl create kubernetes --template wrong.yaml --env A=3 --memory 64M)
is "limits and variables take the place of what is none" "$(made 'pod["spec"]["containers"][0]')" \
	"{'env': [{'name': 'A', 'value': '3'}], 'image': 'busybox', 'name': 'one', 'resources': {'limits': {'memory': '64Mi'}}}"
ok "that one is deleted" ctl delete "$name"
echo 'a: [' >broken.yaml
like "a manifest that is none" "$(ctl create kubernetes --template broken.yaml 2>&1)" '^sandboxctl: kubernetes: error: error parsing broken.yaml: .*'
manifest agents.x-k8s.io/v1beta1 Sandbox 'podTemplate: {spec: {containers: [{name: one, image: busybox}]}}' >sandbox.yaml
like "no Sandbox where there are none" "$(ctl create kubernetes --template sandbox.yaml 2>&1)" 'no matches for kind "Sandbox" in version "agents.x-k8s.io/v1beta1"$'

tap_prefix="sandboxes: "
cluster sandboxes='"v1beta1"'
stays
fails_so "a quota" '.*exceeded quota: compute, requested: pods=1, used: pods=4, limited: pods=4' busybox --app full
name=$(ctl create kubernetes --template sandbox.yaml --label thread=9 --timeout 60)
is "a manifest of one makes one" "$(listed) $(made 'box["spec"]["shutdownPolicy"], box["metadata"]["labels"]["team"]')" \
	"${name#kubernetes:} running 9 $me ('Delete', 'red')"
is "whose pod has no mark" "$(made '"sandboxfs-made" in box["metadata"]["labels"], "sandboxfs-made" in pod["metadata"]["labels"]')" "(True, False)"
ok "and is deleted" ctl delete "$name"
ctl create kubernetes --image busybox --name short >/dev/null
mkdir "$SCRATCH/mnt.short"
ok "one is mounted by a shorter name than the list has" "$SANDBOXFS" kubernetes:default/short "$SCRATCH/mnt.short"
says "gc keeps it" 0 "kubernetes:kind/default/short: kept: mounted on $SCRATCH/mnt.short" ctl gc -l sandboxfs-user kubernetes
ok "it is unmounted" tap_umount "$SCRATCH/mnt.short"
says "then gc deletes it" 0 "kubernetes:kind/default/short" ctl gc -l sandboxfs-user kubernetes
name=$(ctl create kubernetes --image busybox --name kept)
kubernetes_change 'cluster["pods"] = [pod for pod in cluster["pods"] if pod["name"] != "kept"]'
is "one without a pod is listed" "$(listed)" "kind/default/kept running - $me"
ok "and deleted" ctl delete "$name"
says "so nothing is left" 0 "[] []" made 'f"{pods} {boxes}"'
kubectl create -f sandbox.yaml --namespace demos >/dev/null
says "what sandboxfs did not make is not deleted" 1 \
	"sandboxctl: kubernetes:demos/ours was not made by sandboxfs; remove it with: kubectl delete sandboxes.agents.x-k8s.io --namespace=demos ours" ctl delete kubernetes:demos/ours
kubectl delete sandboxes.agents.x-k8s.io ours --namespace demos >/dev/null
cluster denies='"sandboxes"'
like "who may not make any" "$(ctl create kubernetes --image busybox 2>&1)" \
	'cannot create resource "sandboxes" .*; a role is needed that may; or give a manifest of a Pod: --template=FILE$'
cluster denies='""' sandboxes='""'
tap_prefix=

done_testing
