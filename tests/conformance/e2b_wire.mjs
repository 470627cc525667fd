// What the SDK does not show: how strict our E2B server is, its answers byte by byte, and that its faults are real.
import assert from "node:assert/strict";
import zlib from "node:zlib";

import { startServer } from "./server.mjs";
import { runTests } from "./tap.mjs";
import { envelope, envelopes, request } from "./wire.mjs";

const server = await startServer("e2b", ["--max-sandboxes", "3"]);
const { api_url: api, sandbox_url: edge, admin_url: admin, key } = server.urls;
const JSON_TYPE = { "Content-Type": "application/json" };
const STREAM = { "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1" };

const control = (method, path, value, headers = {}) => request(`${api}${path}`, {
	method,
	headers: { "X-API-Key": key, ...(value === undefined ? {} : JSON_TYPE), ...headers },
	body: value === undefined ? undefined : JSON.stringify(value),
});
const json = ({ body }) => JSON.parse(body.toString());
const created = json(await control("POST", "/v2/sandboxes", { templateID: "base" }));
const address = { "E2b-Sandbox-Id": created.sandboxID, "E2b-Sandbox-Port": "49983" };
const access = { ...address, "X-Access-Token": created.envdAccessToken };

const data = (method, path, { headers = {}, body } = {}) =>
	request(`${edge}${path}`, { method, headers: { ...access, ...headers }, body });
const put = (path, content) =>
	data("POST", `/files?path=${path}`, { headers: { "Content-Type": "application/octet-stream" }, body: content });
const rpc = (name, value, headers = {}) =>
	data("POST", `/${name}`, { headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(value) });
const stream = (name, value, headers = {}) =>
	data("POST", `/${name}`, { headers: { ...STREAM, ...headers }, body: envelope(value) });
const command = (script, headers, more = {}) => stream("process.Process/Start",
	{ process: { cmd: "/bin/sh", args: ["-c", script] }, stdin: false, ...more }, headers);
const messages = ({ body }) => envelopes(body).map(({ payload }) => JSON.parse(payload));
const fault = (kind, action, match = {}) => server.post("/faults", { match: { kind, ...match }, action });
const clear = () => request(`${admin}/faults`, { method: "DELETE" });

// ---- The control plane -----------------------------------------------------------------------------

async function keys() {
	assert.equal((await request(`${api}/v2/sandboxes`)).status, 401);
	for (const wrong of ["", key.slice(4), `${key}0`])
		assert.equal((await control("GET", "/v2/sandboxes", undefined, { "X-API-Key": wrong })).status, 401);
}

async function controlRefusals() {
	const untyped = { headers: { "X-API-Key": key }, method: "POST", body: '{"templateID":"base"}' };
	assert.equal((await request(`${api}/v2/sandboxes`, untyped)).status, 400);
	assert.equal((await control("POST", "/v2/sandboxes", {})).status, 400);
	assert.equal((await control("POST", "/v2/sandboxes", { templateID: "base", timeout: "5" })).status, 400);
	assert.equal((await control("POST", "/v2/sandboxes", { templateID: "base", timeout: 0 })).status, 400);
	for (const junk of [{ timeout: null }, { volumeMounts: [{ name: "v" }] }, { volumeMounts: {} }, { mcp: 7 }, { iam: "x" },
		{ autoResume: {} }, { autoResume: { enabled: 1 } }, { network: [] }, { network: { rules: { a: 1 } } },
		{ network: { allowPublicTraffic: "no" } }, { metadata: null }])
		assert.equal((await control("POST", "/v2/sandboxes", { templateID: "base", ...junk })).status, 400, JSON.stringify(junk));
	const nowhere = await control("POST", "/v2/sandboxes", { templateID: "nowhere" });
	assert.deepEqual(json(nowhere), { code: 404, message: "template 'nowhere' not found" });
	assert.equal((await control("GET", "/v2/sandboxes?order=up")).status, 400);
	assert.equal((await control("GET", "/v2/sandboxes?startedAfter=today")).status, 400);
	assert.equal(json(await control("GET", "/v2/sandboxes?startedAfter=2200-01-01T00:00:00Z")).length, 0);
	assert.equal((await control("GET", "/sandboxes/metrics")).status, 400);
	const many = json(await control("GET", `/sandboxes/metrics?sandbox_ids=${created.sandboxID}`));
	assert.deepEqual(Object.keys(many.sandboxes), [created.sandboxID]);
	assert.equal((await control("POST", `/v2/sandboxes/${created.sandboxID}/connect`)).status, 200);
	assert.equal((await control("POST", `/sandboxes/${created.sandboxID}/connect`)).status, 400);
	assert.equal((await control("GET", "/sandboxes/a-b-c")).status, 400);
	assert.equal((await control("PUT", "/sandboxes/abc")).status, 405);
	assert.equal((await control("GET", "/elsewhere")).status, 404);
	const unknown = await control("GET", "/sandboxes/iunknown");
	assert.deepEqual(json(unknown),
		{ code: 404, message: 'Sandbox "iunknown" doesn\'t exist or you don\'t have access to it' });
}

