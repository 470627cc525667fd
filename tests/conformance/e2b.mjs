// E2B's own SDK against our test server: what it can do with the real service, it must be able to do here.
// npm: e2b@2.51.0
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import { startServer } from "./server.mjs";
import { runTests } from "./tap.mjs";

// Where `run` has installed it.
const require = createRequire(path.join(process.env.CONFORMANCE_MODULES, "package.json"));
const e2b = require("e2b");
const { Sandbox, Template } = e2b;

const server = await startServer("e2b");
Object.assign(process.env, {
	E2B_API_KEY: server.urls.key,
	E2B_API_URL: server.urls.api_url,
	E2B_SANDBOX_URL: server.urls.sandbox_url,
});
let sandbox;

const user = "user";
const text = (bytes) => Buffer.from(bytes).toString();

function deferred() {
	let resolve;
	const promise = new Promise((done) => (resolve = done));
	return { promise, resolve };
}

// ---- Templates -------------------------------------------------------------------------------------

async function buildTemplate() {
	const lines = [];
	const made = await Template.build(Template().fromImage("debian:12"), "conformance", {
		onBuildLogs: ({ message }) => lines.push(message),
	});
	assert.ok(lines.includes("built"));
	assert.equal(await Template.exists("conformance"), true);
	assert.equal(await Template.exists("another"), false);
	await (await Sandbox.create(made.templateId)).kill();
	await assert.rejects(Template.build(Template().fromImage("no-such/image"), "failing"), /could not be pulled/);
}

// ---- Lifecycle -------------------------------------------------------------------------------------

async function create() {
	sandbox = await Sandbox.create("base", {
		timeoutMs: 120_500, metadata: { "a b": "c&d", k: "v" }, envs: { GREETING: "hello" },
	});
	assert.match(sandbox.sandboxId, /^i[a-z0-9]{20}$/);
	assert.equal(await sandbox.isRunning(), true);
}

async function info() {
	const got = await sandbox.getInfo();
	assert.equal(got.sandboxId, sandbox.sandboxId);
	assert.equal(got.state, "running");
	assert.deepEqual(got.metadata, { "a b": "c&d", k: "v" });
	assert.equal(Math.round((got.endAt - got.startedAt) / 1000), 121);
}

async function setTimeoutAndConnect() {
	await sandbox.setTimeout(200_000);
	const first = (await sandbox.getInfo()).endAt;
	await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 60_000 });
	assert.equal((await sandbox.getInfo()).endAt.getTime(), first.getTime());
	await sandbox.setTimeout(60_000);
	assert.ok((await sandbox.getInfo()).endAt < first);
}

async function listPages() {
	const second = await Sandbox.create({ metadata: { k: "other" } });
	const pages = Sandbox.list({ limit: 1 });
	const ids = [];
	while (pages.hasNext)
		ids.push(...(await pages.nextItems()).map((one) => one.sandboxId));
	assert.deepEqual(ids.sort(), [sandbox.sandboxId, second.sandboxId].sort());
	const filtered = await Sandbox.list({ query: { metadata: { "a b": "c&d" }, state: ["running"] } }).nextItems();
	assert.deepEqual(filtered.map((one) => one.sandboxId), [sandbox.sandboxId]);
	assert.equal(await Sandbox.kill(second.sandboxId), true);
	assert.equal(await Sandbox.kill(second.sandboxId), false);
}

async function pauseAndResume() {
	const command = await sandbox.commands.run("sleep 60", { background: true, timeoutMs: 0 });
	await sandbox.pause();
	assert.equal((await Sandbox.getInfo(sandbox.sandboxId)).state, "paused");
	assert.equal(await sandbox.isRunning(), false);
	await assert.rejects(sandbox.files.exists("x"), e2b.TimeoutError);
	sandbox = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 120_000 });
	const pids = (await sandbox.commands.list()).map((one) => one.pid);
	assert.ok(pids.includes(command.pid));
	assert.equal(await sandbox.commands.kill(command.pid), true);
}

async function autoResume() {
	const woken = await Sandbox.create({ lifecycle: { onTimeout: "pause", autoResume: true } });
	await woken.files.write("kept", "yes");
	await server.post(`/pause/${woken.sandboxId}`);
	assert.equal(await woken.files.read("kept"), "yes");
	assert.equal((await woken.getInfo()).state, "running");
	await woken.kill();
}

