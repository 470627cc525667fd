// LangSmith's own SDK against our test server: what it can do with the real service, it must be able to do here.
// It streams only with ws.
// npm: langsmith@0.10.5 ws@8.19.0
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import { startServer } from "./server.mjs";
import { runTests } from "./tap.mjs";

// Where `run` has installed it.
const require = createRequire(path.join(process.env.CONFORMANCE_MODULES, "package.json"));
const sdk = require("langsmith/sandbox");

const server = await startServer("langsmith", ["--provision-ms", "200", "--older-prefix"]);
Object.assign(process.env, server.urls.env);
const client = new sdk.SandboxClient();
let sandbox;

const GIB = 2 ** 30;
const text = (bytes) => Buffer.from(bytes).toString();
const here = (file) => path.join(server.root, sandbox.id, file);
const clearFaults = () => fetch(`${server.urls.admin_url}/faults`, { method: "DELETE" });

// The SDK speaks HTTP where the package ws is not installed.
function overHttp(box) {
	const other = Object.assign(Object.create(Object.getPrototypeOf(box)), box);
	other._wsAvailable = async () => false;
	Object.defineProperty(other, "_client", { value: client });
	return other;
}

const eventually = async (isDone) => {
	for (const end = Date.now() + 15_000; !await isDone();)
		assert.ok(Date.now() < end, "it never came about");
};

// ---- Lifecycle -------------------------------------------------------------------------------------

async function create() {
	sandbox = await client.createSandbox({
		snapshotName: "base", name: "box-1", idleTtlSeconds: 600, deleteAfterStopSeconds: 86400, vCpus: 1, memBytes: 4 * GIB,
		fsCapacityBytes: 8 * GIB, runConfig: { user: "root", work_dir: "/tmp", env_vars: { GREETING: "hello" } },
	});
	assert.match(sandbox.id, /^[0-9a-f]{8}-/);
	assert.equal(sandbox.name, "box-1");
	assert.equal(sandbox.status, "ready");
	assert.equal(sandbox.fs_capacity_bytes, 8 * GIB);
	assert.deepEqual(sandbox.run_config, { user: "root", work_dir: "/tmp", env_vars: { GREETING: "hello" } });
}

async function createLater() {
	const box = await client.createSandbox({ waitForReady: false });
	assert.equal(box.status, "provisioning");
	await assert.rejects(box.read("/etc/hostname"), sdk.LangSmithSandboxNotReadyError);
	assert.equal((await client.getSandboxStatus(box.name)).status, "provisioning");
	assert.equal((await client.waitForSandbox(box.name)).status, "ready");
	await box.delete();
}

async function createFails() {
	await server.post("/doom?why=no+such+image");
	await assert.rejects(client.createSandbox(), (error) =>
		error instanceof sdk.LangSmithSandboxCreationError && /no such image/.test(error.message));
	await server.post("/doom?why=later");
	const box = await client.createSandbox({ waitForReady: false });
	await assert.rejects(client.waitForSandbox(box.name), sdk.LangSmithResourceCreationError);
	for (const one of await client.listSandboxes())
		one.status === "failed" && await one.delete();
}

async function createInTime() {
	await assert.rejects(client.createSandbox({ name: "slow", timeout: 0 }), sdk.LangSmithResourceTimeoutError);
	assert.equal((await client.waitForSandbox("slow")).status, "ready");
	await client.deleteSandbox("slow");
}

async function getByNameAndId() {
	assert.equal((await client.getSandbox("box-1")).id, sandbox.id);
	assert.equal((await client.getSandbox(sandbox.id)).name, "box-1");
	await assert.rejects(client.getSandbox("no such"), sdk.LangSmithResourceNotFoundError);
}

async function update() {
	const updated = await client.updateSandbox("box-1", { idleTtlSeconds: 1800, newName: "box-2" });
	assert.equal(updated.idle_ttl_seconds, 1800);
	await assert.rejects(client.getSandbox("box-1"), sdk.LangSmithResourceNotFoundError);
	const other = await client.createSandbox({ name: "other" });
	await assert.rejects(client.updateSandbox("other", "box-2"), sdk.LangSmithResourceNameConflictError);
	await other.delete();
	sandbox = await client.updateSandbox("box-2", "box-1");
}

