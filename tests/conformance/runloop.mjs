// Runloop's own SDK against our test server: what it can do with the real service, it must be able to do here. It speaks
// HTTP/2 unless it is told otherwise.
// npm: @runloop/api-client@1.32.0
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import { startServer } from "./server.mjs";
import { runTests } from "./tap.mjs";

// Where `run` has installed it.
const require = createRequire(path.join(process.env.CONFORMANCE_MODULES, "package.json"));
const runloop = require("@runloop/api-client");
const { RunloopSDK, toFile } = runloop;

const server = await startServer("runloop", ["--stream-idle-ms", "400", "--hold-ms", "400", "--max-output", "100000"]);
Object.assign(process.env, server.urls.env);
const sdk = new RunloopSDK();
const client = sdk.api;
let devbox;

const short = { maxRetries: 0 };
const counts = async (kind) => (await server.get("/counters")).kinds[kind]?.requests ?? 0;

// ---- Lifecycle -------------------------------------------------------------------------------------

async function create() {
	devbox = await sdk.devbox.create({
		name: "conformance", metadata: { "a b": "c&d", k: "v" }, environment_variables: { GREETING: "hello" },
		launch_parameters: { keep_alive_time_seconds: 600 },
	});
	assert.match(devbox.id, /^dbx_/);
}

async function info() {
	const got = await devbox.getInfo();
	assert.equal(got.id, devbox.id);
	assert.equal(got.status, "running");
	assert.equal(got.name, "conformance");
	assert.deepEqual(got.metadata, { "a b": "c&d", k: "v" });
	assert.equal(got.launch_parameters.keep_alive_time_seconds, 600);
	assert.deepEqual(got.state_transitions.map(({ status }) => status), ["provisioning", "running"]);
	assert.equal(got.end_time_ms, null);
}

async function connectById() {
	const same = sdk.devbox.fromId(devbox.id);
	assert.equal((await same.cmd.exec("echo $GREETING")).exitCode, 0);
	assert.equal((await same.getInfo()).name, "conformance");
}

async function update() {
	const got = await client.devboxes.update(devbox.id, { name: "renamed", metadata: { k: "w" } });
	assert.deepEqual([got.name, got.metadata], ["renamed", { k: "w" }]);
	assert.equal((await client.devboxes.update(devbox.id, { name: "" })).name, null);
}

async function buildBlueprint() {
	const wanted = { name: "conformance", dockerfile: "FROM debian:12\n" };
	const made = await client.blueprints.createAndAwaitBuildCompleted(wanted);
	assert.deepEqual([made.status, made.name, made.parameters.dockerfile], ["build_complete", wanted.name, wanted.dockerfile]);
	const listed = [];
	for await (const one of client.blueprints.list({ name: "conformance" }))
		listed.push(one.id);
	assert.deepEqual(listed, [made.id]);
	assert.equal((await client.blueprints.logs(made.id)).logs[0].message, "FROM debian:12");
	const from = await client.devboxes.create({ blueprint_id: made.id });
	assert.equal((await client.devboxes.awaitRunning(from.id)).blueprint_id, made.id);
	await client.devboxes.shutdown(from.id);
}

async function createBehind() {
	const made = await client.devboxes.create({ blueprint_name: "base" });
	assert.equal(made.status, "provisioning");
	assert.equal((await client.devboxes.awaitRunning(made.id)).status, "running");
	const sized = await client.devboxes.create({
		launch_parameters: { resource_size_request: "CUSTOM_SIZE", custom_cpu_cores: 2, custom_gb_memory: 4, custom_disk_size: 8 },
	});
	assert.equal(sized.launch_parameters.custom_gb_memory, 4);
	await Promise.all([made, sized].map(({ id }) => client.devboxes.shutdown(id)));
}

async function listPages() {
	const ids = [];
	for await (const one of client.devboxes.list({ limit: 1, include_total_count: false }))
		ids.push(one.id);
	assert.equal(new Set(ids).size, ids.length);
	assert.ok(ids.length >= 3 && ids.includes(devbox.id));
	const running = await client.devboxes.list({ status: "running" });
	assert.deepEqual(running.devboxes.map(({ id }) => id), [devbox.id]);
	assert.equal(running.has_more, false);
}

