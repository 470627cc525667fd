// What Modal's SDK hides: statuses, metadata, offsets and limits, call by call.
import assert from "node:assert/strict";
import http2 from "node:http2";
import { randomUUID } from "node:crypto";

import { frame, messages } from "../servers/lib/grpc.mjs";
import { decode, encode } from "../servers/lib/protobuf.mjs";
import { controlMethods } from "../servers/modal/control_messages.mjs";
import { routerMethods } from "../servers/modal/router/messages.mjs";
import { startServer } from "./server.mjs";
import { runTests } from "./tap.mjs";

const server = await startServer("modal");
const METHODS = { ...controlMethods, ...routerMethods };
const CONTROL = "modal.client.ModalClient/";
const ROUTER = "modal.task_command_router.TaskCommandRouter/";
const credentials = {
	"x-modal-client-type": "1", "x-modal-client-version": "1.0.0",
	"x-modal-token-id": server.urls.env.MODAL_TOKEN_ID, "x-modal-token-secret": server.urls.env.MODAL_TOKEN_SECRET,
};
const session = http2.connect(server.urls.plain_url);
let sandbox;
let access;

// { status, code, message, answers } of one call. `sent`: messages, or bytes as they are.
async function call(path, headers, sent) {
	const stream = session.request({
		":method": "POST", ":path": `/${path}`, "content-type": "application/grpc", te: "trailers", ...headers,
	});
	const seen = {};
	stream.on("response", (given) => Object.assign(seen, given));
	stream.on("trailers", (given) => Object.assign(seen, given));
	const body = Buffer.isBuffer(sent) ? sent :
		Buffer.concat([sent].flat().map((one) => frame(encode(METHODS[path].input, one))));
	stream.end(body);
	const parts = [];
	for await (const part of stream)
		parts.push(part);
	const answers = [];
	if (seen["grpc-status"] === "0") {
		for await (const bytes of messages(parts, 100 << 20))
			answers.push(decode(METHODS[path].output, bytes));
	}
	return { status: seen[":status"], code: Number(seen["grpc-status"]), message: seen["grpc-message"], answers };
}

async function control(name, request = {}, headers = {}) {
	const path = `${CONTROL}${name}`;
	return call(path, { ...credentials, ...headers }, request);
}

const router = (name, request) => call(`${ROUTER}${name}`, { authorization: `Bearer ${access.jwt}` }, request);
const ofExec = (execId) => ({ taskId: sandbox.taskId, execId });
const start = (commandArgs, more = {}) => {
	const execId = more.execId ?? randomUUID();
	return router("TaskExecStart", { ...ofExec(execId), commandArgs, stdoutConfig: 1, stderrConfig: 1, ...more })
		.then(({ code, message }) => ({ execId, code, message }));
};

async function read(execId, offset = 0) {
	const { code, answers } = await router("TaskExecStdioRead", { ...ofExec(execId), offset });
	assert.equal(code, 0);
	return Buffer.concat(answers.map((one) => one.data)).toString();
}

async function setUp() {
	const { id } = await server.post("/create");
	const [{ token }] = (await control("AuthTokenGet")).answers;
	credentials["x-modal-auth-token"] = token;
	const [{ taskId }] = (await control("SandboxGetTaskIdV2", { sandboxId: id })).answers;
	sandbox = { id, taskId };
	[access] = (await control("SandboxGetCommandRouterAccess", { sandboxId: id })).answers;
	assert.match(access.url, /^https:/);
}

// ---- Who may call ------------------------------------------------------------------------------------

async function httpItselfIsChecked() {
	const path = `${CONTROL}AuthTokenGet`;
	assert.equal((await call(path, { ...credentials, "content-type": "application/json" }, {})).status, 415);
	assert.equal((await call(path, { ...credentials, te: undefined }, {})).status, 400);
	assert.equal((await call(`${CONTROL}NoSuchMethod`, credentials, Buffer.alloc(5))).code, 12);
}

