// Our server for the Agent Infra Sandbox against what its OpenAPI document (info.version 1.9.4) and its guides say. npm
// carries no SDK of it, so this is the wire itself.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

import { startServer } from "./server.mjs";
import { runTests } from "./tap.mjs";
import { request } from "./wire.mjs";

const server = await startServer("aio", ["--max-sessions", "6"]);
const { key, env } = server.urls;
const base = `http://${env.SANDBOX_HOST}:${env.SANDBOX_PORT}`;
const JSON_TYPE = { "Content-Type": "application/json" };

const ask = (method, path, { headers = {}, body } = {}, at = base) =>
	request(`${at}${path}`, { method, headers: { "X-AIO-API-Key": key, ...headers }, body });
const post = (path, value, at) => ask("POST", path, { headers: JSON_TYPE, body: JSON.stringify(value) }, at);
const json = ({ body }) => JSON.parse(body.toString());
const data = async (path, value) => {
	const answer = await post(path, value);
	assert.equal(answer.status, 200, answer.body.toString());
	assert.equal(json(answer).success, true, answer.body.toString());
	return json(answer).data;
};
const exec = (command, more = {}) => data("/v1/bash/exec", { command, ...more });

function form(parts) {
	const boundary = "----boundary";
	const pieces = parts.flatMap(([head, content]) =>
		[`--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`, content, "\r\n"]);
	return {
		headers: { "Content-Type": `multipart/form-data; boundary=${boundary}` },
		body: Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece))),
	};
}
const upload = (path, bytes) =>
	ask("POST", "/v1/file/upload", form([['name="file"; filename="x"', bytes], ['name="path"', path]]));
const download = (path, more = "") => ask("GET", `/v1/file/download?path=${encodeURIComponent(path)}${more}`);

// ---- Access ----------------------------------------------------------------------------------------

async function keys() {
	const shown = (headers, query = "") => request(`${base}/v1/sandbox${query}`, { headers });
	for (const good of [{ "X-AIO-API-Key": key }, { Authorization: `Bearer ${key}` }])
		assert.equal((await shown(good)).status, 200);
	assert.equal((await shown({}, `?api_key=${key}`)).status, 200);
	for (const wrong of [{}, { "X-AIO-API-Key": `${key}0` }, { Authorization: `Basic ${key}` }, { "X-AIO-API-Key": "" }])
		assert.equal((await shown(wrong)).status, 401);
	const refused = await shown({});
	assert.match(refused.headers["content-type"], /^text\/html/);
	assert.match(refused.body.toString(), /401 Authorization Required/);
}

async function context() {
	const about = json(await ask("GET", "/v1/sandbox"));
	assert.deepEqual([about.success, about.data, about.home_dir, about.workspace], [true, null, "/home/gem", "/home/gem"]);
	assert.match(about.version, /^\d+\.\d+\.\d+$/);
	assert.equal(about.detail.system.user, "gem");
}

async function withoutKeyOrBash() {
	const old = await startServer("aio", ["--open", "--without-bash", "--close"]);
	const at = `http://${old.urls.env.SANDBOX_HOST}:${old.urls.env.SANDBOX_PORT}`;
	assert.equal(old.urls.env.SANDBOX_API_KEY, undefined);
	const about = await request(`${at}/v1/sandbox`);
	assert.deepEqual([about.status, about.headers.connection], [200, "close"]);
	const missing = await post("/v1/bash/exec", { command: "true" }, at);
	assert.deepEqual([missing.status, json(missing)], [404, { detail: "Not Found" }]);
	await old.stop();
}

async function refusals() {
	assert.equal((await ask("GET", "/v1/elsewhere")).status, 404);
	assert.equal((await ask("GET", "/v1/bash/exec")).status, 405);
	const missing = await post("/v1/bash/exec", {});
	assert.equal(missing.status, 422);
	assert.deepEqual(json(missing).detail, [{ type: "missing", loc: ["body", "command"], msg: "Field required", input: {} }]);
	for (const wrong of [{ command: 1 }, { command: "true", timeout: "soon" }, { command: "true", max_output_length: 0.5 },
		{ command: "true", env: { A: 1 } }, { command: null }])
		assert.equal((await post("/v1/bash/exec", wrong)).status, 422, JSON.stringify(wrong));
	assert.equal((await ask("POST", "/v1/bash/exec", { headers: JSON_TYPE, body: "{" })).status, 422);
	const untyped = { headers: { "Content-Type": "text/plain" }, body: '{"command":"true"}' };
	assert.equal((await ask("POST", "/v1/bash/exec", untyped)).status, 422);
}

// ---- Commands --------------------------------------------------------------------------------------

async function command() {
	const done = await exec("echo out; echo err >&2; exit 3");
	assert.deepEqual([done.status, done.stdout, done.stderr, done.exit_code, done.offset, done.stderr_offset],
		["completed", "out\n", "err\n", 3, 4, 4]);
	const quiet = await exec("true");
	assert.deepEqual([quiet.stdout, quiet.stderr, quiet.exit_code], [null, null, 0]);
	const placed = await exec("pwd; echo $A $HOME; id -un", { exec_dir: "/tmp", env: { A: "1" } });
	assert.equal(placed.stdout, "/tmp\n1 /home/gem\ngem\n");
	assert.equal((await exec("kill -KILL $$")).exit_code, -9);
}

