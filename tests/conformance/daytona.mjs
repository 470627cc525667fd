// Daytona's own SDK against our test server: what it can do with the real service, it must be able to do here.
// npm: @daytonaio/sdk@0.218.0
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

import { startServer } from "./server.mjs";
import { runTests } from "./tap.mjs";

// Where `run` has installed it.
const require = createRequire(path.join(process.env.CONFORMANCE_MODULES, "package.json"));
const server = await startServer("daytona");
Object.assign(process.env, server.urls.env, { DAYTONA_TARGET: "us" });
const sdk = require("@daytonaio/sdk");
const { Daytona } = sdk;
// The SDK has no call of its own for it.
const { Configuration, SandboxApi } = require("@daytona/api-client");

// It would keep asking for events, which are not served here.
const daytona = new Daytona({ useDeprecatedPolling: true });
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "daytona-sdk-"));
let sandbox;

const everyOne = async (query) => {
	const found = [];
	for await (const one of daytona.list(query))
		found.push(one);
	return found;
};

// ---- Lifecycle -------------------------------------------------------------------------------------

async function create() {
	sandbox = await daytona.create({
		name: "first", snapshot: "daytona-small", envVars: { GREETING: "hello" }, labels: { project: "p1", "a b": "c&d" },
		autoStopInterval: 30,
	});
	assert.match(sandbox.id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
	assert.equal(sandbox.state, "started");
	assert.equal(sandbox.autoStopInterval, 30);
	assert.equal(sandbox.user, "daytona");
}

async function connect() {
	const byId = await daytona.get(sandbox.id);
	assert.equal(byId.name, "first");
	assert.deepEqual(byId.labels, { project: "p1", "a b": "c&d", "code-toolbox-language": "python" });
	assert.equal((await daytona.get("first")).id, sandbox.id);
}

async function fromImage() {
	const built = await daytona.create({ image: "python:3.12", resources: { cpu: 2, memory: 4, disk: 5 }, ephemeral: true });
	assert.equal(built.state, "started");
	assert.deepEqual([built.cpu, built.memory, built.disk], [2, 4, 5]);
	await built.stop();
	await assert.rejects(daytona.get(built.id), sdk.DaytonaNotFoundError);
}

async function createErrors() {
	await assert.rejects(daytona.create({ name: "first" }), sdk.DaytonaConflictError);
	await assert.rejects(daytona.create({ snapshot: "unheard-of" }), /not found. Did you add it/);
	await assert.rejects(daytona.create({ snapshot: "daytona-small", resources: { cpu: 2 } }), /resources when using a snapshot/);
}

async function listPages() {
	const others = [];
	for (const project of ["p2", "p2"])
		others.push(await daytona.create({ labels: { project } }));
	const ids = (await everyOne({ limit: 1 })).map(({ id }) => id);
	assert.deepEqual(ids, [sandbox, ...others].map(({ id }) => id));
	assert.deepEqual((await everyOne({ labels: { project: "p1" } })).map(({ id }) => id), [sandbox.id]);
	assert.equal((await everyOne({ labels: { project: "p2" } })).length, 2);
	const [listed] = await everyOne({ labels: { project: "p1" }, states: ["started"] });
	assert.equal((await listed.process.executeCommand("echo found")).result, "found\n");
	for (const one of others)
		await daytona.delete(one, 60, true);
	assert.equal((await everyOne()).length, 1);
	await assert.rejects(daytona.get(others[0].id), sdk.DaytonaNotFoundError);
}

async function portUrls() {
	const { url, token, port } = await sandbox.getSignedPreviewUrl(3000, 86_400);
	assert.equal(port, 3000);
	assert.match(url, new RegExp(`^https://3000-${token}\\.`));
	await assert.rejects(sandbox.getSignedPreviewUrl(3000, 86_401), sdk.DaytonaError);
	await assert.rejects(sandbox.getSignedPreviewUrl(65_536), sdk.DaytonaError);
}

async function stopAndStart() {
	await sandbox.fs.uploadFile(Buffer.from("kept"), "kept");
	await sandbox.stop();
	assert.equal(sandbox.state, "stopped");
	await assert.rejects(sandbox.process.executeCommand("true"), /Is the Sandbox started/);
	assert.equal((await everyOne({ states: ["stopped"] })).length, 1);
	await sandbox.start();
	assert.equal(String(await sandbox.fs.downloadFile("kept")), "kept");
}

async function archive() {
	await assert.rejects(sandbox.archive(), /not stopped/);
	await sandbox.stop();
	await sandbox.archive();
	await sandbox.refreshData();
	assert.equal(sandbox.state, "archived");
	await sandbox.start();
	assert.equal(String(await sandbox.fs.downloadFile("kept")), "kept");
}

async function intervals() {
	await sandbox.setAutostopInterval(45);
	await sandbox.setAutoDeleteInterval(-1);
	await sandbox.refreshActivity();
	await sandbox.refreshData();
	assert.equal(sandbox.autoStopInterval, 45);
	assert.deepEqual(await sandbox.setLabels({ only: "this" }), { only: "this" });
}

async function errors() {
	await assert.rejects(new Daytona({ apiKey: "dtn_wrong", useDeprecatedPolling: true }).get(sandbox.id),
		sdk.DaytonaAuthenticationError);
	await assert.rejects(daytona.get("00000000-0000-0000-0000-000000000000"), sdk.DaytonaNotFoundError);
	await assert.rejects(sandbox.pause(), sdk.DaytonaError);
	await server.post("/faults",
		{ match: { kind: "GET /sandbox/{id}" }, action: { type: "status", status: 429, body: { statusCode: 429, message: "slow" } } });
	await assert.rejects(daytona.get(sandbox.id), sdk.DaytonaRateLimitError);
}

// ---- Commands --------------------------------------------------------------------------------------

async function commands() {
	const both = await sandbox.process.executeCommand("echo out; echo err >&2; exit 3");
	assert.equal(both.exitCode, 3);
	assert.equal(both.result, "out\nerr\n");
	assert.equal((await sandbox.process.executeCommand("pwd", "/tmp")).result, "/tmp\n");
	assert.equal((await sandbox.process.executeCommand('echo "$GREETING $K"', undefined, { K: "<v>" })).result, "hello <v>\n");
	assert.equal((await sandbox.process.executeCommand("id -un; pwd")).result, "daytona\n/home/daytona\n");
}

async function inputIsTheScript() {
	assert.equal((await sandbox.process.executeCommand("cat\necho never run")).result, "echo never run");
	assert.equal((await sandbox.process.executeCommand("{ cat </dev/null\necho run\n}")).result, "run\n");
}

async function commandErrors() {
	const nowhere = await sandbox.process.executeCommand("true", "/nowhere");
	assert.equal(nowhere.exitCode, -1);
	assert.match(nowhere.result, /^fork\/exec \/.*: no such file or directory$/);
	assert.equal((await sandbox.process.executeCommand("kill -9 $$")).exitCode, -1);
	await assert.rejects(sandbox.process.executeCommand("true", undefined, { "a-b": "c" }), /environment variable/);
	await assert.rejects(sandbox.process.executeCommand(" "), /cannot be empty/);
}

async function commandTimeout() {
	await assert.rejects(sandbox.process.executeCommand("sleep 60", undefined, undefined, 1), sdk.DaytonaTimeoutError);
}

async function sessions() {
	await sandbox.process.createSession("s1");
	await assert.rejects(sandbox.process.createSession("s1"), sdk.DaytonaConflictError);
	await sandbox.process.executeSessionCommand("s1", { command: "cd /tmp; export KEPT=yes" });
	const answer = await sandbox.process.executeSessionCommand("s1", { command: "pwd; echo $KEPT >&2; (exit 4)" });
	assert.deepEqual([answer.exitCode, answer.stdout, answer.stderr], [4, "/tmp\n", "yes\n"]);
	const begun = await sandbox.process.executeSessionCommand("s1", { command: "echo behind", runAsync: true });
	let known;
	do
		known = await sandbox.process.getSessionCommand("s1", begun.cmdId);
	while (known.exitCode === undefined);
	assert.equal((await sandbox.process.getSessionCommandLogs("s1", begun.cmdId)).stdout, "behind\n");
	assert.equal((await sandbox.process.listSessions()).length, 1);
	await sandbox.process.deleteSession("s1");
	await assert.rejects(sandbox.process.executeSessionCommand("s1", { command: "true" }), /session not found/);
}

// ---- Files -----------------------------------------------------------------------------------------

async function bytes() {
	const content = Buffer.concat([Buffer.from("\r\n--DAYTONA-FILE-BOUNDARY\r\n"), Buffer.from([0, 255, 13, 10])]);
	await sandbox.fs.uploadFile(content, "/tmp/deep/bytes.bin");
	const back = await sandbox.process.executeCommand("base64 -w0 /tmp/deep/bytes.bin");
	assert.deepEqual(Buffer.from(back.result, "base64"), content);
	const local = path.join(scratch, "local");
	fs.writeFileSync(local, "from a file");
	await sandbox.fs.uploadFile(local, "/tmp/local");
	await sandbox.fs.downloadFile("/tmp/local", path.join(scratch, "back"));
	assert.equal(fs.readFileSync(path.join(scratch, "back"), "utf8"), "from a file");
}

async function manyFiles() {
	const names = Array.from({ length: 50 }, (_, i) => `/tmp/many/${i} ü.txt`);
	await sandbox.fs.uploadFiles(names.map((name) => ({ source: Buffer.from(name), destination: name })));
	const got = await sandbox.fs.downloadFiles([...names, "/tmp/many", "/tmp/none"].map((source) => ({ source })));
	assert.deepEqual(got.slice(0, 50).map(({ result }) => String(result)), names);
	assert.deepEqual(got.slice(50).map(({ errorDetails }) => errorDetails.code ?? errorDetails.errorCode),
		["INVALID_FILE_PATH", "FILE_NOT_FOUND"]);
}

async function largeFile() {
	const content = Buffer.alloc(3 << 20, "0123456789abcdef");
	await sandbox.fs.uploadFile(content, "/tmp/large");
	assert.ok(content.equals(await sandbox.fs.downloadFile("/tmp/large")));
}

async function tree() {
	await sandbox.fs.createFolder("/tmp/tree/inner", "755");
	await sandbox.fs.uploadFile(Buffer.from("needle\nhay\n"), "/tmp/tree/a.txt");
	await sandbox.fs.setFilePermissions("/tmp/tree/a.txt", { mode: "4755" });
	const info = await sandbox.fs.getFileDetails("/tmp/tree/a.txt");
	assert.deepEqual([info.size, info.mode, info.permissions, info.isDir], [11, "-rwxr-xr-x", "0755", false]);
	assert.deepEqual((await sandbox.fs.listFiles("/tmp/tree")).map(({ name }) => name), ["a.txt", "inner"]);
	assert.deepEqual((await sandbox.fs.searchFiles("/tmp/tree", "*.t?t")).files, ["/tmp/tree/a.txt"]);
	assert.deepEqual(await sandbox.fs.findFiles("/tmp/tree", "needle"),
		[{ file: "/tmp/tree/a.txt", line: 1, content: "needle" }]);
	await sandbox.fs.replaceInFiles(["/tmp/tree/a.txt"], "needle", "$&pin");
	assert.equal(String(await sandbox.fs.downloadFile("/tmp/tree/a.txt")), "$&pin\nhay\n");
	await assert.rejects(sandbox.fs.moveFiles("/tmp/tree/a.txt", "/tmp/tree/inner"), sdk.DaytonaConflictError);
	await sandbox.fs.moveFiles("/tmp/tree/a.txt", "/tmp/tree/b.txt");
	await assert.rejects(sandbox.fs.deleteFile("/tmp/tree"), sdk.DaytonaBadRequestError);
	await sandbox.fs.deleteFile("/tmp/tree", true);
	await assert.rejects(sandbox.fs.getFileDetails("/tmp/tree"), sdk.DaytonaNotFoundError);
}

async function snapshots() {
	await sandbox.fs.uploadFile(Buffer.from("then"), "kept");
	await sandbox.createSnapshot("mine");
	await assert.rejects(sandbox.createSnapshot("mine"), sdk.DaytonaConflictError);
	const kept = await daytona.snapshot.get("mine");
	assert.equal(kept.sourceSandboxId, sandbox.id);
	await sandbox.fs.uploadFile(Buffer.from("now"), "kept");
	const copy = await daytona.create({ snapshot: "mine" });
	assert.equal(String(await copy.fs.downloadFile("kept")), "then");
	await copy.delete(60);
	const { items, totalPages } = await daytona.snapshot.list(2, 1);
	assert.ok(items.length === 1 && totalPages > 2);
	await daytona.snapshot.delete(kept);
	await assert.rejects(daytona.snapshot.get("mine"), sdk.DaytonaNotFoundError);
}

async function forks() {
	const forked = await sandbox.fork({ name: "forked" });
	assert.equal(forked.name, "forked");
	assert.equal(String(await forked.fs.downloadFile("kept")), "now");
	await forked.delete(60);
}

async function network() {
	const reached = async () => server.get(`/network/${sandbox.id}`);
	await sandbox.updateNetworkSettings({ domainAllowList: "pypi.org", networkAllowList: "10.0.0.0/8" });
	assert.deepEqual(await reached(), { blocked: true, allowed: "pypi.org 10.0.0.0/8" });
	await sandbox.updateNetworkSettings({ networkBlockAll: false });
	assert.deepEqual(await reached(), { blocked: false, allowed: "" });
}

async function log() {
	const api = new SandboxApi(new Configuration({ basePath: server.urls.api_url, accessToken: server.urls.key }));
	const all = [new Date(0), new Date("2200-01-01T00:00:00Z")];
	const { items, totalPages } = (await api.getSandboxLogs(sandbox.id, ...all, undefined, 1, 1)).data;
	assert.ok(items.length === 1 && totalPages > 1 && items[0].severityText === "INFO");
	const oldest = (await api.getSandboxLogs(sandbox.id, ...all)).data.items.at(-1);
	assert.equal(oldest.body, "the sandbox starts");
}

async function deletion() {
	await sandbox.delete(60, true);
	await assert.rejects(daytona.get(sandbox.id), sdk.DaytonaNotFoundError);
	await assert.rejects(sandbox.process.executeCommand("true"), sdk.DaytonaError);
}

const failed = await runTests([
	["create from a snapshot with name, labels and environment", create],
	["connect by id and by name", connect],
	["create from an image with resources; ephemeral", fromImage],
	["create is refused", createErrors],
	["list all pages, filter, delete", listPages],
	["URLs of ports", portUrls],
	["stop and start", stopAndStart],
	["archive and start", archive],
	["intervals, activity, labels", intervals],
	["errors of the control plane", errors],
	["commands", commands],
	["a command's input is the rest of the script", inputIsTheScript],
	["commands that cannot run", commandErrors],
	["a command's time limit", commandTimeout],
	["sessions", sessions],
	["bytes survive", bytes],
	["many files, with errors of their own", manyFiles],
	["a large file", largeFile],
	["folders, attributes, search, move, delete", tree],
	["snapshots", snapshots],
	["forks", forks],
	["network", network],
	["log", log],
	["deletion", deletion],
]);
fs.rmSync(scratch, { recursive: true, force: true });
await server.stop();
process.exit(failed ? 1 : 0);
