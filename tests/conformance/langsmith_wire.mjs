// What the SDK does not show: how strict our LangSmith server is, its answers byte by byte, and that its faults are real.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import http from "node:http";

import { startServer } from "./server.mjs";
import { runTests } from "./tap.mjs";
import { request } from "./wire.mjs";

const server = await startServer("langsmith", ["--max-sandboxes", "3", "--second-ms", "5"]);
const hasty = await startServer("langsmith", ["--proxy-timeout-s", "1", "--output-max", "3"]);
const old = await startServer("langsmith", ["--old"]);
const routerless = await startServer("langsmith", ["--no-router"]);
const { key } = server.urls;

const json = ({ body }) => JSON.parse(body.toString());
const ask = (url, method, value, headers = {}) => request(url, {
	method,
	headers: { "X-Api-Key": key, ...(value === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
	body: value === undefined ? undefined : JSON.stringify(value),
});
const control = (method, path, value, headers) =>
	ask(`${server.urls.api_url}/api/v2/sandboxes${path}`, method, value, headers);
const createdBy = async (one) => {
	const { id } = await one.post("/create");
	return json(await ask(`${one.urls.api_url}/api/v2/sandboxes/boxes/${id}`, "GET"));
};
const box = await createdBy(server);
const hastyBox = await createdBy(hasty);
const data = (method, path, value, headers) => ask(`${box.dataplane_url}${path}`, method, value, headers);
const execute = (command, more = {}) => data("POST", "/execute", { command, timeout: 20, ...more });
const executeHastily = (command) => ask(`${hastyBox.dataplane_url}/execute`, "POST", { command, timeout: 20 });

function form(content, disposition = 'name="file"; filename="file"') {
	const body = Buffer.concat([
		Buffer.from(`--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
		Buffer.from(content),
		Buffer.from("\r\n--b--\r\n"),
	]);
	return { method: "POST", headers: { "X-Api-Key": key, "Content-Type": "multipart/form-data; boundary=b" }, body };
}
const upload = (path, ...content) => request(`${box.dataplane_url}/upload?path=${path}`, form(...content));
const fault = (kind, action, match = {}) => server.post("/faults", { match: { kind, ...match }, action });

const eventually = async (isDone) => {
	for (const end = Date.now() + 15_000; !await isDone();)
		assert.ok(Date.now() < end, "it never came about");
};

// ---- Control plane ---------------------------------------------------------------------------------

async function keys() {
	for (const url of [`${server.urls.api_url}/api/v2/sandboxes/boxes`, `${box.dataplane_url}/download?path=/etc/passwd`]) {
		const none = await request(url);
		assert.equal(none.status, 401);
		assert.equal(typeof json(none).detail, "string");
		assert.equal((await request(url, { headers: { "X-Api-Key": `${key}0` } })).status, 403);
		assert.equal((await request(url, { headers: { Authorization: `Bearer ${key}` } })).status, 401);
	}
}

async function fourForms() {
	assert.equal(typeof json(await ask(`${server.urls.api_url}/elsewhere`, "GET")).detail, "string");
	const typed = json(await control("GET", "/boxes/nobody")).detail;
	assert.equal(typed.error, "ResourceNotFound");
	assert.match(typed.message, /nobody/);
	const [complaint] = json(await control("POST", "/boxes", { idle_ttl_seconds: 61 })).detail;
	assert.deepEqual(complaint.loc, ["body", "idle_ttl_seconds"]);
	const flat = json(await ask(`${server.urls.sandbox_url}/box/0000/execute`, "POST", {}));
	assert.deepEqual(flat, { error: "NotFound", message: "sandbox not found" });
}

async function refusals() {
	const boxes = `${server.urls.api_url}/api/v2/sandboxes/boxes`;
	const untyped = await request(boxes, { method: "POST", headers: { "X-Api-Key": key }, body: "{}" });
	assert.equal(untyped.status, 422);
	for (const bad of [{ name: 5 }, { labels: { a: 1 } }, { snapshot_id: "a", snapshot_name: "b" }, { mem_bytes: 2 ** 50 },
		{ run_config: { work_dir: "relative" } }, { timeout: 1.5 }, { delete_after_stop_seconds: -60 }, { persistant: false },
		{ persistent: "false" }, { persistent: false, preserve_memory_on_stop: true },
		{ persistent: false, vcpus: 1, fs_capacity_bytes: 17 * 2 ** 30 }])
		assert.equal((await control("POST", "/boxes", bad)).status, 422, JSON.stringify(bad));
	assert.equal((await control("POST", "/boxes", { snapshot_name: "nowhere" })).status, 404);
	assert.equal((await control("PATCH", `/boxes/${box.id}`, { idle_ttl: 60 })).status, 422);
	assert.equal((await control("POST", `/boxes/${box.id}/service-url`, { port: 80, expires: 5 })).status, 422);
	assert.equal((await ask(`${server.urls.api_url}/v2/sandboxes/boxes`, "GET")).status, 404);
	assert.equal((await control("PUT", "/boxes/x")).status, 405);
	assert.equal((await control("GET", "/boxes?page_size=0")).status, 422);
	assert.equal((await control("GET", "/boxes?cursor=made-up")).status, 422);
	assert.equal((await control("POST", `/boxes/${box.id}/start`, {})).status, 400);
	assert.equal((await control("POST", "/boxes/nobody/stop", {})).status, 404);
}

async function quota() {
	const names = [];
	for (let i = 0; i < 2; i++)
		names.push(json(await control("POST", "/boxes", { wait_for_ready: true })).name);
	const refused = await control("POST", "/boxes", {});
	assert.equal(refused.status, 429);
	assert.match(json(refused).detail.message, /sandbox count/);
	await Promise.all(names.map((name) => control("DELETE", `/boxes/${name}`)));
}

async function lastPage() {
	const page = json(await control("GET", "/boxes?page_size=1"));
	assert.equal(page.next_cursor, null);
	assert.deepEqual(page.items, page.sandboxes);
}

async function noRouter() {
	const made = await createdBy(routerless);
	assert.equal(made.dataplane_url, null);
	assert.equal(made.status, "ready");
}

async function idle() {
	const made = json(await control("POST", "/boxes", { wait_for_ready: true, idle_ttl_seconds: 60 }));
	const status = async () => json(await control("GET", `/boxes/${made.id}/status`)).status;
	await eventually(async () => await status() === "stopped");
	const woken = await ask(`${made.dataplane_url}/execute`, "POST", { command: "echo up", timeout: 5 });
	assert.equal(json(woken).stdout, "up\n");
	await control("DELETE", `/boxes/${made.id}`);
	assert.equal((await ask(`${made.dataplane_url}/execute`, "POST", { command: "true", timeout: 5 })).status, 404);
}

async function keptMemory() {
	const wanted = { wait_for_ready: true, idle_ttl_seconds: 0, preserve_memory_on_stop: true };
	const made = json(await control("POST", "/boxes", wanted));
	const run = async (command) => json(await ask(`${made.dataplane_url}/execute`, "POST", { command, timeout: 5 })).stdout;
	const pid = await run("setsid sleep 600 >/dev/null 2>&1 & echo $!; echo x >/tmp/memory");
	assert.equal((await control("POST", `/boxes/${made.id}/stop`, {})).status, 204);
	assert.equal(await run(`kill -0 ${pid.trim()} && cat /tmp/memory`), "x\n");
	await control("DELETE", `/boxes/${made.id}`);
}

async function disposable() {
	const made = json(await control("POST", "/boxes", { wait_for_ready: true, idle_ttl_seconds: 0, persistent: false }));
	const run = async (command) => json(await ask(`${made.dataplane_url}/execute`, "POST", { command, timeout: 5 })).stdout;
	assert.equal(made.persistent, false);
	await run("echo x >/root/file; echo x >/home/file");
	assert.equal((await control("POST", `/boxes/${made.id}/snapshot`, { name: "none" })).status, 400);
	assert.equal((await control("POST", `/boxes/${made.id}/stop`, {})).status, 204);
	assert.equal(await run("cat /root/file /home/file; echo over"), "over\n");
	await control("DELETE", `/boxes/${made.id}`);
}

// ---- Commands --------------------------------------------------------------------------------------

async function executeRefusals() {
	for (const bad of [{}, { command: 5 }, { command: "true", timeout: 0 }, { command: "true", env: { A: 1 } }])
		assert.equal((await data("POST", "/execute", bad)).status, 422, JSON.stringify(bad));
	const both = await execute("true", { cwd: "/", run_config: { work_dir: "/" } });
	assert.equal(both.status, 400);
	assert.equal(json(both).detail.error, "InvalidRequest");
	assert.equal((await data("GET", "/execute")).status, 405);
	assert.equal((await data("POST", "/_reload")).status, 404);
}

async function textOnly() {
	assert.equal(json(await execute("printf '\\377ok'")).stdout, "\ufffdok");
}

async function longOutput() {
	let answer;
	await eventually(async () => (answer = await executeHastily("echo 12345; echo 1 >&2")).status === 200);
	assert.deepEqual(json(answer), { stdout: "123", stderr: "1\n", exit_code: 0 });
}

async function signalled() {
	assert.equal(json(await execute("kill -9 $$")).exit_code, -1);
}

async function longCommand() {
	const refused = await execute(`: ${"x".repeat(131_072)}`);
	assert.equal(json(refused).detail.error, "CommandError");
	assert.match(json(refused).detail.message, /argument list too long/);
}

async function timeout() {
	const refused = await execute("sleep 60", { timeout: 1, shell: "/bin/sh" });
	assert.equal(refused.status, 408);
	assert.equal(json(refused).detail.error, "CommandTimeout");
}

async function proxyLimit() {
	const refused = await executeHastily("mkfifo /root/gate; read _ </root/gate; echo on >/root/went");
	assert.equal(refused.status, 504);
	assert.equal(json(refused).error, "GatewayTimeout");
	await executeHastily("echo >/root/gate");
	await eventually(async () => (await ask(`${hastyBox.dataplane_url}/download?path=/root/went`, "GET")).status === 200);
}

async function heldOutput() {
	assert.equal((await executeHastily("sleep 600 & echo $! >/root/pid")).status, 504);
	await executeHastily("kill $(cat /root/pid)");
	assert.equal((await execute("sleep 600 >/dev/null 2>&1 & echo $! >/root/pid")).status, 200);
	await execute("kill $(cat /root/pid)");
}

// ---- Files -----------------------------------------------------------------------------------------

async function uploads() {
	assert.deepEqual(json(await upload("/root/f", "0123456789")), { path: "/root/f", written: 10 });
	assert.equal((await upload("/root/g", "x", 'name="other"; filename="file"')).status, 422);
	assert.equal((await upload("/root/g", "x", 'name="file"')).status, 422);
	const raw = { method: "POST", headers: { "X-Api-Key": key, "Content-Type": "application/octet-stream" }, body: "x" };
	assert.equal((await request(`${box.dataplane_url}/upload?path=/root/g`, raw)).status, 422);
	assert.equal((await data("GET", "/download?path=/root/g")).status, 404);
	assert.equal((await upload("", "x")).status, 422);
	assert.equal((await upload("relative", "x")).status, 400);
	const missing = await upload("/root/no/such", "x");
	assert.equal(missing.status, 500);
	assert.equal(json(missing).detail.error, "WriteError");
}

async function ranges() {
	const get = (headers, method = "GET") => data(method, "/download?path=/root/f", undefined, headers);
	const head = await get({}, "HEAD");
	assert.equal(head.headers["content-length"], "10");
	const { etag } = head.headers;
	const part = await get({ Range: "bytes=7-20" });
	assert.deepEqual([part.status, part.headers["content-range"], part.body.toString(), part.headers.etag],
		[206, "bytes 7-9/10", "789", etag]);
	assert.equal((await get({ Range: "bytes=-2" })).body.toString(), "89");
	const past = await get({ Range: "bytes=10-" });
	assert.deepEqual([past.status, past.headers["content-range"]], [416, "bytes */10"]);
	assert.throws(() => json(past));
	const same = await get({ "If-None-Match": etag });
	assert.deepEqual([same.status, same.body.length, same.headers.etag], [304, 0, etag]);
	assert.equal((await get({ Range: "bytes=7-", "If-Range": '"other"' })).status, 200);
	await upload("/root/f", "0123456789");
	assert.notEqual((await get({}, "HEAD")).headers.etag, etag);
}

async function olderServers() {
	const made = await createdBy(old);
	const file = `${made.dataplane_url}/download?path=/etc/passwd`;
	assert.equal((await ask(file, "HEAD")).status, 405);
	const whole = await ask(file, "GET", undefined, { Range: "bytes=1-2" });
	assert.deepEqual([whole.status, whole.headers.etag], [200, undefined]);
	assert.equal((await ask(`${made.dataplane_url}/glob`, "POST", { pattern: "*", path: "/" })).status, 404);
}

// ---- WebSockets ------------------------------------------------------------------------------------

function frame(opcode, payload, { first = 0x80 | opcode, isMasked = true } = {}) {
	const bytes = Buffer.from(payload);
	const mask = randomBytes(4);
	const head = bytes.length < 126 ? [first, bytes.length] : [first, 126, bytes.length >> 8, bytes.length & 255];
	head[1] |= isMasked ? 0x80 : 0;
	return Buffer.concat([Buffer.from(head), ...(isMasked ? [mask, bytes.map((byte, i) => byte ^ mask[i & 3])] : [bytes])]);
}

const KEY = "MDEyMzQ1Njc4OWFiY2RlZg==";
const TEXT = 1;
const [CLOSE, PING, PONG] = [8, 9, 10];

function handshake(headers = {}) {
	return new Promise((resolve, reject) => {
		const req = http.request(`${box.dataplane_url}/execute/ws`, { agent: false, headers: {
			"X-Api-Key": key, Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13",
			"Sec-WebSocket-Key": KEY, "Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits",
			...headers,
		} });
		req.once("upgrade", (res, socket, first) => resolve({ res, socket, first }));
		req.once("response", (res) => (res.resume(), resolve({ res })));
		req.once("error", reject).end();
	});
}

// Sends the frames; resolves with those that come, up to one of `last`.
async function talk(frames, last = CLOSE) {
	const { socket, first } = await handshake();
	let held = first;
	const came = [];
	socket.write(Buffer.concat(frames));
	for (const chunks = socket[Symbol.asyncIterator](); ;) {
		while (held.length > 1 && held.length >= 2 + (held[1] & 0x7f)) {
			const size = 2 + held[1];
			came.push({ opcode: held[0] & 15, payload: held.subarray(2, size) });
			held = held.subarray(size);
			if (came.at(-1).opcode === last)
				return socket.destroy(), came;
		}
		const { value, done } = await chunks.next();
		assert.ok(!done, "the connection ended before");
		held = Buffer.concat([held, value]);
	}
}

const closeCode = async (...frames) => (await talk(frames)).at(-1).payload.readUInt16BE(0);

async function handshakes() {
	const { res, socket } = await handshake();
	const accept = createHash("sha1").update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
	assert.equal(res.headers["sec-websocket-accept"], accept);
	assert.equal(res.headers["sec-websocket-extensions"], undefined);
	socket.destroy();
	assert.equal((await handshake({ "X-Api-Key": "wrong" })).res.statusCode, 403);
	assert.equal((await handshake({ "Sec-WebSocket-Version": "8" })).res.statusCode, 400);
	assert.equal((await handshake({ "Sec-WebSocket-Key": "short" })).res.statusCode, 400);
}

async function frames() {
	assert.equal(await closeCode(frame(TEXT, "{}", { isMasked: false })), 1002);
	assert.equal(await closeCode(frame(TEXT, "{}", { first: 0xc1 })), 1002);
	assert.equal(await closeCode(frame(2, "{}")), 1003);
	assert.equal(await closeCode(frame(TEXT, Buffer.from([0xff]))), 1007);
	assert.equal(await closeCode(frame(0, "nothing to continue")), 1002);
	const [pong] = await talk([frame(PING, "are you there")], PONG);
	assert.equal(pong.payload.toString(), "are you there");
	assert.equal(await closeCode(frame(CLOSE, Buffer.from([0x03, 0xe8]))), 1000);
}

async function messagesInPieces() {
	const message = { type: "execute", command: "echo \u00fc", close_stdin: true };
	const bytes = Buffer.from(JSON.stringify(message));
	const came = await talk([
		frame(TEXT, bytes.subarray(0, 40), { first: TEXT }), frame(PING, ""), frame(0, bytes.subarray(40)),
	], TEXT);
	assert.deepEqual(came.map(({ opcode }) => opcode), [PONG, TEXT]);
	const [started, said, exit] = await exchange(message);
	assert.equal(started.type, "started");
	assert.deepEqual(said, { type: "stdout", data: "\u00fc\n", offset: 0 });
	assert.deepEqual(exit, { type: "exit", exit_code: 0 });
}

// The messages that answer a first one, up to exit or error.
async function exchange(message) {
	const { socket, first } = await handshake();
	socket.write(frame(TEXT, JSON.stringify(message)));
	const messages = [];
	let held = first;
	for await (const chunk of socket) {
		held = Buffer.concat([held, chunk]);
		while (held.length > 1 && held.length >= 2 + (held[1] & 0x7f)) {
			messages.push(JSON.parse(held.subarray(2, 2 + held[1]).toString()));
			held = held.subarray(2 + held[1]);
			if (["exit", "error"].includes(messages.at(-1).type))
				return messages;
		}
	}
	throw new Error("the connection ended before the command");
}

async function sessions() {
	const id = "01a1fba4-2058-7000-8000-00000000000a";
	await exchange({ type: "execute", command: "echo a\u00fcb; echo x >>/root/runs", command_id: id, close_stdin: true });
	const again = await exchange({ type: "reconnect", command_id: id, stdout_offset: 3, stderr_offset: 0 });
	assert.deepEqual(again.slice(1), [{ type: "stdout", data: "b\n", offset: 3 }, { type: "exit", exit_code: 0 }]);
	await exchange({ type: "execute", command: "echo x >>/root/runs", command_id: id, close_stdin: true });
	assert.equal((await data("GET", "/download?path=/root/runs")).body.toString(), "x\n");
	const [unknown] = await exchange({ type: "reconnect", command_id: "unknown" });
	assert.equal(unknown.error_type, "CommandNotFound");
	const [failed] = await exchange({ type: "execute", command: "true", cwd: "/no/such" });
	assert.equal(failed.error_type, "CommandError");
	const late = await exchange({ type: "execute", command: "sleep 60", timeout_seconds: 1, close_stdin: true });
	assert.equal(late.at(-1).error_type, "CommandTimeout");
}

// ---- Faults ----------------------------------------------------------------------------------------

async function faults() {
	await fault("POST /execute", { type: "status", status: 429, retry_after: 2 });
	const refused = await execute("echo x >/root/refused");
	assert.deepEqual([refused.status, refused.headers["retry-after"]], [429, "2"]);
	assert.equal((await data("GET", "/download?path=/root/refused")).status, 404);
	await fault("POST /execute", { type: "cut_after", bytes: 5 });
	await assert.rejects(execute("echo x >/root/done"), (error) => error.partial.length === 5);
	assert.equal((await data("GET", "/download?path=/root/done")).status, 200);
	await fault("GET /download", { type: "cut_after", bytes: 4 });
	await assert.rejects(data("GET", "/download?path=/root/f"), (error) => error.partial.length === 4);
	await fault("GET /download", { type: "truncate", bytes: 4 });
	assert.equal((await data("GET", "/download?path=/root/f")).body.length, 4);
	await fault("WS /execute/ws", { type: "status", status: 503 });
	assert.equal((await handshake()).res.statusCode, 503);
}

async function counters() {
	await server.post("/reset");
	await execute("true");
	await data("GET", "/download?path=/root/f");
	const { kinds } = await server.get("/counters");
	assert.deepEqual(Object.keys(kinds).sort(), ["GET /download", "POST /execute"]);
	assert.equal(kinds["GET /download"].bytes_out, 10);
}

const failed = await runTests([
	["keys on both planes", keys],
	["errors in four forms", fourForms],
	["refused requests", refusals],
	["quota", quota],
	["the last page has no cursor", lastPage],
	["without a router there is no data plane", noRouter],
	["idle sandboxes stop and wake", idle],
	["memory may live through a stop", keptMemory],
	["what is not persistent is discarded at a stop", disposable],
	["execute: refused requests", executeRefusals],
	["execute: output is text", textOnly],
	["execute: nobody is told of output that is cut", longOutput],
	["execute: what a signal ended", signalled],
	["execute: a command longer than Linux's limit", longCommand],
	["execute: its timeout", timeout],
	["execute: what the router gives up goes on", proxyLimit],
	["execute: waits for whoever holds the output", heldOutput],
	["uploads", uploads],
	["ranges, 304 and 416", ranges],
	["older servers", olderServers],
	["WebSocket handshakes", handshakes],
	["WebSocket frames", frames],
	["WebSocket messages in pieces", messagesInPieces],
	["sessions", sessions],
	["faults", faults],
	["counters", counters],
]);
await Promise.all([server, hasty, old, routerless].map((one) => one.stop()));
process.exit(failed ? 1 : 0);