async function concurrency() {
	const more = [];
	for (let i = 0; i < 2; i++)
		more.push(json(await control("POST", "/sandboxes", { templateID: "base" })));
	assert.equal(more[0].envdAccessToken, undefined);
	assert.equal((await control("POST", "/sandboxes", { templateID: "base" })).status, 429);
	for (const { sandboxID } of more)
		assert.equal((await control("DELETE", `/sandboxes/${sandboxID}`)).status, 204);
}

async function refreshes() {
	const end = async () => Date.parse(json(await control("GET", `/sandboxes/${created.sandboxID}`)).endAt);
	const before = await end();
	assert.equal((await control("POST", `/sandboxes/${created.sandboxID}/refreshes`, { duration: 20 })).status, 204);
	assert.equal(await end(), before);
	assert.equal((await control("POST", `/sandboxes/${created.sandboxID}/refreshes`, { duration: 3600 })).status, 204);
	assert.ok(await end() > before);
	assert.equal((await control("POST", `/sandboxes/${created.sandboxID}/refreshes`, { duration: 3601 })).status, 400);
}

async function skewedClock() {
	const ahead = await startServer("e2b", ["--skew", "3600"]);
	const { id } = await ahead.post("/create");
	const got = await request(`${ahead.urls.api_url}/sandboxes/${id}`, { headers: { "X-API-Key": key } });
	const now = Date.parse(got.headers.date);
	assert.ok(Math.abs(now - Date.now() - 3_600_000) < 300_000);
	assert.ok(Math.abs(Date.parse(json(got).startedAt) - now) < 300_000);
	assert.ok(Math.abs(Date.parse(json(got).endAt) - now - 3_600_000) < 300_000);
	await ahead.stop();
}

async function onlyV1() {
	const old = await startServer("e2b", ["--v1-only"]);
	const ask = (method, path) => request(`${old.urls.api_url}${path}`,
		{ method, headers: { "X-API-Key": key, ...JSON_TYPE }, body: '{"templateID":"base","secure":true,"timeout":60}' });
	assert.equal((await ask("POST", "/v2/sandboxes")).status, 405);
	const made = await ask("POST", "/sandboxes");
	assert.equal(made.status, 201);
	assert.ok(json(made).envdAccessToken);
	assert.equal((await ask("POST", `/v2/sandboxes/${json(made).sandboxID}/connect`)).status, 404);
	assert.equal((await ask("POST", `/sandboxes/${json(made).sandboxID}/connect`)).status, 200);
	await old.stop();
}