async function expiry() {
	const short = await Sandbox.create({ timeoutMs: 1000 });
	for (const end = Date.now() + 10_000; await short.isRunning();)
		assert.ok(Date.now() < end);
	await assert.rejects(Sandbox.getInfo(short.sandboxId), e2b.SandboxNotFoundError ?? e2b.NotFoundError);
}

async function controlErrors() {
	await assert.rejects(Sandbox.create({ apiKey: "e2b_wrong" }), e2b.AuthenticationError);
	await assert.rejects(Sandbox.connect("idoesnotexist"), e2b.NotFoundError);
	await assert.rejects(Sandbox.create({ timeoutMs: 100 * 3_600_000 }), e2b.SandboxError);
	await server.post("/faults", { match: { kind: "GET /sandboxes/{id}", times: 9 }, action: { type: "status", status: 429 } });
	await assert.rejects(sandbox.getInfo(), e2b.RateLimitError);
	await fetch(`${server.urls.admin_url}/faults`, { method: "DELETE" });
}

async function retryAfter() {
	await server.post("/reset");
	await server.post("/faults",
		{ match: { kind: "GET /sandboxes/{id}" }, action: { type: "status", status: 429, retry_after: 1 } });
	await sandbox.getInfo();
	assert.equal((await server.get("/counters")).kinds["GET /sandboxes/{id}"].requests, 2);
}

async function metrics() {
	const [sample] = await sandbox.getMetrics();
	assert.ok(sample.memTotal > 0);
}

// ---- Files -----------------------------------------------------------------------------------------

async function filesText() {
	const written = await sandbox.files.write("w/one.txt", "hello world\n");
	assert.equal(written.path, "/home/user/w/one.txt");
	assert.equal(await sandbox.files.read("w/one.txt"), "hello world\n");
	const here = path.join(server.root, sandbox.sandboxId, "home/user/w/one.txt");
	assert.equal(fs.readFileSync(here, "utf8"), "hello world\n");
}

async function filesBytes() {
	const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => i % 256);
	await sandbox.files.write("w/bytes \"q\" ü", bytes.buffer);
	assert.deepEqual(await sandbox.files.read("w/bytes \"q\" ü", { format: "bytes" }), bytes);
	await sandbox.files.write("w/octets", bytes.buffer, { useOctetStream: true, gzip: true });
	assert.deepEqual(await sandbox.files.read("w/octets", { format: "bytes" }), bytes);
}

async function filesStream() {
	const block = new Uint8Array(1 << 20).fill(7);
	let left = 20;
	const stream = new ReadableStream({
		pull: (controller) => (left-- > 0 ? controller.enqueue(block) : controller.close()),
	});
	await sandbox.files.write("w/large", stream);
	let size = 0;
	for await (const chunk of await sandbox.files.read("w/large", { format: "stream" }))
		size += chunk.length;
	assert.equal(size, 20 << 20);
}

async function filesMany() {
	const files = Array.from({ length: 100 }, (_, i) => ({ path: `many/${i % 7}/f${i}`, data: `file ${i}` }));
	const written = await sandbox.files.write(files);
	assert.equal(written.length, 100);
	assert.equal(await sandbox.files.read("many/1/f99"), "file 99");
}

async function filesMetadata() {
	const written = await sandbox.files.write("w/meta", "x", { metadata: { author: "me" } });
	assert.deepEqual(written.metadata, { author: "me" });
	assert.deepEqual((await sandbox.files.getInfo("w/meta")).metadata, { author: "me" });
}

async function filesList() {
	await sandbox.commands.run("ln -s one.txt w/link; ln -s nowhere w/dangling; mkdir -p w/d/e; chmod 4755 w/octets");
	const names = (await sandbox.files.list("w")).map((one) => one.name);
	assert.deepEqual(names, ["bytes \"q\" ü", "d", "large", "link", "meta", "octets", "one.txt"]);
	const deep = await sandbox.files.list("w", { depth: 2 });
	assert.ok(deep.some((one) => one.path === "/home/user/w/d/e" && one.type === "dir"));
}

async function filesInfo() {
	const file = await sandbox.files.getInfo("w/octets");
	assert.equal(file.permissions, "urwxr-xr-x");
	assert.equal(file.mode, 0o755);
	assert.equal(file.owner, user);
	assert.equal(file.size, 70_000);
	assert.ok(Math.abs(Date.now() - file.modifiedTime) < 60_000);
	const link = await sandbox.files.getInfo("w/link");
	assert.equal(link.permissions, "Lrwxrwxrwx");
	assert.equal(link.symlinkTarget, "/home/user/w/one.txt");
	assert.equal(link.type, "file");
}