async function listPages() {
	const names = ["a-1", "a-2", "a-3"];
	await Promise.all(names.map((name) => client.createSandbox({ name })));
	void client.registries;
	const { boxes } = client._registriesClient.sandboxes;
	const found = [];
	for await (const one of boxes.list({ page_size: 2 }))
		found.push(one.name);
	assert.deepEqual(found.sort(), [...names, "box-1"].sort());
	const filtered = [];
	for await (const one of boxes.list({ name_contains: "a-", page_size: 1 }))
		filtered.push(one.name);
	assert.deepEqual(filtered.sort(), names);
	assert.equal((await client.listSandboxes()).length, 4);
	await Promise.all(names.map((name) => client.deleteSandbox(name)));
	await assert.rejects(client.deleteSandbox("a-1"), sdk.LangSmithResourceNotFoundError);
}

async function labelsAndVariables() {
	void client.registries;
	const { boxes } = client._registriesClient.sandboxes;
	const made = await boxes.create({ name: "labelled", labels: { team: "a b", k: "v" }, env_vars: { FROM_BOX: "1" } });
	await client.waitForSandbox(made.name);
	const found = [];
	for await (const one of boxes.list({ label: ["team=a b", "k"] }))
		found.push(one.labels);
	assert.deepEqual(found, [{ team: "a b", k: "v" }]);
	const box = await client.getSandbox("labelled");
	assert.equal((await box.run("echo $FROM_BOX")).stdout, "1\n");
	await box.delete();
}

async function controlErrors() {
	const wrong = new sdk.SandboxClient({ apiKey: "wrong" });
	await assert.rejects(wrong.listSandboxes(), sdk.LangSmithSandboxAuthenticationError);
	await assert.rejects(client.createSandbox({ snapshotName: "nowhere" }), sdk.LangSmithResourceNotFoundError);
	await assert.rejects(client.createSandbox({ vCpus: 1, memBytes: 64 * GIB }), sdk.LangSmithValidationError);
	await server.post("/faults", { match: { kind: "POST /boxes" }, action: { type: "status", status: 429,
		body: { detail: { error: "QuotaExceeded", message: "sandbox count limit reached" } } } });
	await assert.rejects(client.createSandbox(), (error) =>
		error instanceof sdk.LangSmithQuotaExceededError && error.quotaType === "sandbox_count");
	await clearFaults();
}

async function stopAndStart() {
	await sandbox.write("/root/kept", "yes");
	await sandbox.write("/tmp/memory", "no");
	await sandbox.stop();
	assert.equal((await client.getSandboxStatus("box-1")).status, "stopped");
	await sandbox.start();
	assert.equal(sandbox.status, "ready");
	assert.equal(text(await sandbox.read("/root/kept")), "yes");
	await assert.rejects(sandbox.read("/tmp/memory"), sdk.LangSmithResourceNotFoundError);
}

async function wakesByItself() {
	await sandbox.stop();
	assert.equal(text(await sandbox.read("/root/kept")), "yes");
	assert.equal((await client.getSandboxStatus("box-1")).status, "ready");
}

async function snapshots() {
	await client.createSnapshot("image", "debian:12", GIB);
	const captured = await sandbox.captureSnapshot("mine");
	const copy = await client.createSandbox(captured.id);
	assert.equal(text(await copy.read("/root/kept")), "yes");
	await copy.delete();
	const names = (await client.listSnapshots()).map((one) => one.name);
	assert.ok(names.includes("image") && names.includes("mine"));
	await client.deleteSnapshot(captured.id);
}

// ---- Commands --------------------------------------------------------------------------------------

