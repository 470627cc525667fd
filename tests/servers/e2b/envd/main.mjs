// The daemon inside a sandbox, in the place of the vendor's envd. Runs in the sandbox's own namespaces.
//
// On standard input: one line of JSON { token, defaultUser, globals, has }. `has`: what its version
// can do (versions.mjs). It serves on the socket /run/daemon/io/socket, says
// "ready" on standard output then, and ends with its standard input.
import { once } from "node:events";
import readline from "node:readline";

import { listen, makeServer, sendEmpty, sendJson, sendText } from "../../lib/http.mjs";
import { checkToken, rpcUser } from "./access.mjs";
import { parseQuery } from "../../lib/bytes.mjs";
import { compose } from "./compose.mjs";
import { serveRpc } from "./connect.mjs";
import { getFile } from "./download.mjs";
import { filesystemHandlers } from "./filesystem.mjs";
import { HttpError, sendError } from "./http_error.mjs";
import { metrics } from "./metrics.mjs";
import { preparePipes } from "../../lib/pipes.mjs";
import { processHandlers } from "./process.mjs";
import { record, recordTo } from "../../lib/record.mjs";
import { postFiles } from "./upload.mjs";
import { watchHandlers } from "./watchers.mjs";

const IO = "/run/daemon/io";

const endpoints = {
	"/health": { GET: (sandbox, req, res) => sendEmpty(res, 204, { "Cache-Control": "no-store" }) },
	"/metrics": { GET: (sandbox, req, res) => sendJson(res, 200, metrics()) },
	"/envs": { GET: (sandbox, req, res) => sendJson(res, 200, sandbox.globals) },
	"/files": { GET: getFile, POST: postFiles },
	"/files/compose": { POST: compose },
};

function serveEndpoint(sandbox, req, res, endpoint, query) {
	const serve = endpoint[req.method];
	if (!serve)
		return sendText(res, 405, "", { Allow: Object.keys(endpoint).join(", ") });
	return serve(sandbox, req, res, query);
}

async function serve(sandbox, req, res) {
	const [, pathname, search] = /^([^?]*)(.*)$/s.exec(req.url);
	checkToken(sandbox.token, req, pathname);
	const endpoint = endpoints[pathname];
	if (endpoint && (endpoint !== endpoints["/files/compose"] || sandbox.has.compose))
		return serveEndpoint(sandbox, req, res, endpoint, parseQuery(search));
	const findUser = () => rpcUser(req.headers.authorization, sandbox.defaultUser);
	return serveRpc(req, res, pathname.slice(1), sandbox.handlers, findUser);
}

function fail(res, error) {
	if (res.headersSent)
		return res.destroy(error);
	return sendError(res, error instanceof HttpError ? error : { message: error.message });
}

async function answer(sandbox, req, res) {
	record("request", `${req.method} ${req.url}\n${req.rawHeaders.join("\0")}`);
	try {
		await serve(sandbox, req, res);
	} catch (error) {
		fail(res, error);
	}
	req.resume();
}

async function main() {
	const input = readline.createInterface({ input: process.stdin });
	const [line] = await once(input, "line");
	const sandbox = JSON.parse(line);
	sandbox.handlers = { ...filesystemHandlers, ...watchHandlers(sandbox), ...processHandlers(sandbox) };
	process.umask(0o022);
	recordTo(`${IO}/received`);
	preparePipes("/run/daemon/pipes");
	await listen(makeServer((req, res) => answer(sandbox, req, res)), { path: `${IO}/socket` });
	process.stdin.once("end", () => process.exit(0));
	process.stdout.write("ready\n");
}

await main();