// What a daemon before 0.4.0 makes of requests that are made for the newest.
async function olderDaemon() {
	const old = await startServer("e2b", ["--envd", "0.1.9"]);
	const secured = await request(`${old.urls.api_url}/v2/sandboxes`,
		{ method: "POST", headers: { "X-API-Key": key, ...JSON_TYPE }, body: '{"templateID":"base"}' });
	assert.equal(secured.status, 400);
	const { id } = await old.post("/create");
	const there = { "E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "49983" };
	const ask = (where, headers, body) => request(`${old.urls.sandbox_url}${where}`,
		{ method: "POST", headers: { ...there, ...headers }, body });
	assert.deepEqual(json(await ask("/filesystem.Filesystem/Stat", JSON_TYPE, '{"path":"/"}')),
		{ code: "unauthenticated", message: "no user specified" });
	const nobody = await ask("/process.Process/Start", STREAM, envelope({ process: { cmd: "true" } }));
	assert.deepEqual(messages(nobody), [{ error: { code: "unauthenticated", message: "no user specified" } }]);
	assert.equal((await ask("/process.Process/List", JSON_TYPE, "{}")).status, 200);
	assert.equal((await ask("/process.Process/CloseStdin", JSON_TYPE, "{}")).status, 404);
	assert.equal((await ask("/files/compose", JSON_TYPE, "{}")).status, 404);
	const raw = { "Content-Type": "application/octet-stream" };
	assert.equal((await ask("/files?path=/tmp/f", raw, "x")).status, 400);
	const refused = await ask("/files?path=/tmp/f&username=user", raw, "x");
	assert.deepEqual([refused.status, json(refused).message],
		[500, "error parsing multipart form: request Content-Type isn't multipart/form-data"]);
	await old.stop();
}

// ---- The edge and access ---------------------------------------------------------------------------

async function edges() {
	assert.equal((await request(`${edge}/health`)).status, 400);
	const gone = await request(`${edge}/health`, { headers: { ...address, "E2b-Sandbox-Id": "igone" } });
	assert.deepEqual(json(gone), { sandboxId: "igone", message: "The sandbox was not found", code: 502 });
	const byHost = { headers: { Host: `49983-${created.sandboxID}.example.test` } };
	assert.equal((await request(`${edge}/health`, byHost)).status, 204);
	assert.equal((await data("POST", "/init")).status, 404);
	const closed = await request(`${edge}/`, { headers: { ...access, "E2b-Sandbox-Port": "3000" } });
	assert.equal(json(closed).message, "The sandbox is running but port is not open");
}

async function tokens() {
	const refused = await request(`${edge}/process.Process/List`, { method: "POST", headers: { ...address, ...JSON_TYPE }, body: "{}" });
	assert.equal(refused.status, 401);
	assert.equal(json(refused).code, 401);
	assert.equal((await request(`${edge}/files?path=/etc/passwd`, { headers: address })).status, 401);
	const user = await rpc("filesystem.Filesystem/Stat", { path: "/" }, { Authorization: `Basic ${btoa("who:")}` });
	assert.deepEqual([user.status, json(user).code], [401, "unauthenticated"]);
}

// ---- RPC -------------------------------------------------------------------------------------------

async function rpcRefusals() {
	assert.equal((await data("GET", "/process.Process/List")).status, 405);
	assert.equal((await rpc("process.Process/Nothing", {})).status, 404);
	const type = await rpc("process.Process/List", {}, { "Content-Type": "application/xml" });
	assert.equal(type.status, 415);
	assert.match(type.headers["accept-post"], /application\/proto/);
	assert.equal(json(await rpc("process.Process/List", {}, { "Connect-Protocol-Version": "2" })).code, "invalid_argument");
	assert.equal(json(await rpc("process.Process/Update", { process: { pid: 1 } })).code, "not_found");
	const encoded = await rpc("process.Process/List", {}, { "Content-Encoding": "br" });
	assert.equal(json(encoded).code, "unimplemented");
	const missing = await rpc("filesystem.Filesystem/Stat", { path: "w/none" });
	assert.equal(missing.body.toString(), JSON.stringify({ code: "not_found",
		message: "file not found: lstat /home/user/w/none: no such file or directory" }));
}

async function streamErrors() {
	const answer = await command("true", {}, { process: { cmd: "true", cwd: "/nonexistent" } });
	assert.equal(answer.status, 200);
	assert.deepEqual(messages(answer),
		[{ error: { code: "invalid_argument", message: "cwd '/nonexistent' does not exist" } }]);
}

async function streams() {
	const answer = await command("printf out; exit 3");
	const [start, out, end, over] = messages(answer);
	assert.ok(start.event.start.pid > 0);
	assert.equal(out.event.data.stdout, btoa("out"));
	assert.deepEqual(end.event.end, { exitCode: 3, exited: true, status: "exit status 3", error: "exit status 3" });
	assert.deepEqual(over, {});
	assert.equal(envelopes(answer.body).at(-1).flags, 2);
	const late = await stream("process.Process/Connect", { process: { pid: start.event.start.pid } });
	assert.equal(messages(late)[0].event.end.exitCode, 3);
}

async function streamedInput() {
	const cat = stream("process.Process/Start", { process: { cmd: "cat" }, tag: "t" });
	const isThere = async () => json(await rpc("process.Process/List", {})).processes?.some(({ tag }) => tag === "t");
	for (const end = Date.now() + 10_000; !await isThere();)
		assert.ok(Date.now() < end);
	const input = (text) => envelope({ data: { input: { stdin: btoa(text) } } });
	const fed = await data("POST", "/process.Process/StreamInput", {
		headers: STREAM,
		body: Buffer.concat([envelope({ start: { process: { tag: "t" } } }), input("one "), envelope({ keepalive: {} }), input("two")]),
	});
	assert.deepEqual(messages(fed), [{}, {}]);
	assert.equal((await rpc("process.Process/CloseStdin", { process: { tag: "t" } })).status, 200);
	const late = json(await rpc("process.Process/SendInput", { process: { pid: 1 }, input: { stdin: "" } }));
	assert.equal(late.code, "not_found");
	const said = messages(await cat).map(({ event }) => atob(event?.data?.stdout ?? "")).join("");
	assert.equal(said, "one two");
}

async function compression() {
	const answer = await command("printf out", { "Connect-Accept-Encoding": "gzip" });
	assert.equal(answer.headers["connect-content-encoding"], "gzip");
	assert.deepEqual(envelopes(answer.body).map(({ flags }) => flags), [1, 1, 1, 3]);
	const sent = await data("POST", "/process.Process/Start", {
		headers: { ...STREAM, "Connect-Content-Encoding": "gzip" },
		body: envelope(zlib.gzipSync(JSON.stringify({ process: { cmd: "true" } })), 1),
	});
	const last = envelopes(sent.body).at(-1);
	assert.equal(last.flags, 3);
	assert.equal(zlib.gunzipSync(last.payload).toString(), "{}");
}

async function times() {
	const pinged = messages(await command("sleep 1.5", { "Keepalive-Ping-Interval": "1" }));
	assert.ok(pinged.some(({ event }) => event?.keepalive));
	const late = messages(await command("sleep 60", { "Connect-Timeout-Ms": "300" }));
	assert.equal(late.at(-1).error.code, "deadline_exceeded");
	assert.ok(!late.some(({ event }) => event?.end));
}

async function longArgument() {
	const answer = messages(await command(`: ${"x".repeat(140_000)}`));
	assert.equal(answer[0].error.code, "invalid_argument");
	assert.match(answer[0].error.message, /^error starting process '/);
}

async function namesOutsideUtf8() {
	assert.equal((await put("/home/user/odd/%ff%fe", "odd")).status, 200);
	assert.equal((await data("GET", "/files?path=/home/user/odd/%ff%fe")).body.toString(), "odd");
	assert.equal(json(await rpc("filesystem.Filesystem/ListDir", { path: "odd" })).code, "internal");
}

async function moves() {
	await put("/home/user/m/a", "1");
	await rpc("filesystem.Filesystem/MakeDir", { path: "m/d" });
	const onto = json(await rpc("filesystem.Filesystem/Move", { source: "m/a", destination: "m/d" }));
	assert.match(onto.message, /file exists$/);
	assert.equal(json(await rpc("filesystem.Filesystem/Stat", { path: "~other/x" })).code, "invalid_argument");
}

async function polledWatch() {
	await rpc("filesystem.Filesystem/MakeDir", { path: "polled" });
	const { watcherId } = json(await rpc("filesystem.Filesystem/CreateWatcher", { path: "polled" }));
	await put("/home/user/polled/f", "1");
	const events = [];
	for (const end = Date.now() + 10_000; !events.some(({ type }) => type === "EVENT_TYPE_WRITE");) {
		assert.ok(Date.now() < end);
		events.push(...(json(await rpc("filesystem.Filesystem/GetWatcherEvents", { watcherId })).events ?? []));
	}
	assert.deepEqual([events[0].name, events[0].type], ["f", "EVENT_TYPE_CREATE"]);
	await rpc("filesystem.Filesystem/RemoveWatcher", { watcherId });
	assert.equal(json(await rpc("filesystem.Filesystem/GetWatcherEvents", { watcherId })).code, "not_found");
}

// ---- Files -----------------------------------------------------------------------------------------

async function ranges() {
	await put("/tmp/ten", "0123456789");
	await put("/tmp/empty", "");
	const get = (range, path = "/tmp/ten") => data("GET", `/files?path=${path}`, { headers: { Range: range } });
	const part = await get("bytes=2-4");
	assert.deepEqual([part.status, part.headers["content-range"], part.body.toString()], [206, "bytes 2-4/10", "234"]);
	assert.equal((await get("bytes=-3")).body.toString(), "789");
	assert.equal((await get("bytes=8-99")).headers["content-range"], "bytes 8-9/10");
	const beyond = await get("bytes=10-");
	assert.deepEqual([beyond.status, beyond.headers["content-range"]], [416, "bytes */10"]);
	assert.deepEqual([(await get("bytes=0-1,3-4")).status, (await get("bytes=0-1", "/tmp/empty")).status], [200, 200]);
}

async function conditions() {
	const { headers } = await data("GET", "/files?path=/tmp/ten");
	assert.equal(headers.etag, undefined);
	const get = (more) => data("GET", "/files?path=/tmp/ten", { headers: more });
	assert.equal((await get({ "If-Modified-Since": headers["last-modified"] })).status, 304);
	assert.equal((await get({ "If-None-Match": "*" })).status, 304);
	assert.equal((await get({ "If-Range": "Thu, 01 Jan 1970 00:00:00 GMT", Range: "bytes=1-2" })).status, 200);
	assert.equal((await get({ "Accept-Encoding": "identity;q=0", Range: "bytes=1-2" })).status, 406);
	assert.equal((await get({ "Accept-Encoding": "gzip" })).headers["content-encoding"], "gzip");
}

async function fileRefusals() {
	assert.equal((await data("PUT", "/files?path=/tmp/x")).headers.allow, "GET, POST");
	assert.equal((await data("POST", "/files?path=/tmp/x", { body: "x" })).status, 400);
	assert.equal((await put("/tmp/ten/below", "x")).status, 500);
	const twice = '--b\r\nContent-Disposition: form-data; name="file"; filename="same"\r\n\r\nx\r\n'.repeat(2);
	const answer = await data("POST", "/files",
		{ headers: { "Content-Type": "multipart/form-data; boundary=b" }, body: `${twice}--b--\r\n` });
	assert.equal(answer.status, 400);
}

async function composing() {
	await put("/tmp/part1", "one ");
	await put("/tmp/part2", "two");
	const body = JSON.stringify({ source_paths: ["/tmp/part1", "/tmp/part2"], destination: "/tmp/whole" });
	assert.equal((await data("POST", "/files/compose", { headers: JSON_TYPE, body })).status, 200);
	assert.equal((await data("GET", "/files?path=/tmp/whole")).body.toString(), "one two");
	assert.equal((await data("GET", "/files?path=/tmp/part1")).status, 404);
}

// ---- Faults ----------------------------------------------------------------------------------------

async function answeredFaults() {
	await fault("GET /health", { type: "status", status: 429, retry_after: 2 }, { after: 1 });
	assert.equal((await data("GET", "/health")).status, 204);
	const limited = await data("GET", "/health");
	assert.deepEqual([limited.status, limited.headers["retry-after"], limited.body.length], [429, "2", 0]);
	await fault("/Process/", { type: "expired_token" });
	assert.equal((await rpc("process.Process/List", {})).status, 401);
	await fault("process.Process/List", { type: "garbage", bytes: 10 });
	assert.equal((await rpc("process.Process/List", {})).body.length, 10);
	await fault("process.Process/List", { type: "content_type", value: "text/html" });
	assert.equal((await rpc("process.Process/List", {})).headers["content-type"], "text/html");
	await fault(undefined, { type: "truncate", bytes: 4 }, { path: "ten" });
	assert.equal((await data("GET", "/files?path=/tmp/ten")).body.toString(), "0123");
}

async function cutFaults() {
	await put("/tmp/large", Buffer.alloc(300_000, "x"));
	await fault("GET /files", { type: "cut" });
	await assert.rejects(data("GET", "/files?path=/tmp/large"));
	await fault("GET /files", { type: "cut_after", bytes: 100_000 });
	await assert.rejects(data("GET", "/files?path=/tmp/large"), (error) => error.partial.length === 100_000);
	await fault("POST /files", { type: "cut_request", bytes: 10 });
	await assert.rejects(put("/tmp/cut", Buffer.alloc(300_000, "x")));
	assert.equal((await data("GET", "/files?path=/tmp/ten")).status, 200);
}

async function stalls() {
	await fault("GET /files", { type: "stall", bytes: 5 });
	const stalled = data("GET", "/files?path=/tmp/ten");
	await server.post("/reset");
	await data("GET", "/health");
	assert.deepEqual(Object.keys((await server.get("/counters")).kinds), ["GET /health"]);
	await server.post("/release");
	assert.equal((await stalled).body.toString(), "0123456789");
	await fault("GET /health", { type: "stall", ms: 50 });
	assert.equal((await data("GET", "/health")).status, 204);
	await clear();
}

const failed = await runTests([
	["keys", keys],
	["what the control plane refuses", controlRefusals],
	["as many sandboxes as the plan allows", concurrency],
	["refreshes never shorten", refreshes],
	["a server's clock may be wrong", skewedClock],
	["a server without v2", onlyV1],
	["a daemon that is older", olderDaemon],
	["the edge", edges],
	["access tokens and users", tokens],
	["what RPC refuses", rpcRefusals],
	["errors of streams", streamErrors],
	["a stream; a late Connect", streams],
	["streamed input, by tag", streamedInput],
	["compressed envelopes", compression],
	["keepalive and deadline", times],
	["an argument that is too long", longArgument],
	["names outside UTF-8", namesOutsideUtf8],
	["Move and paths", moves],
	["a polled watch", polledWatch],
	["ranges", ranges],
	["conditions and encodings", conditions],
	["what /files refuses", fileRefusals],
	["compose", composing],
	["faults: answers", answeredFaults],
	["faults: cuts", cutFaults],
	["faults: stalls", stalls],
]);
await server.stop();
process.exit(failed ? 1 : 0);
