// What the SDK does not show: how strict our Daytona server is, its answers byte by byte, and that its faults are real.
import assert from "node:assert/strict";

import { startServer } from "./server.mjs";
import { runTests } from "./tap.mjs";
import { request } from "./wire.mjs";

// A minute of an interval is short here, and the proxy forgets at once.
const server = await startServer("daytona", ["--minute-ms", "300", "--forgetful"]);
const { api_url: api, proxy_url: proxy, admin_url: admin, key } = server.urls;
const { id } = await server.post("/create");
const access = { Authorization: `Bearer ${key}` };
const JSON_TYPE = { "Content-Type": "application/json" };

const control = (method, path, value, headers = {}) => request(`${api}${path}`, {
	method,
	headers: { ...access, ...(value === undefined ? {} : JSON_TYPE), ...headers },
	body: value === undefined ? undefined : JSON.stringify(value),
});
const toolbox = (method, path, { headers = {}, body, of = id } = {}) =>
	request(`${proxy}/toolbox/${of}${path}`, { method, headers: { ...access, ...headers }, body });
const json = ({ body }) => JSON.parse(body.toString());
const execute = (command, more = {}) =>
	toolbox("POST", "/process/execute", { body: JSON.stringify({ command, ...more }) });
const said = async (command) => json(await execute(command)).result;
const bulkDownload = (...paths) => toolbox("POST", "/files/bulk-download", { body: JSON.stringify({ paths }) });

