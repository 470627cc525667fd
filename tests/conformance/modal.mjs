// Modal's own SDK against our test server: what it can do with the real service, it must be able to do here.
// The newest package of that name is somebody else's.
// npm: modal@0.11.1
// npm-newest: modal@0
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import { startServer } from "./server.mjs";
import { runTests } from "./tap.mjs";

// Where `run` has installed it.
const require = createRequire(path.join(process.env.CONFORMANCE_MODULES, "package.json"));
const modal = require("modal");

// The SDK renews access to a worker only when it has less than half a minute left.
const server = await startServer("modal", ["--page-size", "2", "--access-seconds", "25"]);
process.env.MODAL_CONFIG_PATH = "/nowhere";
const credentials = { tokenId: server.urls.env.MODAL_TOKEN_ID, tokenSecret: server.urls.env.MODAL_TOKEN_SECRET };

// The SDK dials loopback's workers in plaintext, so the control plane as well. `env`: for this client alone.
function makeClient(given = credentials, env = {}) {
	const all = { MODAL_SERVER_URL: server.urls.plain_url, ...env };
	Object.assign(process.env, all);
	const client = new modal.ModalClient({ logLevel: "error", ...given });
	Object.keys(all).forEach((name) => delete process.env[name]);
	return client;
}

const client = makeClient();
let app;
let image;
let sandbox;

async function output(command, params) {
	const process = await sandbox.exec(command, params);
	const [out, err, code] = await Promise.all([process.stdout.readText(), process.stderr.readText(), process.wait()]);
	return { out, err, code };
}

const fault = (kind, action, match = {}) => server.post("/faults", { match: { kind, ...match }, action });

async function collect(generator) {
	const all = [];
	for await (const one of generator)
		all.push(one);
	return all;
}

// ---- Lifecycle -------------------------------------------------------------------------------------

async function create() {
	app = await client.apps.fromName("conformance", { createIfMissing: true });
	image = client.images.fromRegistry("alpine:3.21");
	sandbox = await client.sandboxes.create(app, image, {
		timeoutMs: 120_000, env: { GREETING: "hello" }, tags: { k: "v" }, name: "first", workdir: "/tmp", cpu: 0.5, memoryMiB: 512,
	});
	assert.match(sandbox.sandboxId, /^sb-[0-9A-Za-z]{23,}$/);
	assert.equal(await sandbox.poll(), null);
}

async function refusesCreation() {
	await assert.rejects(client.apps.fromName("nothing-of-that-name"), modal.NotFoundError);
	await assert.rejects(client.sandboxes.create(app, image, { name: "first" }), modal.AlreadyExistsError);
	await assert.rejects(client.sandboxes.create(app, client.images.fromRegistry("does-not-exist")), /manifest unknown/);
	await assert.rejects(client.sandboxes.create(app, image, { timeoutMs: 25 * 3_600_000 }), /timeout/);
}

async function findsByIdAndName() {
	sandbox = await client.sandboxes.fromId(sandbox.sandboxId);
	assert.equal((await client.sandboxes.fromName("conformance", "first")).sandboxId, sandbox.sandboxId);
	await assert.rejects(client.sandboxes.fromName("conformance", "second"), modal.NotFoundError);
	assert.equal((await output(["pwd"])).out, "/tmp\n");
}

async function refusesUnknownIds() {
	const nobody = await client.sandboxes.fromId(`sb-${"x".repeat(26)}`);
	await assert.rejects(nobody.exec(["true"]), /NOT_FOUND/);
}

async function tags() {
	assert.deepEqual(await sandbox.getTags(), { k: "v" });
	await sandbox.setTags({ k: "w" });
	assert.deepEqual(await sandbox.getTags(), { k: "w" });
}

async function listsInPages() {
	const others = await Promise.all([1, 2, 3].map(() => client.sandboxes.create(app, image)));
	const all = await collect(client.sandboxes.experimentalList({ appId: app.appId }));
	assert.deepEqual(all.map((one) => one.sandboxId).sort(), [sandbox, ...others].map((one) => one.sandboxId).sort());
	const tagged = await collect(client.sandboxes.experimentalList({ tags: { k: "w" } }));
	assert.deepEqual(tagged.map((one) => one.sandboxId), [sandbox.sandboxId]);
	await Promise.all(others.map((one) => one.terminate()));
	assert.equal((await collect(client.sandboxes.experimentalList())).length, 1);
}