async function truncation() {
	const many = "head -c 200000 /dev/zero | tr '\\0' x";
	const cut = (await exec(many)).stdout;
	assert.ok(cut.length > 50_000 && cut.length < 51_000 && /^x+[^x]/.test(cut) && /x$/.test(cut));
	assert.equal((await exec(many, { max_output_length: 0 })).stdout.length, 200_000);
	assert.ok((await exec(many, { max_output_length: 10 })).stdout.length < 100);
}

async function notBinary() {
	const { stdout, offset } = await exec("printf 'a\\377b'");
	assert.deepEqual([stdout, offset], ["a\ufffdb", 3]);
}

async function tooLong() {
	const done = await exec(`: ${"x".repeat(140_000)}`);
	assert.deepEqual([done.status, done.exit_code], ["killed", null]);
	assert.equal((await exec("true", { exec_dir: "/nowhere" })).status, "killed");
}

async function timeouts() {
	const late = await exec("sleep 600", { hard_timeout: 0.2 });
	assert.deepEqual([late.status, late.exit_code], ["timed_out", null]);
	const soft = await exec("echo a; read line; echo $line; exit 4", { timeout: 0.2 });
	assert.deepEqual([soft.status, soft.exit_code], ["running", null]);
	await data("/v1/bash/write", { session_id: soft.session_id, input: "b\n" });
	let more = { offset: 0, stderr_offset: 0, command: { status: "running" } };
	let text = "";
	while (more.command.status === "running" || !text.endsWith("b\n")) {
		more = await data("/v1/bash/output", {
			session_id: soft.session_id, offset: more.offset, stderr_offset: more.stderr_offset, wait: true, wait_timeout: 10,
		});
		text += more.stdout;
	}
	assert.deepEqual([text, more.command.status, more.command.exit_code], ["a\nb\n", "completed", 4]);
}

async function asynchronous() {
	const begun = await exec("sleep 600", { async_mode: true });
	assert.deepEqual([begun.status, begun.stdout], ["running", null]);
	const busy = await post("/v1/bash/exec", { command: "true", session_id: begun.session_id });
	assert.equal(busy.status, 400);
	const seen = await data("/v1/bash/output", { session_id: begun.session_id, wait: true, wait_timeout: 0.1 });
	assert.deepEqual([seen.stdout, seen.command.command_id, seen.command.status], ["", begun.command_id, "running"]);
	const unknown = await post("/v1/bash/output", { session_id: begun.session_id, command_id: "none" });
	assert.equal(unknown.status, 404);
	await data("/v1/bash/kill", { session_id: begun.session_id, signal: "SIGKILL" });
	const ended = await data("/v1/bash/output", { session_id: begun.session_id, wait: true });
	assert.deepEqual([ended.command.status, ended.command.exit_code], ["killed", null]);
}

async function sessions() {
	const made = await data("/v1/bash/sessions/create", { session_id: "one", exec_dir: "/tmp" });
	assert.deepEqual([made.session_id, made.status, made.working_dir, made.command_count], ["one", "ready", "/tmp", 0]);
	assert.equal((await exec("cd /; pwd", { session_id: "one" })).stdout, "/\n");
	assert.equal((await exec("export A=1; pwd", { session_id: "one" })).stdout, "/tmp\n");
	assert.equal((await exec("pwd; echo $A", { session_id: "one", exec_dir: "/usr" })).stdout, "/usr\n\n");
	const listed = json(await ask("GET", "/v1/bash/sessions")).data.find(({ session_id }) => session_id === "one");
	assert.deepEqual([listed.working_dir, listed.command_count], ["/usr", 3]);
	assert.equal((await ask("POST", "/v1/bash/sessions/one/close")).status, 200);
	assert.equal((await ask("POST", "/v1/bash/sessions/one/close")).status, 404);
	assert.equal((await post("/v1/bash/exec", { command: "true", session_id: "one" })).status, 404);
}

async function sessionLimit() {
	await data("/v1/bash/sessions/create", { session_id: "idle" });
	const busy = [];
	for (let i = 0; i < 6; i++)
		busy.push((await exec("sleep 600", { async_mode: true })).session_id);
	assert.equal((await post("/v1/bash/exec", { command: "true", session_id: "idle" })).status, 404);
	assert.equal((await post("/v1/bash/exec", { command: "true" })).status, 400);
	for (const id of busy)
		await ask("POST", `/v1/bash/sessions/${id}/close`);
	assert.equal((await exec("pgrep -c sleep || true")).stdout, "0\n");
}

// ---- Files -----------------------------------------------------------------------------------------

