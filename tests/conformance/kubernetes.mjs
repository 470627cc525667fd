// npm: @kubernetes/client-node@1.4.0
//
// Our API server of a cluster (tests/support/kubernetes-server) against the client that Kubernetes publishes: what that can do
// there with pods and with Sandboxes of agents.x-k8s.io, kubectl and sandboxfs can do.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

import { runTests } from "./tap.mjs";

const load = createRequire(`${process.env.CONFORMANCE_MODULES}/package.json`);
const k8s = await import(pathToFileURL(load.resolve("@kubernetes/client-node")));

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "conformance-kubernetes-"));
const cluster = path.join(folder, "cluster.json");
const kubeconfig = path.join(folder, "config");
fs.writeFileSync(cluster, JSON.stringify({
	contexts: ["kind", "other"], current: "kind", sandboxes: "v1beta1", objects: [], pods: [], denies: "",
}));
const program = fileURLToPath(new URL("../support/kubernetes-server", import.meta.url));
const server = spawn("python3", ["-B", program, cluster, kubeconfig], { stdio: "ignore" });
while (!fs.existsSync(kubeconfig)) {
	assert.equal(server.exitCode, null, "the server ended");
	await pause(20);
}

const config = new k8s.KubeConfig();
config.loadFromFile(kubeconfig);
// It speaks plain http only so.
config.clusters = config.clusters.map((one) => ({ ...one, skipTLSVerify: true }));
const core = config.makeApiClient(k8s.CoreV1Api);
const custom = config.makeApiClient(k8s.CustomObjectsApi);
const namespace = "demos";
const boxes = { group: "agents.x-k8s.io", version: "v1beta1", namespace, plural: "sandboxes" };
const pod = (name, more = {}) => ({
	apiVersion: "v1", kind: "Pod", metadata: { name, labels: { team: "red" }, ...more },
	spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox", env: [{ name: "A", value: "b" }] }] },
});

async function refused(promise, code, reason) {
	const error = await promise.then(() => assert.fail("nothing was refused"), (thrown) => thrown);
	assert.equal(error.code, code, String(error));
	assert.equal(JSON.parse(error.body).reason, reason);
}

async function pods() {
	const made = await core.createNamespacedPod({ namespace, body: pod("one"), fieldValidation: "Strict" });
	assert.equal(made.metadata.name, "one");
	assert.ok(made.metadata.uid);
	let found = await core.readNamespacedPod({ namespace, name: "one" });
	assert.equal(found.status.phase, "Pending");
	assert.equal(found.status.containerStatuses[0].state.waiting.reason, "ContainerCreating");
	found = await core.readNamespacedPod({ namespace, name: "one" });
	assert.equal(found.status.phase, "Running");
	const log = await core.readNamespacedPodLog({ namespace, name: "one", container: "main", tailLines: 1, timestamps: true });
	assert.match(log, /^2026-\S+Z the pod works\n$/);
	assert.equal(found.metadata.uid, made.metadata.uid);
	assert.equal(found.spec.containers[0].env[0].value, "b");
}

async function lists() {
	const names = async (of) => (await of).items.map((one) => one.metadata.name);
	await core.createNamespacedPod({ namespace: "default", body: pod("two", { labels: { team: "blue" } }) });
	assert.deepEqual(await names(core.listNamespacedPod({ namespace })), ["one"]);
	assert.deepEqual((await names(core.listPodForAllNamespaces())).sort(), ["one", "two"]);
	assert.deepEqual(await names(core.listPodForAllNamespaces({ labelSelector: "team=blue" })), ["two"]);
	assert.deepEqual(await names(core.listPodForAllNamespaces({ labelSelector: "none" })), []);
	config.setCurrentContext("other");
	assert.deepEqual(await names(config.makeApiClient(k8s.CoreV1Api).listPodForAllNamespaces()), []);
	config.setCurrentContext("kind");
}

// In a pod: what the program printed, and the status of its end.
async function run(name, command, input) {
	const said = { out: "", err: "" };
	const sink = (of) => new Writable({ write(piece, _, done) { said[of] += piece; done(); } });
	const end = await new Promise((resolve, reject) => {
		const words = ["/bin/sh", "-c", command];
		new k8s.Exec(config).exec(namespace, name, "main", words, sink("out"), sink("err"), Readable.from([input]), false, resolve)
			.then((socket) => { socket.onerror = reject; }, reject);
	});
	return { ...said, end };
}

async function programs() {
	const { out, err, end } = await run("one", "read line; echo \"$line $A\"; echo sorry >&2; exit 3", "hello\n");
	assert.deepEqual([out, err], ["hello b\n", "sorry\n"]);
	assert.deepEqual([end.status, end.reason, end.details.causes[0].message], ["Failure", "NonZeroExitCode", "3"]);
	assert.equal((await run("one", "true", "")).end.status, "Success");
	const much = await run("one", "head -c 1000000 /dev/zero | tr '\\0' x", "");
	assert.equal(much.out.length, 1000000);
}

async function refusals() {
	const create = (body, where = namespace) => core.createNamespacedPod({ namespace: where, body });
	await refused(create(pod("one")), 409, "AlreadyExists");
	await refused(create(pod("Upper")), 422, "Invalid");
	await refused(create(pod("labels", { labels: { a: "/" } })), 422, "Invalid");
	await refused(create(pod("many"), "full"), 403, "Forbidden");
	await refused(create(pod("none"), "nowhere"), 404, "NotFound");
	await refused(core.readNamespacedPod({ namespace, name: "nobody" }), 404, "NotFound");
}

async function sandboxes() {
	const podTemplate = { metadata: { labels: { team: "red" } }, spec: pod("x").spec };
	const body = { apiVersion: "agents.x-k8s.io/v1beta1", kind: "Sandbox", metadata: { name: "box" }, spec: { podTemplate } };
	const made = await custom.createNamespacedCustomObject({ ...boxes, body });
	const ofPod = await core.readNamespacedPod({ namespace, name: "box" });
	assert.equal(ofPod.metadata.ownerReferences[0].uid, made.metadata.uid);
	const found = await custom.getNamespacedCustomObject({ ...boxes, name: "box" });
	assert.equal(found.status.conditions[0].status, "True");
	await refused(custom.createNamespacedCustomObject({ ...boxes, body }), 409, "AlreadyExists");
	await refused(custom.getNamespacedCustomObject({ ...boxes, version: "v1alpha1", name: "box" }), 404, "NotFound");
	await custom.deleteNamespacedCustomObject({ ...boxes, name: "box" });
	await refused(core.readNamespacedPod({ namespace, name: "box" }), 404, "NotFound");
}

async function deletes() {
	await core.deleteNamespacedPod({ namespace, name: "one" });
	await refused(core.readNamespacedPod({ namespace, name: "one" }), 404, "NotFound");
	await refused(core.deleteNamespacedPod({ namespace, name: "one" }), 404, "NotFound");
}

const failed = await runTests([
	["a pod is made, and runs after a while", pods],
	["a program runs in a pod, with its streams and its exit code", programs],
	["lists have a namespace, a context and labels", lists],
	["what a cluster refuses is refused, with its reason", refusals],
	["a Sandbox has a pod, which goes with it", sandboxes],
	["a pod is deleted", deletes],
]);
server.kill();
await once(server, "exit");
fs.rmSync(folder, { recursive: true, force: true });
process.exitCode = failed ? 1 : 0;