async function httpCommands() {
	const plain = overHttp(sandbox);
	assert.deepEqual(await plain.run("echo out; echo err >&2; exit 3"), { stdout: "out\n", stderr: "err\n", exit_code: 3 });
	assert.equal((await plain.run("echo $A $GREETING; pwd", { env: { A: "1" }, cwd: "/root" })).stdout, "1 hello\n/root\n");
	assert.equal((await plain.run("pwd", { runConfig: { work_dir: "/home" } })).stdout, "/home\n");
	assert.equal((await plain.run("echo $0", { shell: "/bin/sh" })).stdout, "/bin/sh\n");
	await assert.rejects(plain.run("true", { cwd: "/no/such" }), sdk.LangSmithSandboxOperationError);
	await assert.rejects(plain.run("sleep 60", { timeout: 1 }), sdk.LangSmithSandboxError);
	assert.equal((await plain.run("head -c 5000000 /dev/zero | tr '\\0' x")).stdout.length, 5_000_000);
}

async function streamedCommands() {
	const out = [];
	const result = await sandbox.run("echo one; echo two >&2; exit 4", {
		onStdout: (data) => out.push(data), onStderr: (data) => out.push(data),
	});
	assert.deepEqual(result, { stdout: "one\n", stderr: "two\n", exit_code: 4 });
	assert.deepEqual(out.sort(), ["one\n", "two\n"]);
	assert.equal((await sandbox.run("cat")).stdout, "");
	assert.equal((await sandbox.run("echo $A; pwd", { env: { A: "ü" }, cwd: "/home" })).stdout, "ü\n/home\n");
}

async function background() {
	const handle = await sandbox.run("read line; echo \"got $line\"; cat", { wait: false, closeInput: false });
	assert.ok(handle.pid > 0);
	handle.sendInput("first\n");
	handle.sendInput("second\n");
	handle.closeInput();
	assert.deepEqual(await handle.result, { stdout: "got first\nsecond\n", stderr: "", exit_code: 0 });
}

async function killed() {
	const handle = await sandbox.run("echo begun; sleep 60 & wait", { wait: false });
	for await (const chunk of handle) {
		assert.equal(chunk.data, "begun\n");
		handle.kill();
	}
	assert.notEqual((await handle.result).exit_code, 0);
}

async function commandTimeout() {
	await assert.rejects(sandbox.run("sleep 60", { timeout: 1 }), sdk.LangSmithCommandTimeoutError);
}

async function sameCommandId() {
	const commandId = "01a1fba4-2058-7000-8000-000000000001";
	for (let i = 0; i < 2; i++) {
		const handle = await sandbox.run("echo x >>/root/once; echo done", { wait: false, commandId });
		assert.equal((await handle.result).stdout, "done\n");
	}
	assert.equal(fs.readFileSync(here("root/once"), "utf8"), "x\n");
}

async function reconnects() {
	const handle = await sandbox.run("mkfifo /root/door; echo before; read _ </root/door; echo after", { wait: false });
	let said = "";
	for await (const { data } of handle) {
		said += data;
		if (data === "before\n") {
			await server.post(`/reload/${sandbox.id}`);
			const second = await handle.reconnect();
			await overHttp(sandbox).run("echo go >/root/door");
			assert.equal((await second.result).stdout, "after\n");
		}
	}
	assert.equal(said, "before\nafter\n");
	await assert.rejects((await sandbox.reconnect("unknown")).result, (error) =>
		error.errorType === "CommandNotFound");
}

async function brokenConnection() {
	const handle = await sandbox.run("mkfifo /root/gate; echo 1; read _ </root/gate; echo 2", { wait: false });
	let said = "";
	for await (const { data } of handle) {
		said += data;
		if (said === "1\n") {
			await server.post(`/cut/${sandbox.id}`);
			await overHttp(sandbox).run("echo go >/root/gate");
		}
	}
	assert.equal(said, "1\n2\n");
}