async function terminates() {
	const short = await client.sandboxes.create(app, image);
	assert.equal(await short.terminate({ wait: true }), 137);
	assert.equal(await (await client.sandboxes.fromId(short.sandboxId)).poll(), 137);
}

async function tunnels() {
	const open = await client.sandboxes.create(app, image, { encryptedPorts: [3000] });
	assert.match((await open.tunnels())[3000].url, /^https:\/\/[^/:]+$/);
	await open.terminate();
	assert.deepEqual(await sandbox.tunnels(), {});
}

async function expires() {
	const short = await client.sandboxes.create(app, image, { timeoutMs: 1000 });
	assert.equal(await short.wait(), 124);
}

async function idlesOut() {
	const idle = await client.sandboxes.create(app, image, { idleTimeoutMs: 1000 });
	await idle.wait();
	assert.notEqual(await idle.poll(), null);
}

async function firstVersion() {
	const old = makeClient(credentials, { MODAL_SANDBOX_V2: "0" });
	const made = await old.sandboxes.create(app, image, { env: { OLD: "yes" }, name: "old" });
	assert.match(made.sandboxId, /^sb-[0-9A-Za-z]{22}$/);
	const process = await made.exec(["sh", "-c", "echo $OLD"]);
	assert.equal(await process.stdout.readText(), "yes\n");
	assert.equal((await client.sandboxes.fromName("conformance", "old")).sandboxId, made.sandboxId);
	await made.terminate();
	old.close();
}

async function refusesWrongKeys() {
	const stranger = makeClient({ ...credentials, tokenSecret: "as-wrong" });
	await assert.rejects(stranger.apps.fromName("conformance"), /UNAUTHENTICATED/);
	stranger.close();
}

// ---- Commands --------------------------------------------------------------------------------------

async function runsCommands() {
	const got = await output(["sh", "-c", "echo $GREETING $MORE; pwd; echo oops >&2; exit 3"],
		{ workdir: "/root", env: { MORE: "more" } });
	assert.deepEqual(got, { out: "hello more\n/root\n", err: "oops\n", code: 3 });
}

async function tellsSignals() {
	assert.equal((await output(["sh", "-c", "kill -TERM $$"])).code, 143);
}

async function killsAtTheTimeLimit() {
	const process = await sandbox.exec(["sleep", "60"], { timeoutMs: 1000, stdout: "ignore", stderr: "ignore" });
	assert.equal(await process.wait(), 137);
}

async function refusesCommands() {
	await assert.rejects(sandbox.exec(["pwd"], { workdir: "relative" }), /absolute/);
	await assert.rejects(sandbox.exec(["/no/such/program"]), /INVALID_ARGUMENT/);
}

async function feedsStdin() {
	const process = await sandbox.exec(["cat"], { mode: "binary" });
	const bytes = Uint8Array.from({ length: 700 << 10 }, (_, i) => i % 256);
	const writer = process.stdin.getWriter();
	await writer.write(bytes);
	await writer.close();
	assert.deepEqual(Buffer.from(await process.stdout.readBytes()), Buffer.from(bytes));
	assert.equal(await process.wait(), 0);
}

async function streamsOutput() {
	const process = await sandbox.exec(["sh", "-c", "echo one; read line; echo $line"]);
	const reader = process.stdout.getReader();
	assert.equal((await reader.read()).value, "one\n");
	const writer = process.stdin.getWriter();
	await writer.write("two\n");
	await writer.close();
	assert.equal((await reader.read()).value, "two\n");
	assert.equal(await process.wait(), 0);
}

// ---- Files -----------------------------------------------------------------------------------------

async function filesAsText() {
	await sandbox.filesystem.writeText("hello world\n", "/root/w/one.txt");
	assert.equal(await sandbox.filesystem.readText("/root/w/one.txt"), "hello world\n");
	const here = path.join(server.root, sandbox.sandboxId, "root/w/one.txt");
	assert.equal(fs.readFileSync(here, "utf8"), "hello world\n");
}

