// The daemon inside a devbox: its commands and files, as the devbox's user.
//
// On standard input: one line of JSON { devbox, user, env, limits }. It serves on the socket /run/daemon/io/socket, says
// "ready" on standard output then, and ends with its standard input.
import { once } from "node:events";
import fs from "node:fs";
import readline from "node:readline";

import { listen, makeServer } from "../../lib/http.mjs";
import { SANDBOX_PATH } from "../../lib/jail.mjs";
import { preparePipes } from "../../lib/pipes.mjs";
import { record, recordTo } from "../../lib/record.mjs";
import { findUser, isRoot } from "../../lib/users.mjs";
import { ApiError } from "../api_error.mjs";
import { commandRoutes, makeTables } from "./commands.mjs";
import { fileRoutes } from "./files.mjs";

const IO = "/run/daemon/io";
const SHELLS = "/run/daemon/shells";
const PIPES = "/run/daemon/pipes";
const ROUTES = { ...commandRoutes, ...fileRoutes };

// ---- Being the user --------------------------------------------------------------------------------

function makeOwnFolder(folder, user) {
	fs.mkdirSync(folder, { mode: 0o700 });
	if (isRoot)
		fs.chownSync(folder, user.uid, user.gid);
}

function become(user) {
	if (!isRoot || user.uid === 0)
		return;
	process.setgroups([user.gid]);
	process.setgid(user.gid);
	process.setuid(user.uid);
}

function environment(user, env) {
	return { PATH: SANDBOX_PATH, HOME: user.home, USER: user.name, LOGNAME: user.name, SHELL: "/bin/bash", ...env };
}

// ---- Serving ---------------------------------------------------------------------------------------

// /v1/devboxes/ID/execute -> execute
function routeOf(req) {
	const { pathname, searchParams } = new URL(req.url, "http://daemon");
	const [, name] = /^\/v1\/devboxes\/[^/]+\/(.*)$/.exec(pathname) ?? [];
	const [, id] = /^executions\/([^/]+)/.exec(name) ?? [];
	const pattern = name.replace(/^executions\/[^/]+/, "executions/{id}");
	const serve = ROUTES[`${req.method} ${pattern}`];
	if (serve)
		return { serve, given: { id, query: searchParams } };
	const isPathKnown = Object.keys(ROUTES).some((one) => one.split(" ")[1] === pattern);
	throw isPathKnown ? new ApiError(405, "Method not allowed") : new ApiError(404, "Not found");
}

async function answer(daemon, req, res) {
	record("request", `${req.method} ${req.url}\n${req.rawHeaders.join("\0")}`);
	try {
		const { serve, given } = routeOf(req);
		await serve(daemon, req, res, given);
	} catch (error) {
		if (res.headersSent)
			return res.destroy(error);
		(error instanceof ApiError ? error : new ApiError(500, error.message)).send(res);
	}
	return req.resume();
}

async function main() {
	const [line] = await once(readline.createInterface({ input: process.stdin }), "line");
	const { devbox, user: name, env, limits } = JSON.parse(line);
	const user = findUser(name);
	process.umask(0o022);
	recordTo(`${IO}/received`);
	[SHELLS, PIPES].forEach((folder) => makeOwnFolder(folder, user));
	const daemon = {
		devbox, home: user.home, env: environment(user, env), limits, shells: SHELLS, tables: makeTables(),
	};
	const server = makeServer((req, res) => answer(daemon, req, res));
	await listen(server, { path: `${IO}/socket` });
	become(user);
	preparePipes(PIPES);
	process.stdin.once("end", () => process.exit(0));
	process.stdout.write("ready\n");
}

await main();