async function portUrls() {
	const tunnel = await devbox.net.enableTunnel({ auth_mode: "open" });
	assert.deepEqual([tunnel.auth_mode, tunnel.auth_token], ["open", null]);
	assert.equal((await devbox.getInfo()).tunnel.tunnel_key, tunnel.tunnel_key);
	assert.ok((await devbox.getTunnelUrl(3000)).startsWith(`https://3000-${tunnel.tunnel_key}.tunnel.`));
	await assert.rejects(devbox.net.enableTunnel({ auth_mode: "closed" }), runloop.BadRequestError);
}

async function suspendAndResume() {
	await devbox.file.write({ file_path: "kept", contents: "yes" });
	await devbox.cmd.exec("sleep 600 >/dev/null 2>&1 &");
	await devbox.suspend();
	assert.equal((await devbox.awaitSuspended()).status, "suspended");
	await assert.rejects(devbox.cmd.exec("true", {}, short), runloop.BadRequestError);
	await assert.rejects(devbox.suspend(), runloop.BadRequestError);
	await devbox.resumeAsync();
	await client.devboxes.awaitRunning(devbox.id).catch(() => {});
	assert.equal((await client.post(`/v1/devboxes/${devbox.id}/wait_for_status`, { body: { statuses: ["running"] } })).status,
		"running");
	assert.equal(await devbox.file.read({ file_path: "kept" }), "yes");
	assert.equal((await devbox.cmd.exec("pgrep -x sleep")).exitCode, 1);
}

async function log() {
	const { logs } = await client.devboxes.logs.list(devbox.id);
	assert.deepEqual([logs[0].message, typeof logs[0].timestamp_ms], ["the sandbox starts", "number"]);
}

async function snapshots() {
	const kept = await client.devboxes.snapshotDisk(devbox.id, { name: "s", metadata: { k: "v" } });
	assert.equal(kept.source_devbox_id, devbox.id);
	const copy = await sdk.devbox.createFromSnapshot(kept.id);
	assert.equal(await copy.file.read({ file_path: "kept" }), "yes");
	assert.equal((await copy.getInfo()).snapshot_id, kept.id);
	await copy.shutdown();
	const { diskSnapshots } = client.devboxes;
	const behind = await client.devboxes.snapshotDiskAsync(devbox.id, { commit_message: "m" });
	assert.equal((await diskSnapshots.queryStatus(behind.id)).status, "in_progress");
	assert.equal((await diskSnapshots.awaitCompleted(behind.id)).snapshot.id, behind.id);
	const doomed = await client.devboxes.snapshotDiskAsync(devbox.id, { name: "fails" });
	await assert.rejects(diskSnapshots.awaitCompleted(doomed.id), /failed: the disk could not be read/);
	await assert.rejects(client.devboxes.create({ snapshot_id: doomed.id }), runloop.BadRequestError);
	const listed = [];
	for await (const one of diskSnapshots.list({ limit: 1, include_total_count: false }))
		listed.push(one.id);
	assert.deepEqual(listed, [doomed.id, behind.id, kept.id]);
	await diskSnapshots.delete(behind.id);
	await assert.rejects(diskSnapshots.delete(behind.id), runloop.NotFoundError);
	await assert.rejects(diskSnapshots.queryStatus(behind.id), runloop.NotFoundError);
}

async function evictions() {
	const told = async () => {
		const events = [];
		for await (const event of await client.devboxes.watchEvictions())
			events.push(event);
		assert.ok(events.every((one) => one.eviction_deadline_ms > Date.now()));
		return events.map((one) => one.devbox_id);
	};
	const other = await sdk.devbox.create();
	assert.deepEqual(await told(), []);
	await server.post(`/evict/${other.id}?in_ms=600000`, {});
	assert.deepEqual(await told(), [other.id]);
	await other.shutdown();
	assert.deepEqual(await told(), []);
}

async function lifetimes() {
	const ended = async (launch, keepsAlive) => {
		const one = await sdk.devbox.create({ launch_parameters: launch });
		if (keepsAlive)
			await one.keepAlive();
		const statuses = ["shutdown", "suspended"];
		for (;;) {
			const got = await client.post(`/v1/devboxes/${one.id}/wait_for_status`, { body: { statuses } });
			return [got.status, got.shutdown_reason];
		}
	};
	assert.deepEqual(await ended({ keep_alive_time_seconds: 1 }, true), ["shutdown", "keep_alive_timeout"]);
	assert.deepEqual(await ended({ lifecycle: { after_idle: { idle_time_seconds: 1, on_idle: "shutdown" } } }), ["shutdown", "idle"]);
	assert.deepEqual(await ended({ after_idle: { idle_time_seconds: 1, on_idle: "suspend" } }), ["suspended", null]);
}