async function everyCallIsAuthenticated() {
	assert.equal((await control("AuthTokenGet", {}, { "x-modal-token-secret": "as-wrong" })).code, 16);
	assert.equal((await control("AuthTokenGet", {}, { "x-modal-token-id": undefined })).code, 16);
	assert.equal((await control("AuthTokenGet", {}, { "x-modal-client-type": "77" })).code, 3);
	assert.equal((await control("SandboxListV2", {}, { "x-modal-auth-token": undefined })).code, 16);
	assert.equal((await control("SandboxList", {}, { "x-modal-auth-token": undefined })).code, 0);
}

async function workersTakeOnlyTheirTokens() {
	const request = { ...ofExec(randomUUID()), commandArgs: ["true"] };
	const path = `${ROUTER}TaskExecStart`;
	assert.equal((await call(path, {}, request)).code, 16);
	assert.equal((await call(path, { authorization: `Bearer ${credentials["x-modal-auth-token"]}` }, request)).code, 16);
	const both = { authorization: `Bearer ${access.jwt}`, "x-modal-token-secret": "as-leak" };
	assert.equal((await call(path, both, request)).code, 3);
}

async function versionsKnowTheirOwn() {
	assert.equal((await control("SandboxWait", { sandboxId: sandbox.id })).code, 5);
	assert.equal((await control("TaskGetCommandRouterAccess", { taskId: sandbox.taskId })).code, 9);
}

// ---- Calls -------------------------------------------------------------------------------------------

async function aUnaryCallHasOneMessage() {
	assert.equal((await control("AuthTokenGet", [])).code, 12);
	assert.equal((await control("AuthTokenGet", [{}, {}])).code, 12);
	const compressed = Buffer.from([1, 0, 0, 0, 0]);
	assert.equal((await call(`${CONTROL}AuthTokenGet`, credentials, compressed)).code, 12);
}

async function deadlinesAreKept() {
	const got = await control("SandboxWaitV2", { sandboxId: sandbox.id, timeout: 30 }, { "grpc-timeout": "200m" });
	assert.equal(got.code, 4);
}

async function creationIsIdempotent() {
	const [{ appId }] = (await control("AppGetOrCreate", { appName: "wire", objectCreationType: 1 })).answers;
	const [{ imageId }] = (await control("ImageGetOrCreate",
		{ appId, image: { dockerfileCommands: ["FROM debian"] }, builderVersion: "2025.06" })).answers;
	assert.equal((await control("SandboxCreateV2", { appId, definition: { imageId, networkAccess: { type: 1 } } })).code, 9);
	const { answers } = await control("ImageJoinStreaming", { imageId, timeout: 55 });
	assert.equal(answers.at(-1).result.status, 1);
	const request = { appId, definition: { imageId, networkAccess: { type: 1 } } };
	const key = { "x-idempotency-key": randomUUID() };
	const made = await Promise.all([1, 2].map(() => control("SandboxCreateV2", request, key)));
	assert.equal(made[0].answers[0].sandboxId, made[1].answers[0].sandboxId);
	await control("SandboxTerminateV2", { sandboxId: made[0].answers[0].sandboxId });
}

// ---- Commands ----------------------------------------------------------------------------------------

async function aCommandStartsOnce() {
	const { execId } = await start(["sh", "-c", "echo $$"]);
	assert.equal((await start(["sh", "-c", "echo $$"], { execId })).code, 0);
	assert.match(await read(execId), /^\d+\n$/);
}

async function outputIsReadFromAnyOffset() {
	const { execId } = await start(["printf", "0123456789"]);
	assert.equal(await read(execId, 4), "456789");
	await router("TaskExecWait", ofExec(execId));
	assert.equal(await read(execId, 8), "89");
	assert.equal(await read(execId), "0123456789");
}

async function zeroIsAnExitStatus() {
	const { execId } = await start(["true"]);
	const { answers } = await router("TaskExecWait", ofExec(execId));
	assert.deepEqual(answers, [{ code: 0 }]);
	const other = await start(["sh", "-c", "kill -9 $$"]);
	assert.deepEqual((await router("TaskExecWait", ofExec(other.execId))).answers, [{ signal: 9 }]);
}

