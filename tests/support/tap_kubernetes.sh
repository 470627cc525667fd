# tap_kubernetes.sh - pods, for tap.sh, which reads this with PROVIDER=kubernetes.
#
# There is no cluster: kubectl(1) asks tests/support/kubernetes-server, which runs the programs of pods for kubectl 1.30 and
# later. tests/support/kubectl stands in for the exec of an older one, which speaks SPDY alone, and where KUBECTL_EXEC=ours.
# What tap.sh calls "local:demo" is the pod demo, whose programs are this machine's and whose user is the one who mounts.

# kubernetes_start: an empty cluster, asked by what is first in $PATH.
kubernetes_start() {
	[ -z "${KUBECTL_CLUSTER:-}" ] || return 0
	needs kubectl python3
	mkdir -p "$SCRATCH/kubectl/bin" "$SCRATCH/kubectl/made" "$SCRATCH/pods"
	[ "$(kubectl_minor)" -ge 30 ] || KUBECTL_EXEC=ours
	: "${KUBECTL_EXEC:=kubectl}"
	cp "$TOP/tests/support/kubectl" "$SCRATCH/kubectl/kubectl"
	cat >"$SCRATCH/kubectl/bin/kubectl" <<-END
		#!/bin/sh
		[ "\$1" != exec ] || [ "$KUBECTL_EXEC" != ours ] || exec python3 "$SCRATCH/kubectl/kubectl" "\$@"
		HOME=$SCRATCH/home exec "$(command -v kubectl)" "\$@"
	END
	chmod 755 "$SCRATCH/kubectl/bin/kubectl"
	PATH=$SCRATCH/kubectl/bin:$PATH
	# Two programs start before a first answer, and the first look at the root waits no longer.
	expect_log 'cache: warn: /: no progress for 3 s'
	export KUBECTL_CLUSTER="$SCRATCH/kubectl/cluster.json" KUBECONFIG="$SCRATCH/kubectl/config"
	echo '{"contexts": ["kind", "other@far", "arn:aws:eks:eu-west-1:123456789012:cluster/blue"], "current": "kind", "sandboxes": "", "objects": [], "pods": []}' >"$KUBECTL_CLUSTER"
	python3 -B "$TOP/tests/support/kubernetes-server" "$KUBECTL_CLUSTER" "$KUBECONFIG" >"$SCRATCH/kubectl/log" 2>&1 &
	KUBERNETES_SERVER=$!
	tap_helpers="$tap_helpers $KUBERNETES_SERVER"
	wait_until "$PATIENCE" kubernetes_serves
}

# Of kubectl 1.MINOR.
kubectl_minor() {
	kubectl version --client -ojson | python3 -c 'import json, sys; print(json.load(sys.stdin)["clientVersion"]["minor"].rstrip("+"))'
}

kubernetes_serves() {
	[ -s "$KUBECONFIG" ]
}

# cluster FIELD=JSON...: changes what the cluster has beside its pods.
cluster() {
	kubernetes_change 'cluster.update(fields(words))' "$@"
}

# pod NAME FIELD=JSON...: makes the pod of the namespace demos, or changes it; `gone`: removes it.
pod() {
	kubernetes_change '
name, *changes = words
usual = {"context": "kind", "namespace": "demos", "name": name, "uid": f"{name}-1", "phase": "Running", "reason": "",
         "default": "", "containers": {}, "denies": ""}
found = [pod for pod in cluster["pods"] if pod["name"] == name]
cluster["pods"] = [pod for pod in cluster["pods"] if pod["name"] != name]
if changes != ["gone"]:
    cluster["pods"].append({**(found[0] if found else usual), **fields(changes)})' "$@"
}

kubernetes_change() { # PYTHON WORD...
	python3 - "$KUBECTL_CLUSTER" "$@" <<-'END'
		import fcntl, json, os, sys
		path, code, *words = sys.argv[1:]
		def fields(changes):
		    return {field: json.loads(text) for field, text in (change.split("=", 1) for change in changes)}
		lock = open(os.path.dirname(path) + "/lock", "w")
		fcntl.flock(lock, fcntl.LOCK_EX)
		with open(path) as file:
		    cluster = json.load(file)
		exec(code)
		with open(path + ".new", "w") as file:
		    json.dump(cluster, file)
		os.rename(path + ".new", path)
	END
}

# container DIRECTORY: as JSON.
container() {
	printf '{"dir": "%s", "shell": true, "runs": true}' "$1"
}

# Sets SANDBOX and STORE.
vendor_sandbox() { # NAME
	kubernetes_start
	kubernetes_pod=$1.$MOUNT_AS
	STORE=$SCRATCH/pods/$kubernetes_pod
	SANDBOX=demos/$kubernetes_pod
	[ ! -d "$STORE" ] || return 0
	mkdir "$STORE"
	chown "$MOUNT_AS:$MOUNT_AS" "$STORE"
	pod "$kubernetes_pod" containers="{\"main\": $(container "$STORE")}"
}

vendor_home() { # DIRECTORY
	echo "$1"
}

vendor_stop() {
	:
}