async function shutdown() {
	const one = await sdk.devbox.create();
	assert.equal((await one.shutdown()).status, "shutdown");
	const got = await one.getInfo();
	assert.equal(got.shutdown_reason, "api_shutdown");
	assert.ok(got.end_time_ms >= got.create_time_ms);
	await assert.rejects(one.cmd.exec("true", {}, short), runloop.BadRequestError);
}

async function refusals() {
	const stranger = new RunloopSDK({ bearerToken: "wrong", maxRetries: 0 });
	await assert.rejects(stranger.api.devboxes.retrieve(devbox.id), runloop.AuthenticationError);
	await stranger.api.close?.();
	await assert.rejects(client.devboxes.retrieve("dbx_unknown"), runloop.NotFoundError);
	await assert.rejects(client.devboxes.execute("dbx_unknown", { command: "true" }, short), runloop.NotFoundError);
	await assert.rejects(client.devboxes.create({ blueprint_name: "none" }), runloop.NotFoundError);
	await assert.rejects(client.devboxes.create({ launch_parameters: { keep_alive_time_seconds: 172_801 } }),
		runloop.BadRequestError);
}

async function retries() {
	await server.post("/reset");
	await server.post("/faults",
		{ match: { kind: "GET /v1/devboxes/{id}" }, action: { type: "status", status: 429, retry_after: 1 } });
	await devbox.getInfo();
	assert.equal(await counts("GET /v1/devboxes/{id}"), 2);
}

// ---- Commands --------------------------------------------------------------------------------------

async function exec() {
	const result = await devbox.cmd.exec('echo "$GREETING"; pwd; echo told >&2; exit 7');
	assert.equal(result.exitCode, 7);
	assert.equal(await result.stdout(), "hello\n/home/user\n");
	assert.equal(await result.stderr(), "told\n");
	assert.equal(await (await devbox.cmd.exec("id -un; [ -t 0 ] || cat")).stdout(), "user\n");
	assert.equal(await (await devbox.cmd.exec("echo {1..3}")).stdout(), "1 2 3\n");
	assert.equal((await devbox.cmd.exec("kill -9 $$")).exitCode, 137);
}

async function onlyTheLastLines() {
	const many = await devbox.cmd.exec("seq 1000");
	assert.equal(many.result.stdout_truncated, true);
	assert.equal(many.result.stdout.split("\n").length, 101);
	assert.equal((await many.stdout()).split("\n").length, 1001);
	const few = await devbox.cmd.exec("seq 1000", { last_n: "3" });
	assert.equal(few.result.stdout, "998\n999\n1000\n");
	assert.equal((await devbox.cmd.exec("seq 1000", { last_n: "1000" })).result.stdout_truncated, false);
	const large = await devbox.cmd.exec("head -c 300000 /dev/zero | tr '\\0' x", { last_n: "5" });
	assert.equal(large.result.stdout_truncated, true);
	assert.equal((await large.stdout()).length, 300_000);
}

async function longerThanAWait() {
	await server.post("/reset");
	const result = await devbox.cmd.exec("sleep 1.5; echo done", { optimistic_timeout: 0 });
	assert.equal(await result.stdout(), "done\n");
	assert.ok(await counts("POST /v1/devboxes/{id}/executions/{id}/wait_for_status") >= 2);
}

async function sameCommandOnce() {
	const command = { command: "echo once >>ran; cat ran", command_id: "01a1fba2-5808-7173-a0f0-0123456789ab" };
	const first = await client.devboxes.execute(devbox.id, command);
	const second = await client.devboxes.execute(devbox.id, command);
	assert.equal(second.execution_id, first.execution_id);
	assert.equal(second.stdout, "once\n");
}

async function background() {
	const execution = await devbox.cmd.execAsync("sleep 60");
	assert.equal((await execution.getState()).status, "running");
	await execution.kill();
	assert.equal((await execution.result()).exitCode, 137);
}