async function filesChange() {
	assert.equal(await sandbox.files.makeDir("w/d1/d2"), true);
	assert.equal(await sandbox.files.makeDir("w/d1/d2"), false);
	const moved = await sandbox.files.rename("w/one.txt", "w/d1/new/uno.txt");
	assert.equal(moved.path, "/home/user/w/d1/new/uno.txt");
	assert.equal(await sandbox.files.exists("w/one.txt"), false);
	assert.equal(await sandbox.files.exists("w/d1/new/uno.txt"), true);
	await sandbox.files.remove("w/d1");
	await sandbox.files.remove("w/d1");
	assert.equal(await sandbox.files.exists("w/d1"), false);
}

async function filesWatch() {
	const seen = [];
	const all = deferred();
	await sandbox.files.makeDir("watched");
	const handle = await sandbox.files.watchDir("watched", (event) => {
		seen.push(event);
		if (event.type === e2b.FilesystemEventType.REMOVE && event.name === "sub/f")
			all.resolve();
	}, { recursive: true, includeEntry: true });
	await sandbox.commands.run("mkdir watched/sub");
	await sandbox.files.write("watched/sub/f", "x");
	await sandbox.commands.run("chmod 600 watched/sub/f; mv watched/sub/f watched/g; mv watched/g watched/sub/f; rm watched/sub/f");
	await all.promise;
	await handle.stop();
	const types = (name) => seen.filter((event) => event.name === name).map((event) => event.type);
	const { CREATE, RENAME, CHMOD, WRITE } = e2b.FilesystemEventType;
	for (const type of [CREATE, WRITE, CHMOD, RENAME])
		assert.ok(types("sub/f").includes(type), type);
	assert.deepEqual(types("g"), [CREATE, RENAME]);
	assert.equal(seen.find((event) => event.name === "sub").entry.type, "dir");
}

async function filesErrors() {
	await assert.rejects(sandbox.files.read("none"), e2b.FileNotFoundError ?? e2b.NotFoundError);
	await assert.rejects(sandbox.files.list("none"), e2b.FileNotFoundError ?? e2b.NotFoundError);
	await assert.rejects(sandbox.files.list("w/octets"), e2b.InvalidArgumentError);
	await assert.rejects(sandbox.files.read("w"), e2b.InvalidArgumentError);
	await assert.rejects(sandbox.files.write("w", "x"), e2b.InvalidArgumentError);
	await assert.rejects(sandbox.files.read("x", { user: "nobody-here" }), e2b.AuthenticationError);
	await server.post("/faults", { match: { kind: "POST /files" }, action: { type: "status", status: 507,
		body: { code: 507, message: "not enough disk space available" } } });
	await assert.rejects(sandbox.files.write("full", "x"), e2b.NotEnoughSpaceError);
}

async function signedUrls() {
	const up = await sandbox.uploadUrl("signed file.txt", { useSignatureExpiration: 60_000 });
	const form = new FormData();
	form.append("file", new Blob(["signed"]), "signed file.txt");
	assert.equal((await fetch(local(up), { method: "POST", body: form, ...addressed() })).status, 200);
	const down = await sandbox.downloadUrl("signed file.txt");
	assert.equal(await (await fetch(local(down), addressed())).text(), "signed");
	const forged = local(down).replace(/signature=v1_./, "signature=v1_-");
	assert.equal((await fetch(forged, addressed())).status, 401);
}

// Signed URLs name the sandbox's own host, which resolves nowhere here.
const local = (url) => url.replace(/^https?:\/\/[^/]*/, server.urls.sandbox_url);
const addressed = () => ({ headers: { "E2b-Sandbox-Id": sandbox.sandboxId, "E2b-Sandbox-Port": "49983" } });

// ---- Commands --------------------------------------------------------------------------------------

async function foreground() {
	const result = await sandbox.commands.run("echo out; echo err >&2; echo $GREETING $FOO; pwd; id -un", {
		cwd: "/tmp", envs: { FOO: "bar" },
	});
	assert.equal(result.stdout, `out\nhello bar\n/tmp\n${user}\n`);
	assert.equal(result.stderr, "err\n");
	assert.equal(result.exitCode, 0);
}

async function exitCodes() {
	await assert.rejects(sandbox.commands.run("exit 3"), (error) =>
		error instanceof e2b.CommandExitError && error.exitCode === 3 && error.error === "exit status 3");
	await assert.rejects(sandbox.commands.run("no-such-program"), (error) => error.exitCode === 127);
	await assert.rejects(sandbox.commands.run("true", { cwd: "/none" }), e2b.InvalidArgumentError);
}

