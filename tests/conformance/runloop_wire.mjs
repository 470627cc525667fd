// What the SDK does not show: how strict our Runloop server is, its answers byte by byte, and that its faults are real.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import path from "node:path";

import { startServer } from "./server.mjs";
import { runTests } from "./tap.mjs";
import { request } from "./wire.mjs";

const server = await startServer("runloop", ["--hold-ms", "300", "--body-idle-ms", "300", "--stream-idle-ms", "300"]);
const { api_url: api, admin_url: admin, key } = server.urls;
const { id } = await server.post("/create");
const home = path.join(server.root, id, "home/user");
const AUTH = { Authorization: `Bearer ${key}` };

const ask = (method, where, value, headers = {}) => request(`${api}/v1/devboxes${where}`, {
	method,
	headers: { ...AUTH, ...(value === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
	body: value === undefined ? undefined : JSON.stringify(value),
});
const post = (where, value, headers) => ask("POST", `/${id}${where}`, value, headers);
const json = ({ body }) => JSON.parse(body.toString());
let commands = 0;
const commandId = () => `01a1fba2-5808-7173-a0f0-${String(commands++).padStart(12, "0")}`;
const execute = (command, more = {}, query = "") => post(`/execute${query}`, { command, command_id: commandId(), ...more });
const BOUNDARY = "xxxBOUNDARYxxx";
const part = (disposition, text) => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${text}\r\n`;
const upload = (parts) => request(`${api}/v1/devboxes/${id}/upload_file`, {
	method: "POST",
	headers: { ...AUTH, "Content-Type": `multipart/form-data; boundary=${BOUNDARY}` },
	body: `${parts.join("")}--${BOUNDARY}--\r\n`,
});
const fault = (kind, action) => server.post("/faults", { match: { kind }, action });

// ---- Strictness ------------------------------------------------------------------------------------

async function keys() {
	assert.equal((await request(`${api}/v1/devboxes`)).status, 401);
	for (const wrong of [key, `Bearer ${key}x`, "Bearer ", `Basic ${key}`]) {
		const refused = await request(`${api}/v1/devboxes/${id}`, { headers: { Authorization: wrong } });
		assert.equal(refused.status, 401);
		assert.ok(json(refused).message);
	}
}

async function routes() {
	assert.equal((await ask("GET", "/dbx_unknown")).status, 404);
	assert.equal((await ask("DELETE", `/${id}`)).status, 405);
	assert.equal((await ask("GET", `/${id}/execute`)).status, 405);
	assert.equal((await ask("POST", `/${id}/list_files`, {})).status, 404);
	assert.equal((await post("/executions/exec_unknown/wait_for_status", { statuses: ["completed"] })).status, 404);
}

async function bodies() {
	const untyped = await request(`${api}/v1/devboxes/${id}/execute`, { method: "POST", headers: AUTH, body: "{}" });
	assert.equal(untyped.status, 415);
	const broken = await request(`${api}/v1/devboxes/${id}/execute`,
		{ method: "POST", headers: { ...AUTH, "Content-Type": "application/json" }, body: "{" });
	assert.equal(broken.status, 400);
	for (const wrong of [
		{ name: 5 }, { unknown: "x" }, { metadata: { k: 1 } }, { blueprint_id: "a", snapshot_id: "b" },
		{ launch_parameters: { keep_alive_time_seconds: 0 } }, { launch_parameters: { custom_cpu_cores: 2 } },
		{ launch_parameters: { resource_size_request: "CUSTOM_SIZE", custom_cpu_cores: 2, custom_gb_memory: 32 } },
		{ launch_parameters: { resource_size_request: "CUSTOM_SIZE", custom_cpu_cores: 3, custom_gb_memory: 8 } },
	])
		assert.equal((await ask("POST", "", wrong)).status, 400, JSON.stringify(wrong));
}

async function commandsAreChecked() {
	assert.equal((await post("/execute", { command: "true" })).status, 400);
	assert.equal((await post("/execute", { command: "true", command_id: "d3b07384-d9a0-4c9b-8f3e-0123456789ab" })).status, 400);
	assert.equal((await execute("true", { optimistic_timeout: 26 })).status, 400);
	assert.equal((await execute("true", { attach_stdin: true })).status, 400);
	assert.equal((await execute("true", {}, "?last_n=all")).status, 400);
	const long = (length) => execute(`: ${"x".repeat(length - 2)}`);
	assert.equal(json(await long(131_000)).exit_status, 0);
	assert.equal((await long(131_001)).status, 400);
}

async function forms() {
	assert.equal((await upload([part('name="file"; filename="f"', "x"), part('name="path"', "f")])).status, 400);
	assert.equal((await upload([part('name="path"', "f")])).status, 400);
	assert.equal((await upload([part('name="path"', "none/f"), part('name="file"; filename="f"', "x")])).status, 400);
	assert.equal((await post("/upload_file", {})).status, 415);
	const good = await upload([part('name="path"', "f"), part('name="file"; filename="other"', "con\0tents")]);
	assert.deepEqual([good.status, json(good)], [200, {}]);
	assert.equal(fs.readFileSync(path.join(home, "f"), "utf8"), "con\0tents");
	assert.equal(fs.statSync(path.join(home, "f")).mode & 0o777, 0o644);
}

// ---- Answers ---------------------------------------------------------------------------------------

async function notYetCompleted() {
	const started = json(await execute("sleep 1", { optimistic_timeout: 0 }));
	assert.deepEqual([started.stdout, started.exit_status], [undefined, undefined]);
	const wait = () => post(`/executions/${started.execution_id}/wait_for_status`, { statuses: ["completed"] });
	const early = await wait();
	assert.deepEqual([early.status, early.headers["x-should-retry"]], [408, "true"]);
	let last = early;
	while (last.status === 408)
		last = await wait();
	assert.deepEqual([json(last).status, json(last).exit_status, json(last).stdout], ["completed", 0, ""]);
}

async function notYetSuspended() {
	const early = await post("/wait_for_status", { statuses: ["suspended"] });
	assert.equal(early.status, 408);
}

async function outputIsText() {
	const { stdout } = json(await execute("printf 'a\\377b\\nno newline'"));
	assert.equal(stdout, "a\ufffdb\nno newline");
}

const events = (body) => body.toString().split("\n\n").filter(Boolean)
	.map((event) => Object.fromEntries(event.split("\n").map((line) => /^(\w+): (.*)$/.exec(line).slice(1))));

async function streams() {
	const { execution_id: execution } = json(await execute("printf 'é%.0s' $(seq 20000)", {}, "?last_n=1"));
	const read = (offset) => ask("GET", `/${id}/executions/${execution}/stream_stdout_updates?offset=${offset}`);
	const answer = await read(0);
	assert.equal(answer.headers["content-type"], "text/event-stream");
	const pieces = events(answer.body).map(({ data }) => JSON.parse(data));
	assert.ok(pieces.length > 1);
	assert.equal(pieces.map(({ output }) => output).join(""), "é".repeat(20_000));
	assert.equal(pieces[1].offset, Buffer.byteLength(pieces[0].output));
	assert.equal(JSON.parse(events((await read(39_996)).body)[0].data).output, "éé");
	assert.equal(events((await read(40_000)).body).length, 0);
}

async function idleStreams() {
	const { execution_id: execution } = json(await execute("echo first; sleep 1; echo last", { optimistic_timeout: 0 }));
	const read = async (offset) =>
		events((await ask("GET", `/${id}/executions/${execution}/stream_stdout_updates?offset=${offset}`)).body);
	const [first, idle] = await read(0);
	assert.equal(JSON.parse(first.data).output, "first\n");
	assert.deepEqual([idle.event, JSON.parse(idle.data).code], ["error", "408"]);
	let rest = await read(6);
	while (rest[0].event === "error")
		rest = await read(6);
	assert.deepEqual(JSON.parse(rest[0].data), { output: "last\n", offset: 6 });
}

// Of a body that stays away the server does not wait for the rest.
async function idleBodies() {
	const status = await new Promise((resolve, reject) => {
		const req = http.request(`${api}/v1/devboxes/${id}/upload_file`, {
			method: "POST", agent: false,
			headers: { ...AUTH, "Content-Type": `multipart/form-data; boundary=${BOUNDARY}`, "Content-Length": 1000 },
		}, (res) => (resolve(res.statusCode), req.destroy()));
		req.on("error", reject);
		req.write(part('name="path"', "late"));
	});
	assert.equal(status, 408);
}

async function overTwo() {
	const session = http2.connect(api);
	const stream = session.request({ ":path": `/v1/devboxes/${id}`, ...AUTH });
	let body = "";
	for await (const chunk of stream.setEncoding("utf8"))
		body += chunk;
	session.close();
	assert.equal(JSON.parse(body).id, id);
}

// ---- What tests use --------------------------------------------------------------------------------

async function counted() {
	await server.post("/reset");
	await execute("echo counted");
	const { kinds } = await server.get("/counters");
	assert.equal(kinds["POST /v1/devboxes/{id}/execute"].requests, 1);
	assert.ok(kinds["POST /v1/devboxes/{id}/execute"].bytes_out > 0);
}

async function faults() {
	await fault("POST /v1/devboxes/{id}/execute", { type: "status", status: 503 });
	assert.equal((await execute("true")).status, 503);
	await fault("POST /v1/devboxes/{id}/execute", { type: "cut" });
	await assert.rejects(execute("true"));
	await fault("POST /v1/devboxes/{id}/download_file", { type: "cut_after", bytes: 10 });
	await execute("head -c 100000 /dev/zero >large");
	await assert.rejects(post("/download_file", { path: "large" }));
	await request(`${admin}/faults`, { method: "DELETE" });
}

async function asRoot() {
	const own = await startServer("runloop", ["--user", "root"]);
	const made = await own.post("/create");
	const answer = await request(`${own.urls.api_url}/v1/devboxes/${made.id}/execute`, {
		method: "POST", headers: { ...AUTH, "Content-Type": "application/json" },
		body: JSON.stringify({ command: "id -u; pwd", command_id: commandId() }),
	});
	await own.stop();
	assert.equal(json(answer).stdout, process.getuid() === 0 ? "0\n/root\n" : `${process.getuid()}\n/root\n`);
}

async function secrets() {
	assert.equal((await server.get(`/received?contains=${key}`)).found, false);
	assert.equal((await server.get("/received?contains=counted")).found, true);
}

async function pausedAndKilled() {
	const other = await server.post("/create");
	const state = async () => json(await ask("GET", `/${other.id}`)).status;
	await server.post(`/pause/${other.id}`);
	assert.equal(await state(), "suspended");
	const refused = await ask("POST", `/${other.id}/execute`, { command: "true", command_id: commandId() });
	assert.equal(refused.status, 400);
	await server.post(`/kill/${other.id}`);
	assert.equal(await state(), "shutdown");
	assert.equal((await ask("POST", `/${other.id}/shutdown`)).status, 400);
	assert.equal((await ask("POST", `/${other.id}/resume`)).status, 400);
}

const failed = await runTests([
	["keys", keys],
	["paths and methods", routes],
	["bodies are of the right type and hold known members", bodies],
	["commands have an id, a length and nothing unknown", commandsAreChecked],
	["forms have their parts in order", forms],
	["408 while a command runs, to be repeated at once", notYetCompleted],
	["408 while a devbox is in another state", notYetSuspended],
	["output is text", outputIsText],
	["a stream from any byte on", streams],
	["a stream that is idle ends with 408", idleStreams],
	["a body that is idle ends with 408", idleBodies],
	["HTTP/2 on the same port", overTwo],
	["requests are counted", counted],
	["faults", faults],
	["a server whose devboxes are root's", asRoot],
	["the key never reaches a devbox", secrets],
	["pause and kill from outside", pausedAndKilled],
]);
await server.stop();
process.exit(failed ? 1 : 0);