async function streamed() {
	const out = [];
	const err = [];
	const result = await devbox.cmd.exec("for i in 1 2 3; do echo out $i; echo err $i >&2; done",
		{ stdout: (line) => out.push(line), stderr: (line) => err.push(line) });
	assert.equal(result.exitCode, 0);
	assert.equal(out.join(""), "out 1\nout 2\nout 3\n");
	assert.equal(err.join(""), "err 1\nerr 2\nerr 3\n");
}

async function standardInput() {
	const execution = await devbox.cmd.execAsync("read line; echo got $line", { attach_stdin: true });
	await client.devboxes.executions.sendStdIn(devbox.id, execution.executionId, { text: "this\n" });
	assert.equal(await (await execution.result()).stdout(), "got this\n");
}

async function namedShell() {
	const shell = devbox.shell("one");
	await shell.exec("cd /tmp; export KEPT='a b'; exit 3");
	assert.equal(await (await shell.exec("pwd; echo $KEPT")).stdout(), "/tmp\na b\n");
	assert.equal(await (await devbox.shell("two").exec("pwd")).stdout(), "/home/user\n");
}

// ---- Files -----------------------------------------------------------------------------------------

async function texts() {
	await devbox.file.write({ file_path: "/tmp/a b.txt", contents: "héllo\n" });
	assert.equal(await devbox.file.read({ file_path: "/tmp/a b.txt" }), "héllo\n");
	const refused = await devbox.file.write({ file_path: "/nowhere/x", contents: "" });
	assert.notEqual(refused.exit_status, 0);
	await assert.rejects(devbox.file.read({ file_path: "none" }), runloop.NotFoundError);
}

async function bytes() {
	const sent = Buffer.from(Uint8Array.from({ length: 200_000 }, (_, i) => (i * 7) % 256));
	await devbox.file.upload({ path: "~/bytes", file: await toFile(sent, "bytes") });
	const got = await devbox.file.download({ path: "bytes" });
	assert.deepEqual(Buffer.from(await got.arrayBuffer()), sent);
	assert.deepEqual(fs.readFileSync(path.join(server.root, devbox.id, "home/user/bytes")), sent);
	await assert.rejects(devbox.file.download({ path: "none" }), runloop.NotFoundError);
	await assert.rejects(devbox.file.upload({ path: "none/x", file: await toFile(sent, "x") }), runloop.BadRequestError);
}

async function manyAtOnce() {
	const names = Array.from({ length: 40 }, (_, i) => `many-${i}`);
	await Promise.all(names.map(async (name) => devbox.file.upload({ path: name, file: await toFile(Buffer.from(name), name) })));
	const got = await Promise.all(names.map(async (name) => (await devbox.file.download({ path: name })).text()));
	assert.deepEqual(got, names);
}

async function oldTransport() {
	const old = new RunloopSDK({ http2: false });
	assert.equal((await old.api.devboxes.retrieve(devbox.id)).id, devbox.id);
	assert.equal(await (await old.devbox.fromId(devbox.id).cmd.exec("echo one")).stdout(), "one\n");
}

const failed = await runTests([
	["create and wait until it runs", create],
	["details", info],
	["connect by id", connectById],
	["name and metadata", update],
	["build a blueprint of an image", buildBlueprint],
	["create from a blueprint and of a size, and wait behind", createBehind],
	["list in pages", listPages],
	["URLs of ports", portUrls],
	["suspend and resume: the disk alone lives on", suspendAndResume],
	["create from a snapshot", snapshots],
	["log", log],
	["evictions are told, those that are pending first", evictions],
	["what ends a lifetime", lifetimes],
	["shut down", shutdown],
	["errors of keys, ids and lifetimes", refusals],
	["429 with Retry-After is repeated", retries],
	["a command: output, directory, environment, user, exit code", exec],
	["only the last lines of an answer, all of a stream", onlyTheLastLines],
	["a command longer than a wait", longerThanAWait],
	["the same command id runs once", sameCommandOnce],
	["a command in the background, killed", background],
	["output as it comes", streamed],
	["standard input", standardInput],
	["a named shell", namedShell],
	["write and read text", texts],
	["upload and download bytes", bytes],
	["many files at once", manyAtOnce],
	["HTTP/1.1", oldTransport],
]);
await server.stop();
process.exit(failed ? 1 : 0);