async function background() {
	let heard = "";
	const command = await sandbox.commands.run("cat", {
		background: true, stdin: true, onStdout: (piece) => (heard += piece),
	});
	await sandbox.commands.sendStdin(command.pid, "one\n");
	await sandbox.commands.sendStdin(command.pid, "two\n");
	await sandbox.commands.closeStdin(command.pid);
	const result = await command.wait();
	assert.equal(result.stdout, "one\ntwo\n");
	assert.equal(heard, "one\ntwo\n");
}

async function killed() {
	const command = await sandbox.commands.run("sleep 60", { background: true });
	assert.ok((await sandbox.commands.list()).some((one) => one.pid === command.pid));
	assert.equal(await command.kill(), true);
	await assert.rejects(command.wait(), (error) => error.exitCode === -1 && error.error === "signal: killed");
	assert.equal(await sandbox.commands.kill(command.pid), false);
}

async function connectCommand() {
	const started = await sandbox.commands.run("read x; echo got $x", { background: true, stdin: true });
	await started.disconnect();
	const command = await sandbox.commands.connect(started.pid);
	await sandbox.commands.sendStdin(started.pid, "it\n");
	assert.equal((await command.wait()).stdout, "got it\n");
}

async function commandTimeout() {
	await assert.rejects(sandbox.commands.run("sleep 60", { timeoutMs: 300 }), e2b.TimeoutError);
	const isThere = async () => (await sandbox.commands.list()).some((one) => one.args.includes("sleep 60"));
	for (const end = Date.now() + 5000; await isThere();)
		assert.ok(Date.now() < end);
}

async function asRoot() {
	const name = process.geteuid() === 0 ? "root" : user;
	assert.equal((await sandbox.commands.run("id -un", { user: "root" })).stdout, `${name}\n`);
	await assert.rejects(sandbox.commands.run("true", { user: "nobody-here" }), e2b.AuthenticationError);
}

async function largeOutput() {
	const result = await sandbox.commands.run("head -c 5000000 /dev/zero | tr '\\0' x");
	assert.equal(result.stdout.length, 5_000_000);
}

async function terminal() {
	let screen = "";
	const sized = deferred();
	const resized = deferred();
	const look = () => {
		if (/24 80/.test(screen))
			sized.resolve();
		if (/30 100/.test(screen))
			resized.resolve();
	};
	const pty = await sandbox.pty.create({
		cols: 80, rows: 24, onData: (bytes) => ((screen += text(bytes)), look()),
	});
	await sandbox.pty.sendInput(pty.pid, Buffer.from("stty size\n"));
	await sized.promise;
	await sandbox.pty.resize(pty.pid, { cols: 100, rows: 30 });
	await sandbox.pty.sendInput(pty.pid, Buffer.from("stty size\n"));
	await resized.promise;
	await sandbox.pty.sendInput(pty.pid, Buffer.from("exit 4\n"));
	await assert.rejects(pty.wait(), (error) => error.exitCode === 4);
}

// ---- The end ---------------------------------------------------------------------------------------

async function receivedSecrets() {
	assert.equal((await server.get(`/received?contains=${server.urls.key}`)).found, false);
	assert.equal((await server.get("/received?contains=hello")).found, true);
}

async function kill() {
	assert.equal(await sandbox.kill(), true);
	assert.equal(await sandbox.isRunning(), false);
	await assert.rejects(sandbox.commands.run("true"), e2b.SandboxNotFoundError);
}

// The SDK goes by the version that it is told.
async function olderDaemon(version) {
	const older = await startServer("e2b", ["--envd", version]);
	const place = { apiUrl: older.urls.api_url, sandboxUrl: older.urls.sandbox_url };
	const one = await Sandbox.create("base", place);
	await one.files.write("f", "some text", { useOctetStream: true });
	assert.equal(await one.files.read("f"), "some text");
	assert.equal((await one.commands.run("cat f")).stdout, "some text");
	await one.kill();
	await older.stop();
}