async function filesAsBytes() {
	const bytes = Uint8Array.from({ length: 700 << 10 }, (_, i) => i % 251);
	await sandbox.filesystem.writeBytes(bytes, "/root/w/bytes ü");
	assert.deepEqual(Buffer.from(await sandbox.filesystem.readBytes("/root/w/bytes ü")), Buffer.from(bytes));
}

async function filesAreListed() {
	await sandbox.filesystem.makeDirectory("/root/w/d");
	const listed = await sandbox.filesystem.listFiles("/root/w");
	assert.deepEqual(listed.map((one) => one.name), ["bytes ü", "d", "one.txt"]);
	assert.equal((await sandbox.filesystem.stat("/root/w/one.txt")).size, 12);
	await sandbox.filesystem.remove("/root/w", { recursive: true });
	await assert.rejects(sandbox.filesystem.stat("/root/w"), modal.SandboxFilesystemNotFoundError);
}

async function filesRefuse() {
	await assert.rejects(sandbox.filesystem.readText("/root/none"), modal.SandboxFilesystemNotFoundError);
	await assert.rejects(sandbox.filesystem.readText("/root"), modal.SandboxFilesystemIsADirectoryError);
	await assert.rejects(sandbox.filesystem.makeDirectory("/root", { createParents: false }), modal.SandboxFilesystemPathAlreadyExistsError);
}

// ---- Trouble ---------------------------------------------------------------------------------------

async function expiredAccessIsRenewed() {
	await server.post("/reset");
	await output(["true"]);
	await server.post(`/expire/${sandbox.sandboxId}`);
	assert.equal((await output(["echo", "again"])).out, "again\n");
	assert.equal((await server.get("/counters")).kinds.SandboxGetCommandRouterAccess.requests, 1);
}

async function unavailableIsRepeated() {
	await fault("SandboxWaitV2", { type: "grpc_status", status: 14 }, { times: 2 });
	assert.equal(await sandbox.poll(), null);
	await fault("TaskExecStart", { type: "grpc_status", status: 14 });
	assert.equal((await output(["echo", "once"])).out, "once\n");
}

async function throttlingIsObeyed() {
	await server.post("/reset");
	await fault("SandboxWaitV2", { type: "grpc_status", status: 8, retry_after: 0.2 });
	assert.equal(await sandbox.poll(), null);
	assert.equal((await server.get("/counters")).kinds.SandboxWaitV2.requests, 2);
}

async function outputsResume() {
	await fault("TaskExecStdioRead", { type: "cut_after", bytes: 100_000 });
	const { out, code } = await output(["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x"]);
	assert.equal(out.length, 300_000);
	assert.equal(code, 0);
}

const failed = await runTests([
	["a sandbox is created", create],
	["creation is refused", refusesCreation],
	["a sandbox is found by id and by name", findsByIdAndName],
	["unknown ids are refused", refusesUnknownIds],
	["tags are read and set", tags],
	["sandboxes are listed in pages", listsInPages],
	["a terminated sandbox says so", terminates],
	["ports that were opened have URLs", tunnels],
	["a sandbox ends with its time", expires],
	["an idle sandbox ends", idlesOut],
	["the first version of the calls", firstVersion],
	["wrong keys are refused", refusesWrongKeys],
	["commands run", runsCommands],
	["signals end commands", tellsSignals],
	["the time limit ends commands", killsAtTheTimeLimit],
	["commands are refused", refusesCommands],
	["stdin is fed", feedsStdin],
	["output comes as it is said", streamsOutput],
	["files as text", filesAsText],
	["files as bytes", filesAsBytes],
	["files are listed, made and removed", filesAreListed],
	["refused files", filesRefuse],
	["expired access to a worker is renewed", expiredAccessIsRenewed],
	["what is unavailable is asked again", unavailableIsRepeated],
	["a time to wait is obeyed", throttlingIsObeyed],
	["a cut output goes on where it was", outputsResume],
]);
await sandbox.terminate();
client.close();
await server.stop();
process.exit(failed ? 1 : 0);
