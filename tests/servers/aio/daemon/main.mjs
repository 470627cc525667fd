// The service inside a sandbox, as its own user, in the place of the vendor's API server.
//
// On standard input: one line of JSON { user, hasBash, maxSessions }. It serves on the socket /run/daemon/io/socket, says
// "ready" on standard output then, and ends with its standard input.
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import readline from "node:readline";

import { listen, makeServer, sendJson } from "../../lib/http.mjs";
import { preparePipes } from "../../lib/pipes.mjs";
import { record, recordTo } from "../../lib/record.mjs";
import { findUser } from "../../lib/users.mjs";
import { HttpError, sendError } from "./answer.mjs";
import { bashRoutes } from "./bash.mjs";
import { download } from "./download.mjs";
import { fileRoutes } from "./files.mjs";
import { shellRoutes } from "./shell.mjs";
import { upload } from "./upload.mjs";

const IO = "/run/daemon/io";
const PIPES = "/run/daemon/pipes";
// An image's own is 1.9.x; before 1.3.0 the interface had no /v1/bash.
const VERSION = "1.9.4";
const VERSION_WITHOUT_BASH = "1.2.0";

// ---- Who one is ------------------------------------------------------------------------------------

function become({ name, uid, gid }) {
	if (process.geteuid() !== 0 || uid === 0)
		return;
	process.initgroups(name, gid);
	process.setgid(gid);
	process.setuid(uid);
}

// What every command and file of the sandbox starts from.
function environment({ name, home }) {
	return { PATH: process.env.PATH, HOME: home, USER: name, LOGNAME: name, SHELL: "/bin/bash", LANG: "C.UTF-8", WORKSPACE: home };
}

// ---- Its interface ---------------------------------------------------------------------------------

function context({ user, version }) {
	return {
		success: true,
		message: "Operation successful",
		data: null,
		hint: null,
		home_dir: user.home,
		workspace: user.home,
		version,
		detail: {
			system: {
				os: os.type(), os_version: os.release(), arch: os.machine?.() ?? os.arch(),
				user: user.name, home_dir: user.home, workspace: user.home, timezone: "UTC", occupied_ports: [],
			},
			runtime: { python: [], nodejs: [] },
			utils: [],
		},
	};
}

const sandboxRoutes = (sandbox) => ({
	"/v1/sandbox": { GET: (req, res) => sendJson(res, 200, context(sandbox)) },
	"/v1/file/upload": { POST: (req, res) => upload(sandbox, req, res) },
	"/v1/file/download": { GET: download },
});

// "/v1/bash/sessions/x/close" and "/v1/shell/sessions/x" are rows with "*" in the place of x.
function findRoute(routes, pathname) {
	const starred = pathname.replace(/^(\/v1\/(?:bash|shell)\/sessions\/)[^/]+(\/close)?$/, "$1*$2");
	return routes[pathname] ?? routes[starred];
}

async function serve(routes, req, res) {
	const { pathname } = new URL(req.url, "http://sandbox");
	const route = findRoute(routes, pathname);
	if (!route)
		throw new HttpError(404, "Not Found");
	if (!route[req.method])
		throw new HttpError(405, "Method Not Allowed");
	await route[req.method](req, res);
}

async function answer(routes, req, res) {
	record("request", `${req.method} ${req.url}\n${req.rawHeaders.join("\0")}`);
	try {
		await serve(routes, req, res);
	} catch (error) {
		if (res.headersSent)
			res.destroy(error);
		else
			sendError(res, error);
	}
	req.resume();
}

async function main() {
	const [line] = await once(readline.createInterface({ input: process.stdin }), "line");
	const config = JSON.parse(line);
	const user = findUser(config.user);
	const sandbox = {
		user,
		environment: environment(user),
		maxSessions: config.maxSessions,
		version: config.hasBash ? VERSION : VERSION_WITHOUT_BASH,
	};
	const routes = {
		...sandboxRoutes(sandbox), ...fileRoutes(sandbox), ...shellRoutes(sandbox), ...(config.hasBash ? bashRoutes(sandbox) : {}),
	};
	process.umask(0o022);
	recordTo(`${IO}/received`);
	fs.mkdirSync(PIPES, { mode: 0o700 });
	if (process.geteuid() === 0)
		fs.chownSync(PIPES, user.uid, user.gid);
	await listen(makeServer((req, res) => answer(routes, req, res)), { path: `${IO}/socket` });
	become(user);
	preparePipes(PIPES);
	process.stdin.once("end", () => process.exit(0));
	process.stdout.write("ready\n");
}

await main();