async function snapshots() {
	await sandbox.files.write("kept", "then");
	const unnamed = await sandbox.createSnapshot();
	const named = await sandbox.createSnapshot({ name: "mine" });
	assert.deepEqual(named.names, [named.snapshotId]);
	await sandbox.files.write("kept", "now");
	const copy = await Sandbox.create(named.snapshotId);
	assert.equal(await copy.files.read("kept"), "then");
	await copy.kill();
	const listed = [];
	for (const pages = Sandbox.listSnapshots({ limit: 1 }); pages.hasNext;)
		listed.push(...(await pages.nextItems()).map(({ snapshotId }) => snapshotId));
	assert.deepEqual(listed, [unnamed.snapshotId, named.snapshotId]);
	assert.equal(await Sandbox.deleteSnapshot(unnamed.snapshotId), true);
	assert.equal(await Sandbox.deleteSnapshot(unnamed.snapshotId), false);
	await assert.rejects(Sandbox.create(unnamed.snapshotId), /not found/);
}

async function forks() {
	await sandbox.files.write("kept", "now");
	const [first, second] = await sandbox.fork({ count: 2, timeoutMs: 60_000 });
	assert.notEqual(first.sandboxId, second.sandboxId);
	assert.equal(await first.files.read("kept"), "now");
	await first.files.write("kept", "else");
	assert.equal(await sandbox.files.read("kept"), "now");
	await Promise.all([first.kill(), second.kill()]);
}

async function network() {
	const reached = async () => server.get(`/network/${sandbox.sandboxId}`);
	await sandbox.updateNetwork({ allowInternetAccess: false });
	assert.deepEqual(await reached(), { blocked: true, allowed: "" });
	await sandbox.updateNetwork({ allowOut: ["pypi.org"], denyOut: [e2b.ALL_TRAFFIC] });
	assert.deepEqual(await reached(), { blocked: true, allowed: "pypi.org" });
	await sandbox.updateNetwork({});
	assert.deepEqual(await reached(), { blocked: false, allowed: "" });
}

// Of the schema alone: the SDK has no call for it.
async function log() {
	const asked = async (query) => (await fetch(`${server.urls.api_url}/v2/sandboxes/${sandbox.sandboxId}/logs?${query}`,
		{ headers: { "X-API-Key": server.urls.key } })).json();
	const { logs } = await asked("direction=forward&limit=2");
	assert.deepEqual(logs.map(({ message }) => message), ["the sandbox starts", "the sandbox answers"]);
	assert.deepEqual((await asked("direction=backward")).logs.at(-1), logs[0]);
	assert.match((await asked("limit=1001")).message, /between 0 and 1000/);
}

async function privatePorts() {
	const one = await Sandbox.create("base", { network: { allowPublicTraffic: false }, volumeMounts: { "/home/user/v": "data" } });
	assert.match(one.trafficAccessToken, /^[0-9a-f]{64}$/);
	assert.equal((await Sandbox.connect(one.sandboxId)).trafficAccessToken, one.trafficAccessToken);
	assert.equal((await one.getInfo()).network.allowPublicTraffic, false);
	assert.deepEqual((await one.getInfo()).volumeMounts, [{ name: "data", path: "/home/user/v" }]);
	assert.equal(sandbox.trafficAccessToken, undefined);
	await one.kill();
}

const failed = await runTests([
	["build a template of an image", buildTemplate],
	["create", create],
	["info", info],
	["setTimeout may shorten, connect may not", setTimeoutAndConnect],
	["list with pages and a metadata filter; kill", listPages],
	["errors of the control plane", controlErrors],
	["429 with Retry-After is repeated", retryAfter],
	["metrics", metrics],
	["write and read text", filesText],
	["write and read bytes, multipart and raw, gzip", filesBytes],
	["write and read a stream", filesStream],
	["write many files", filesMany],
	["metadata of files", filesMetadata],
	["list", filesList],
	["stat", filesInfo],
	["mkdir, rename, exists, remove", filesChange],
	["watch", filesWatch],
	["errors of files", filesErrors],
	["signed URLs", signedUrls],
	["a command: output, directory, environment, user", foreground],
	["exit codes", exitCodes],
	["a command in the background with stdin", background],
	["kill a command", killed],
	["connect to a command", connectCommand],
	["a command's timeout", commandTimeout],
	["users", asRoot],
	["large output", largeOutput],
	["a terminal", terminal],
	["snapshots", snapshots],
	["forks", forks],
	["network", network],
	["log", log],
	["private ports and volumes", privatePorts],
	["pause and resume", pauseAndResume],
	["auto-resume", autoResume],
	["expiry", expiry],
	["the key never reaches a sandbox", receivedSecrets],
	["kill", kill],
	...["0.2.0", "0.3.0", "0.5.6", "0.5.7"].map((version) => [`a daemon of version ${version}`, () => olderDaemon(version)]),
]);
await server.stop();
process.exit(failed ? 1 : 0);