async function killedOnDisconnect() {
	const handle = await sandbox.run("sleep 60", { wait: false, killOnDisconnect: true });
	const isThere = async () => (await overHttp(sandbox).run(`kill -0 ${handle.pid}`)).exit_code === 0;
	assert.equal(await isThere(), true);
	await server.post(`/cut/${sandbox.id}`);
	await eventually(async () => !await isThere());
}

async function terminal() {
	const { stdout } = await sandbox.run("tty >/dev/null && echo yes", { pty: true });
	assert.equal(stdout, "yes\r\n");
}

async function handshakeRefused() {
	await server.post("/faults", { match: { kind: "WS /execute/ws", times: 2 },
		action: { type: "status", status: 503, retry_after: 0 } });
	await server.post("/reset");
	assert.equal((await sandbox.run("echo ok")).stdout, "ok\n");
	assert.equal((await server.get("/counters")).kinds["WS /execute/ws"].requests, 3);
}

// ---- Files -----------------------------------------------------------------------------------------

async function filesText() {
	await sandbox.write("/root/one.txt", "hello world\n");
	assert.equal(text(await sandbox.read("/root/one.txt")), "hello world\n");
	assert.equal(fs.readFileSync(here("root/one.txt"), "utf8"), "hello world\n");
}

async function filesBytes() {
	const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => i % 256);
	await sandbox.write("/root/bytes \"q\" ü & %41", bytes);
	assert.deepEqual(await sandbox.read("/root/bytes \"q\" ü & %41"), bytes);
	const large = new Uint8Array(20 << 20).fill(7);
	await sandbox.write("/root/large", large);
	assert.equal((await sandbox.read("/root/large")).length, large.length);
}

async function filesMany() {
	const names = Array.from({ length: 30 }, (_, i) => `/root/many-${i}`);
	await Promise.all(names.map((name) => sandbox.write(name, name)));
	assert.deepEqual(await Promise.all(names.map(async (name) => text(await sandbox.read(name)))), names);
}

async function filesStat() {
	const stat = await sandbox.stat("/root/one.txt");
	assert.equal(stat.size_bytes, 12);
	assert.match(stat.etag, /^"[^"]+"$/);
	assert.ok(Date.parse(stat.last_modified) > 0);
	await assert.rejects(sandbox.stat("/root/none"), sdk.LangSmithResourceNotFoundError);
}

async function filesRanges() {
	const { etag } = await sandbox.stat("/root/one.txt");
	const part = await sandbox.readRange("/root/one.txt", { start: 2, end: 5, ifRange: etag });
	assert.deepEqual([text(part.content), part.partial, part.start, part.total_bytes], ["llo ", true, 2, 12]);
	assert.equal(text((await sandbox.readRange("/root/one.txt", { suffixBytes: 3 })).content), "ld\n");
	assert.equal((await sandbox.readRange("/root/one.txt", { start: 0, ifNoneMatch: etag })).unchanged, true);
	await assert.rejects(sandbox.readRange("/root/one.txt", { start: 12 }), /bytes \*\/12/);
	await sandbox.write("/root/one.txt", "changed here");
	const whole = await sandbox.readRange("/root/one.txt", { start: 2, end: 5, ifRange: etag });
	assert.deepEqual([text(whole.content), whole.partial], ["changed here", false]);
}

async function filesSearch() {
	await sandbox.run("mkdir /root/t");
	await sandbox.run("mkdir -p sub && echo 'TODO x' >a.py && echo TODO >sub/b.py && touch c", {
		runConfig: { work_dir: "/root/t" },
	});
	const names = async (...search) => (await sandbox.glob(...search)).matches.map((one) => one.path);
	assert.deepEqual((await sandbox.ls("/root/t")).matches.map((one) => [one.path, one.is_dir]),
		[["/root/t/a.py", false], ["/root/t/c", false], ["/root/t/sub", true]]);
	assert.deepEqual(await names("**/*.py", "/root/t"), ["/root/t/a.py", "/root/t/sub/b.py"]);
	assert.deepEqual((await sandbox.glob("*", "/root/t", { limit: 1 })).truncated, true);
	const found = await sandbox.grep("TODO", "/root/t", { glob: "*.py" });
	assert.deepEqual(found.matches.map((one) => [one.path, one.line]), [["/root/t/a.py", 1], ["/root/t/sub/b.py", 1]]);
	await assert.rejects(sandbox.ls("/root/none"), sdk.LangSmithResourceNotFoundError);
}

