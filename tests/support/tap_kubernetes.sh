# tap_kubernetes.sh - pods, for tap.sh, which reads this with PROVIDER=kubernetes.
#
# There is no cluster: tests/support/kubectl stands in for kubectl(1). What tap.sh calls "local:demo" is the pod demo, whose
# programs are this machine's and whose user is the one who mounts.

# kubernetes_start: an empty cluster, asked by what is first in $PATH.
kubernetes_start() {
	[ -z "${KUBECTL_CLUSTER:-}" ] || return 0
	needs python3
	mkdir -p "$SCRATCH/kubectl" "$SCRATCH/pods"
	cp "$TOP/tests/support/kubectl" "$SCRATCH/kubectl/kubectl"
	PATH=$SCRATCH/kubectl:$PATH
	# Two programs start before a first answer, and the first look at the root waits no longer.
	expect_log 'cache: warn: /: no progress for 3 s'
	export KUBECTL_CLUSTER="$SCRATCH/cluster.json"
	echo '{"contexts": ["kind", "other@far"], "current": "kind", "pods": []}' >"$KUBECTL_CLUSTER"
}

# pod NAME FIELD=JSON...: makes the pod of the namespace demos, or changes it; `gone`: removes it.
pod() {
	python3 - "$KUBECTL_CLUSTER" "$@" <<-'END'
		import json, os, sys
		path, name, *changes = sys.argv[1:]
		with open(path) as file:
		    cluster = json.load(file)
		usual = {"context": "kind", "namespace": "demos", "name": name, "uid": f"{name}-1", "phase": "Running",
		         "reason": "", "default": "", "containers": {}, "denies": ""}
		found = [pod for pod in cluster["pods"] if pod["name"] == name]
		cluster["pods"] = [pod for pod in cluster["pods"] if pod["name"] != name]
		if changes != ["gone"]:
		    fields = (change.partition("=")[::2] for change in changes)
		    cluster["pods"].append({**(found[0] if found else usual), **{field: json.loads(text) for field, text in fields}})
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