async function texts() {
	await data("/v1/file/write", { file: "/tmp/a.txt", content: "one\ntwo\n" });
	await data("/v1/file/write", { file: "/tmp/a.txt", content: "three", append: true, trailing_newline: true });
	const read = await data("/v1/file/read", { file: "/tmp/a.txt", start_line: 1, end_line: 3 });
	assert.deepEqual(read, { content: "two\nthree\n", file: "/tmp/a.txt" });
	const written = await data("/v1/file/write", { file: "/tmp/a.bin", content: "AP8=", encoding: "base64" });
	assert.equal(written.bytes_written, 2);
	const binary = json(await post("/v1/file/read", { file: "/tmp/a.bin" }));
	assert.deepEqual([binary.success, binary.data.error_type], [false, "decode_error"]);
	assert.equal((await post("/v1/file/write", { file: "/tmp/a", content: "", encoding: "hex" })).status, 422);
}

async function fileErrors() {
	const missing = await post("/v1/file/read", { file: "/tmp/missing.txt" });
	const { success, data: about } = json(missing);
	assert.deepEqual([missing.status, success], [200, false]);
	assert.deepEqual([about.error_type, about.errno, about.errno_name, about.retryable, about.operation, about.exception_type],
		["not_found", 2, "ENOENT", false, "read", "FileNotFoundError"]);
	const denied = json(await post("/v1/file/write", { file: "/usr/x", content: "" }));
	assert.equal(denied.success, false);
	assert.ok(["permission_denied", "read_only_filesystem"].includes(denied.data.error_type));
}

async function upAndDown() {
	const bytes = randomBytes(3 << 20);
	const stored = json(await upload("/tmp/x b.bin", bytes));
	assert.deepEqual(stored.data, { file_path: "/tmp/x b.bin", file_size: bytes.length, success: true });
	const fetched = await download("/tmp/x b.bin", "&change_policy=abort");
	assert.equal(fetched.headers["content-type"], "application/octet-stream");
	assert.equal(fetched.headers["content-length"], undefined);
	assert.ok(fetched.body.equals(bytes));
	assert.equal((await download("/tmp/none")).status, 404);
	assert.equal((await download("/tmp")).status, 400);
	assert.equal((await ask("GET", "/v1/file/download")).status, 422);
	assert.equal((await download("/tmp/x b.bin", "&change_policy=never")).status, 422);
}

async function uploadErrors() {
	const nowhere = json(await upload("/tmp/none/x", "x"));
	assert.deepEqual([nowhere.success, nowhere.data.errno_name], [false, "ENOENT"]);
	assert.equal((await ask("POST", "/v1/file/upload", form([['name="path"', "/tmp/x"]]))).status, 422);
	assert.equal((await ask("POST", "/v1/file/upload", { headers: JSON_TYPE, body: "{}" })).status, 422);
	const cut = form([['name="file"; filename="x"', "x"]]);
	assert.equal((await ask("POST", "/v1/file/upload", { ...cut, body: cut.body.subarray(0, 80) })).status, 400);
	const home = json(await ask("POST", "/v1/file/upload", form([['name="file"; filename="named"', "x"]])));
	assert.equal(home.data.file_path, "/home/gem/named");
}

async function listing() {
	await exec("mkdir -p /tmp/l/d; echo 1 >/tmp/l/.f; echo 22 >/tmp/l/d/g");
	const flat = await data("/v1/file/list", { path: "/tmp/l", include_permissions: true });
	assert.deepEqual(flat.files.map(({ name, is_directory, size }) => [name, is_directory, size]),
		[[".f", false, 2], ["d", true, null]]);
	const deep = await data("/v1/file/list", { path: "/tmp/l", recursive: true, show_hidden: false });
	assert.deepEqual([deep.files.map(({ path }) => path), deep.total_count, deep.directory_count, deep.file_count],
		[["/tmp/l/d", "/tmp/l/d/g"], 2, 1, 1]);
}

// ---- The end ---------------------------------------------------------------------------------------

async function receivedSecrets() {
	assert.equal((await server.get(`/received?contains=${key}`)).found, false);
	assert.equal((await server.get("/received?contains=three")).found, true);
}

async function another() {
	const { id } = await server.post("/create");
	const [host, port] = id.split("_");
	const at = `http://${host}:${port}`;
	assert.equal(json(await post("/v1/bash/exec", { command: "ls /tmp" }, at)).data.stdout, null);
	await server.post(`/kill/${id}`);
	await assert.rejects(request(`${at}/v1/sandbox`), { code: "ECONNREFUSED" });
}

const failed = await runTests([
	["three ways to show the key", keys],
	["what the sandbox is", context],
	["an image without a key, without /v1/bash, that keeps no connection", withoutKeyOrBash],
	["what is refused", refusals],
	["a command: output apart, exit code, directory, environment", command],
	["output is cut in its middle, but for max_output_length 0", truncation],
	["output is text", notBinary],
	["what cannot start is killed", tooLong],
	["a soft and a hard timeout; input and output of what runs on", timeouts],
	["a command in the background; kill", asynchronous],
	["sessions keep a directory and nothing else", sessions],
	["too many sessions", sessionLimit],
	["text files", texts],
	["errors of files are answers", fileErrors],
	["upload and download", upAndDown],
	["errors of uploads", uploadErrors],
	["list", listing],
	["the key never reaches a sandbox", receivedSecrets],
	["another sandbox is another port", another],
]);
await server.stop();
process.exit(failed ? 1 : 0);