async function pollTellsWhetherItRuns() {
	const { execId } = await start(["cat"]);
	assert.deepEqual((await router("TaskExecPoll", ofExec(execId))).answers, [{}]);
	await router("TaskExecStdinWrite", { ...ofExec(execId), eof: true });
	await router("TaskExecWait", ofExec(execId));
	assert.deepEqual((await router("TaskExecPoll", ofExec(execId))).answers, [{ code: 0 }]);
}

async function stdinHasOffsets() {
	const { execId } = await start(["cat"]);
	const write = (offset, text, eof) =>
		router("TaskExecStdinWrite", { ...ofExec(execId), offset, data: Buffer.from(text), eof });
	assert.equal((await write(0, "one")).code, 0);
	assert.equal((await write(0, "one")).code, 9);
	assert.equal((await write(5, "two")).code, 9);
	const status = await router("TaskExecStdinStatus", ofExec(execId));
	assert.equal(status.answers[0].numBytesWritten, 3);
	assert.equal((await write(3, "two", true)).code, 0);
	assert.equal(await read(execId), "onetwo");
}

async function onlyEndClosesAStreamOfStdin() {
	const { execId } = await start(["cat"]);
	const stream = (offset, ...rest) => router("TaskExecStdinWriteStream", [{ start: { ...ofExec(execId), offset } }, ...rest]);
	assert.equal((await stream(0, { data: Buffer.from("one") })).code, 0);
	assert.deepEqual((await router("TaskExecPoll", ofExec(execId))).answers, [{}]);
	assert.equal((await stream(0)).code, 9);
	assert.equal((await stream(3, { data: Buffer.from("two") }, { end: {} })).code, 0);
	assert.equal(await read(execId), "onetwo");
}

async function commandsAreChecked() {
	assert.equal((await start([])).code, 3);
	assert.equal((await start(["true"], { stderrConfig: 2 })).code, 3);
	assert.equal((await start(["true"], { workdir: "here" })).code, 3);
	assert.equal((await start(["true", "x".repeat(65_536)])).code, 3);
	assert.equal((await start(["true"], { env: { "no-name": "x" } })).code, 3);
	assert.equal((await router("TaskExecPoll", ofExec(randomUUID()))).code, 5);
	assert.equal((await router("TaskExecPoll", { taskId: "ta-other", execId: "x" })).code, 7);
}

async function theGoneAreNotFound() {
	const { id } = await server.post("/create");
	const [own] = (await control("SandboxGetCommandRouterAccess", { sandboxId: id })).answers;
	await server.post(`/kill/${id}`);
	const request = { taskId: "ta-x", execId: "x" };
	assert.equal((await call(`${ROUTER}TaskExecPoll`, { authorization: `Bearer ${own.jwt}` }, request)).code, 5);
	assert.equal((await control("SandboxGetCommandRouterAccess", { sandboxId: id })).code, 5);
	assert.equal((await control("SandboxGetTaskIdV2", { sandboxId: id })).answers[0].taskResult.status, 3);
}

const failed = await runTests([
	["a sandbox is found", setUp],
	["HTTP itself is checked", httpItselfIsChecked],
	["every call is authenticated", everyCallIsAuthenticated],
	["workers take only their own tokens", workersTakeOnlyTheirTokens],
	["each version knows its own sandboxes", versionsKnowTheirOwn],
	["a unary call has one message", aUnaryCallHasOneMessage],
	["deadlines are kept", deadlinesAreKept],
	["creation is idempotent", creationIsIdempotent],
	["a command starts once", aCommandStartsOnce],
	["output is read from any offset", outputIsReadFromAnyOffset],
	["zero is an exit status", zeroIsAnExitStatus],
	["polling tells whether it runs", pollTellsWhetherItRuns],
	["stdin has offsets", stdinHasOffsets],
	["only end closes a stream of stdin", onlyEndClosesAStreamOfStdin],
	["commands are checked", commandsAreChecked],
	["those that are gone are not found", theGoneAreNotFound],
]);
session.close();
await server.stop();
process.exit(failed ? 1 : 0);