async function filesErrors() {
	await assert.rejects(sandbox.read("/root/none"), sdk.LangSmithResourceNotFoundError);
	await assert.rejects(sandbox.read("/root"), (error) => /is a directory/.test(error.message));
	await assert.rejects(sandbox.write("/root", "x"), (error) =>
		error.operation === "write" && /is a directory/.test(error.message));
	await assert.rejects(sandbox.write("/root/no/such", "x"), /no such file or directory/);
	await assert.rejects(sandbox.read("relative"), sdk.LangSmithSandboxError);
}

async function fileLinks() {
	const link = await sandbox.generateDownloadURL("/root/one.txt", { expiresInSeconds: 60, contentType: "text/x-mine" });
	const answer = await fetch(link.download_url);
	assert.equal(await answer.text(), "changed here");
	assert.equal(answer.headers.get("content-type"), "text/x-mine");
	assert.equal((await fetch(`${link.download_url}x`)).status, 401);
}

async function services() {
	await sandbox.write("/tmp/page", "from inside\n");
	const handle = await sandbox.run("exec python3 -m http.server --bind 127.0.0.1 -d /tmp 0 2>&1",
		{ wait: false, env: { PYTHONUNBUFFERED: "1" } });
	let port;
	for await (const { data } of handle) {
		[, port] = /port (\d+)/.exec(data) ?? [];
		if (port)
			break;
	}
	const service = await client.serviceUrl("box-1", { port: Number(port) });
	assert.equal(await (await service.fetch("/page")).text(), "from inside\n");
	assert.equal((await fetch(`${await service.serviceUrl()}/page`)).status, 401);
	await overHttp(sandbox).run(`kill -9 ${handle.pid}`);
}

// ---- The end ---------------------------------------------------------------------------------------

async function receivedSecrets() {
	assert.equal((await server.get(`/received?contains=${server.urls.key}`)).found, false);
	assert.equal((await server.get("/received?contains=hello")).found, true);
}

async function end() {
	await sandbox.delete();
	await assert.rejects(client.getSandbox(sandbox.id), sdk.LangSmithResourceNotFoundError);
	await assert.rejects(overHttp(sandbox).run("true"), sdk.LangSmithResourceNotFoundError);
}

const failed = await runTests([
	["create", create],
	["create without waiting", createLater],
	["create what fails", createFails],
	["create what is not ready in time", createInTime],
	["get by name and by id", getByNameAndId],
	["update and rename", update],
	["list with pages and filters; delete", listPages],
	["labels and variables", labelsAndVariables],
	["errors of the control plane", controlErrors],
	["stop and start; /tmp is memory", stopAndStart],
	["a request wakes what is stopped", wakesByItself],
	["snapshots", snapshots],
	["commands over HTTP", httpCommands],
	["commands over a WebSocket", streamedCommands],
	["a command in the background with stdin", background],
	["kill a command", killed],
	["a command's timeout", commandTimeout],
	["one command id is one command", sameCommandId],
	["reconnect after 1001 with offsets", reconnects],
	["reconnect after a broken connection", brokenConnection],
	["kill on disconnect", killedOnDisconnect],
	["a terminal", terminal],
	["a refused handshake is tried again", handshakeRefused],
	["write and read text", filesText],
	["write and read bytes", filesBytes],
	["write and read many files", filesMany],
	["stat", filesStat],
	["ranges and entity tags", filesRanges],
	["ls, glob and grep", filesSearch],
	["errors of files", filesErrors],
	["links to files", fileLinks],
	["service URLs", services],
	["the key never reaches a sandbox", receivedSecrets],
	["delete", end],
]);
await server.stop();
process.exit(failed ? 1 : 0);