function form(parts, { isClosed = true } = {}) {
	const texts = parts.map(([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`);
	return texts.join("") + (isClosed ? "--b--\r\n" : "");
}
const bulkUpload = (parts, how) => toolbox("POST", "/files/bulk-upload",
	{ headers: { "Content-Type": "multipart/form-data; boundary=b" }, body: form(parts, how) });
const fault = (kind, action, match = {}) => server.post("/faults", { match: { kind, ...match }, action });
const clear = () => request(`${admin}/faults`, { method: "DELETE" });

async function stateBecomes(which, wanted) {
	for (let got; got !== wanted;) {
		const answer = await control("GET", `/sandbox/${which}`);
		got = answer.status === 404 ? "destroyed" : json(answer).state;
	}
}

// ---- The control plane -----------------------------------------------------------------------------

async function keys() {
	for (const headers of [{ Authorization: "" }, { Authorization: key }, { Authorization: `Bearer ${key}0` }]) {
		const answer = await control("GET", "/sandbox", undefined, headers);
		assert.equal(answer.status, 401);
		assert.deepEqual(Object.keys(json(answer)), ["path", "timestamp", "statusCode", "error", "message"]);
	}
}

async function controlRefusals() {
	assert.equal((await control("POST", "/sandbox", { name: 5, labels: "x" })).status, 400);
	assert.equal(json(await control("POST", "/sandbox", { name: 5, labels: "x" })).message,
		"name must be a string, labels must be an object of strings");
	for (const bad of [{ env: { A: 1 } }, { labels: { a: null } }, { cpu: 0.5 }, { autoStopInterval: 1.5 }, { ttlMinutes: "60" },
		{ ttlMinutes: -1 }, { networkAllowList: "not-a-cidr" }, { networkAllowList: "10.0.0.0/33" }, { autoPauseInterval: 5 },
		{ snapshot: "daytona-vm-small", autoPauseInterval: 5, autoStopInterval: 5 },
		{ snapshot: "daytona-vm-small", autoPauseInterval: 5, autoDeleteInterval: 0 }, { spot: true }, { volumes: ["v"] },
		{ secrets: "all" }])
		assert.equal((await control("POST", "/sandbox", bad)).status, 400, JSON.stringify(bad));
	assert.equal((await control("PUT", `/sandbox/${id}/labels`, { labels: { a: 1 } })).status, 400);
	assert.equal((await control("POST", `/sandbox/${id}/network-settings`, { networkAllowList: "not-a-cidr" })).status, 400);
	assert.equal((await control("POST", `/sandbox/${id}/ttl/1.5`)).status, 400);
	assert.equal((await control("POST", `/sandbox/${id}/autopause/5`)).status, 422);
	assert.equal((await control("POST", `/sandbox/${id}/recover`)).status, 400);
	assert.equal(json(await control("POST", "/sandbox", { snapshot: "daytona-small", buildInfo: { dockerfileContent: "" } })).message,
		"Cannot specify a snapshot when using a build info entry");
	assert.equal((await control("POST", "/sandbox", { target: "moon" })).status, 400);
	assert.equal((await control("GET", "/sandbox?limit=201")).status, 400);
	assert.equal((await control("GET", "/sandbox?labels=x")).status, 400);
	assert.equal((await control("GET", "/sandbox?cursor=x")).status, 400);
	assert.equal((await control("POST", `/sandbox/${id}/stop?force=maybe`)).status, 400);
	assert.equal((await control("POST", `/sandbox/${id}/autostop/-1`)).status, 400);
	assert.equal((await control("POST", `/sandbox/${id}/pause`)).status, 422);
	assert.equal((await control("PATCH", `/sandbox/${id}`)).status, 404);
	assert.equal(json(await control("GET", "/sandbox/none")).message, "Sandbox with ID or name none not found");
}

// The schema has an ID there, and an ID or a name elsewhere.
async function byIdAlone() {
	const named = json(await control("POST", "/sandbox", { name: "by-name" }));
	assert.equal((await control("GET", "/sandbox/by-name")).status, 200);
	for (const [method, below] of [["POST", "/last-activity"], ["GET", "/toolbox-proxy-url"]]) {
		assert.equal((await control(method, `/sandbox/by-name${below}`)).status, 404, below);
		assert.ok((await control(method, `/sandbox/${named.id}${below}`)).status < 300, below);
	}
	await control("DELETE", "/sandbox/by-name");
	await stateBecomes(named.id, "destroyed");
}

async function pauses() {
	const made = json(await control("POST", "/sandbox", { snapshot: "daytona-vm-small" }));
	assert.deepEqual([made.autoStopInterval, made.autoPauseInterval, made.sandboxClass], [0, 60, "linux-vm"]);
	await stateBecomes(made.id, "started");
	assert.equal(json(await control("POST", `/sandbox/${made.id}/autopause/1`)).autoPauseInterval, 1);
	await stateBecomes(made.id, "paused");
	assert.equal((await control("POST", `/sandbox/${made.id}/start`)).status, 200);
	await stateBecomes(made.id, "started");
	await control("DELETE", `/sandbox/${made.id}`);
}

async function livesSoLong() {
	const made = json(await control("POST", "/sandbox", { ttlMinutes: 1 }));
	assert.ok(Date.parse(made.autoDestroyAt) > 0);
	const later = json(await control("POST", `/sandbox/${made.id}/ttl/2`));
	assert.ok(later.autoDestroyAt > made.autoDestroyAt);
	await stateBecomes(made.id, "destroyed");
}

async function recovers() {
	const { id: broken } = await server.post("/create");
	await server.post(`/fail/${broken}?why=lost&recoverable=1`);
	const seen = json(await control("GET", `/sandbox/${broken}`));
	assert.deepEqual([seen.state, seen.errorReason, seen.recoverable], ["error", "lost", true]);
	assert.equal((await control("POST", `/sandbox/${broken}/recover`)).status, 200);
	await stateBecomes(broken, "started");
	await control("DELETE", `/sandbox/${broken}`);
}

async function changes() {
	const { id: changed } = await server.post("/create");
	const stopping = await control("POST", `/sandbox/${changed}/stop`);
	assert.equal(json(stopping).state, "stopping");
	const again = await control("POST", `/sandbox/${changed}/stop`);
	if (again.status === 409)
		assert.equal(json(again).message, "Sandbox state change in progress");
	else
		assert.equal(json(again).message, "Sandbox is not in a stoppable state");
	await stateBecomes(changed, "stopped");
	assert.equal(json(await control("POST", `/sandbox/${changed}/start`)).state, "started");
	assert.equal((await control("POST", `/sandbox/${changed}/start`)).status, 200);
	assert.equal(json(await control("DELETE", `/sandbox/${changed}`)).state, "destroying");
	await stateBecomes(changed, "destroyed");
	assert.equal((await control("DELETE", `/sandbox/${changed}`)).status, 404);
}

async function snapshotAnswersLate() {
	const created = json(await control("POST", "/sandbox", { labels: { a: "b" } }));
	assert.equal(created.state, "creating");
	assert.equal(json(await control("GET", `/sandbox/${created.id}`)).state, "started");
	await control("DELETE", `/sandbox/${created.id}`);
}

async function autoStop() {
	const created = json(await control("POST", "/sandbox", { autoStopInterval: 1 }));
	const quiet = { "X-Daytona-Skip-Last-Activity-Update": "true" };
	const before = (await server.get(`/activity/${created.id}`)).ms;
	await toolbox("GET", "/version", { of: created.id, headers: quiet });
	assert.equal((await server.get(`/activity/${created.id}`)).ms, before);
	await stateBecomes(created.id, "stopped");
	await control("DELETE", `/sandbox/${created.id}`);
	await toolbox("GET", "/version");
	const touched = (await server.get(`/activity/${id}`)).ms;
	assert.equal((await control("POST", `/sandbox/${id}/last-activity`, {})).status, 201);
	assert.ok((await server.get(`/activity/${id}`)).ms >= touched);
}

// ---- The proxy -------------------------------------------------------------------------------------

async function proxyRefusals() {
	const wrong = await toolbox("GET", "/version", { headers: { Authorization: `Bearer ${key}0` } });
	assert.equal(wrong.status, 401);
	assert.equal(json(wrong).code, "UNAUTHORIZED");
	const unknown = await toolbox("GET", "/version", { of: "00000000-0000-0000-0000-000000000000" });
	assert.equal(unknown.status, 401);
	const { id: gone } = await server.post("/create");
	await control("DELETE", `/sandbox/${gone}`);
	await stateBecomes(gone, "destroyed");
	assert.equal((await toolbox("GET", "/version", { of: gone })).status, 401);
}

async function stoppedSandbox() {
	const { id: stopped } = await server.post("/create");
	await server.post(`/stop/${stopped}`);
	const refused = await toolbox("GET", "/version", { of: stopped });
	assert.equal(refused.status, 400);
	assert.match(json(refused).message, /^bad request: failed to resolve container IP.*Is the Sandbox started\?$/);
	await server.post(`/archive/${stopped}`);
	assert.match(json(await toolbox("GET", "/version", { of: stopped })).message, /failed to get runner info/);
	const starting = json(await control("POST", `/sandbox/${stopped}/start`));
	assert.equal(starting.state, "restoring");
	await stateBecomes(stopped, "started");
	assert.equal((await toolbox("GET", "/version", { of: stopped })).status, 200);
	await server.post(`/kill/${stopped}`);
}

async function keyStaysOutside() {
	await execute("true");
	assert.equal((await server.get(`/received?contains=${key}`)).found, false);
	assert.equal((await server.get("/received?contains=process/execute")).found, true);
}

async function noRoute() {
	const nowhere = await toolbox("GET", "/nowhere");
	assert.deepEqual([nowhere.status, String(nowhere.body)], [404, "404 page not found"]);
	assert.equal((await toolbox("HEAD", "/files/download?path=/etc/passwd")).status, 404);
}

// ---- Commands --------------------------------------------------------------------------------------

async function commandAnswers() {
	assert.deepEqual(json(await execute("printf 'a\\377b<&>'")), { exitCode: 0, result: "a\ufffdb<&>" });
	assert.match(String((await execute("printf '<'")).body), /\\u003c/);
	assert.equal((await execute("sleep 30", { timeout: 1 })).status, 408);
	assert.equal(json(await execute("sleep 30", { timeout: 1 })).code, "REQUEST_TIMEOUT");
	assert.equal((await execute("true", { timeout: -1 })).status, 400);
	assert.equal((await execute("true", { envs: { A: 1 } })).status, 400);
	const broken = await toolbox("POST", "/process/execute", { body: "{" });
	assert.equal(broken.status, 400);
	assert.match(json(broken).message, /^bad request: invalid request body/);
}

// ---- Files -----------------------------------------------------------------------------------------

async function silentRefusals() {
	await said("mkdir -p /tmp/s/d/inner; echo x >/tmp/s/f; ln -s nowhere /tmp/s/dangling; mkdir -m 0 /tmp/s/locked; touch /tmp/s/g");
	for (const [method, path, status] of [
		["GET", "/files/info?path=/tmp/s/none", 404], ["GET", "/files/info?path=/tmp/s/f/x", 400],
		["GET", "/files/info?path=/tmp/s/locked/x", 403], ["GET", "/files?path=/tmp/s/f", 400],
		["GET", "/files/download?path=/tmp/s/d", 400], ["DELETE", "/files?path=/tmp/s/d", 400],
		["DELETE", "/files?path=/tmp/s/dangling", 404], ["DELETE", "/files?path=/etc/passwd", 400],
		["POST", "/files/move?source=/tmp/s/f&destination=/tmp/s/g", 409],
		["POST", "/files/move?source=/tmp/s/f&destination=/tmp/s/no/g", 404],
		["POST", "/files/folder?path=/tmp/s/f", 400], ["POST", "/files/folder?path=/etc/new", 400],
		["POST", "/files/permissions?path=/tmp/s/f&owner=nobody-at-all", 400],
	]) {
		const answer = await toolbox(method, path);
		assert.deepEqual([path, answer.status, answer.body.length], [path, status, 0]);
	}
	assert.equal((await toolbox("POST", "/files/folder?path=/tmp/s/d")).status, 201);
	const names = json(await toolbox("GET", "/files?path=/tmp/s")).map(({ name }) => name);
	assert.deepEqual(names, ["d", "f", "g", "locked"]);
}

async function ranges() {
	await said("printf 'hello world\\n' >/tmp/range; : >/tmp/empty");
	const get = (range, path = "/tmp/range") => toolbox("GET", `/files/download?path=${path}`, { headers: { Range: range } });
	const part = await get("bytes=6-10");
	assert.deepEqual([part.status, String(part.body), part.headers["content-range"]], [206, "world", "bytes 6-10/12"]);
	const beyond = await get("bytes=100-200");
	assert.deepEqual([beyond.status, beyond.headers["content-range"]], [416, "bytes */12"]);
	assert.equal((await get("bytes=0-1", "/tmp/empty")).status, 200);
}

async function uploads() {
	const good = await bulkUpload([["files[0].path", " /tmp/up/a\n"], ["files[0].file", "one"]]);
	assert.deepEqual([good.status, json(good)], [200, { files: [{ path: "/tmp/up/a", bytes: 3 }] }]);
	const mixed = await bulkUpload([["files[0].path", "/tmp/up/b"], ["files[0].file", "two"], ["files[1].file", "no path"],
		["files[2].path", "/tmp/up"], ["files[2].file", "a directory"], ["files[3].path", "/tmp/up/a/x"], ["files[3].file", "x"]]);
	assert.equal(mixed.status, 400);
	assert.deepEqual(json(mixed), {
		errors: ["file[1]: missing .path metadata", "/tmp/up: create: open /tmp/up: is a directory",
			"/tmp/up/a/x: mkdir /tmp/up/a: mkdir /tmp/up/a: not a directory"],
		files: [{ path: "/tmp/up/b", bytes: 3 }],
	});
	const cut = await bulkUpload([["files[0].path", "/tmp/up/c"], ["files[0].file", "cut"]], { isClosed: false });
	assert.equal(cut.status, 400);
	assert.deepEqual(json(await toolbox("POST", "/files/bulk-upload", { body: "x" })), { errors: ["invalid multipart form"] });
	assert.equal((await toolbox("POST", "/files/upload?path=/tmp/up/raw", { body: "raw" })).status, 400);
}

async function downloads() {
	await said("printf 'hello world\\n' >/tmp/a.txt; : >'/tmp/é \"q'; chmod 0 /tmp/range");
	const answer = await bulkDownload("/tmp/a.txt", "/tmp/none", "/tmp", '/tmp/é "q', "/tmp/range", "");
	assert.equal(answer.headers["content-type"], "multipart/form-data; boundary=DAYTONA-FILE-BOUNDARY");
	const parts = answer.body.toString("latin1").split("--DAYTONA-FILE-BOUNDARY");
	assert.equal(parts.length, 8);
	assert.equal(parts[1], '\r\nContent-Disposition: form-data; name="file"; filename="/tmp/a.txt"; ' +
		"filename*=utf-8''%2Ftmp%2Fa.txt\r\nContent-Length: 12\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nhello world\n\r\n");
	assert.match(parts[2], /name="error"[^]*"code":"FILE_NOT_FOUND"/);
	assert.match(parts[3], /"code":"INVALID_FILE_PATH"/);
	assert.match(parts[4], /filename="\/tmp\/\xe9 \\"q"; filename\*=utf-8''%2Ftmp%2F%C3%A9%20%22q\r\nContent-Length: 0\r\n/);
	assert.match(parts[5], /"code":"FILE_ACCESS_DENIED"/);
	assert.match(parts[6], /path is empty/);
	assert.equal(parts[7], "--\r\n");
	assert.deepEqual(json(await bulkDownload()), { error: 'request body must be {"paths": [ ... ]} and non-empty' });
}

async function lengthZeroWithContents() {
	const answer = await bulkDownload("/proc/version");
	assert.match(String(answer.body), /Content-Length: 0\r\nContent-Type: application\/octet-stream\r\n\r\nLinux version/);
}

// ---- Faults ----------------------------------------------------------------------------------------

async function faults() {
	await fault("POST /process/execute", { type: "status", status: 502 });
	assert.equal((await execute("true")).status, 502);
	await fault("POST /files/bulk-download", { type: "truncate", bytes: 150 });
	assert.equal((await bulkDownload("/tmp/a.txt")).body.length, 150);
	await fault("/GET .sandbox/", { type: "cut" });
	await assert.rejects(control("GET", `/sandbox/${id}`));
	await clear();
}

// ---- Before there was a proxy ----------------------------------------------------------------------

async function legacy() {
	const old = await startServer("daytona", ["--legacy"]);
	try {
		const { id: its } = await old.post("/create");
		const headers = { Authorization: `Bearer ${old.urls.key}` };
		const shown = json(await request(`${old.urls.api_url}/sandbox/${its}`, { headers }));
		assert.equal(shown.toolboxProxyUrl, undefined);
		assert.equal((await request(`${old.urls.api_url}/sandbox/${its}/toolbox-proxy-url`, { headers })).status, 404);
		const version = await request(`${old.urls.api_url}/toolbox/${its}/toolbox/version`, { headers });
		assert.deepEqual([version.status, Object.keys(json(version))], [200, ["version"]]);
		const listed = await request(`${old.urls.api_url}/toolbox/${its}/toolbox/files?path=/`, { headers });
		assert.equal(listed.status, 200);
	} finally {
		await old.stop();
	}
	assert.equal((await request(`${api}/toolbox/${id}/toolbox/version`, { headers: access })).status, 404);
}

const failed = await runTests([
	["keys", keys],
	["what the control plane refuses", controlRefusals],
	["what is found by its ID alone", byIdAlone],
	["what can be paused pauses when it is idle", pauses],
	["a time to live", livesSoLong],
	["what is broken may be recovered", recovers],
	["one change at a time, shown while it lasts", changes],
	["create from a snapshot answers with an old state", snapshotAnswersLate],
	["idle sandboxes stop, whatever quiet requests there are", autoStop],
	["what the proxy refuses", proxyRefusals],
	["a stopped and an archived sandbox", stoppedSandbox],
	["the key does not reach the sandbox", keyStaysOutside],
	["no such route", noRoute],
	["answers of commands", commandAnswers],
	["refusals without a word", silentRefusals],
	["ranges", ranges],
	["uploads of many files", uploads],
	["downloads of many files, byte by byte", downloads],
	["a part of length 0 with contents", lengthZeroWithContents],
	["faults", faults],
	["a server from before there was a proxy", legacy],
]);
await server.stop();
process.exit(failed ? 1 : 0);
