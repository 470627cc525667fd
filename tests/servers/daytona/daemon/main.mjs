// The daemon inside a sandbox, in the place of the vendor's. Runs in the sandbox's own namespaces.
//
// On standard input: one line of JSON { account, shell, env }. It serves on the socket /run/daemon/io/socket as that user, says
// "ready" on standard output then, and ends with its standard input.
import { once } from "node:events";
import fs from "node:fs";
import readline from "node:readline";

import { parseQuery } from "../../lib/bytes.mjs";
import { listen, makeServer, sendText } from "../../lib/http.mjs";
import { preparePipes } from "../../lib/pipes.mjs";
import { record, recordTo } from "../../lib/record.mjs";
import { findUser, isRoot } from "../../lib/users.mjs";
import { DAEMON_VERSION } from "../control_views.mjs";
import { bulkDownload } from "./bulk_download.mjs";
import { download } from "./download.mjs";
import { execute } from "./execute.mjs";
import { info, list, makeFolder, move, remove, setPermissions } from "./files.mjs";
import { sendGoJson } from "./json.mjs";
import { Refused } from "./refused.mjs";
import { replace, searchNames, searchTexts } from "./search.mjs";
import * as session from "./session.mjs";
import { findShell } from "./shell.mjs";
import { bulkUpload, upload } from "./upload.mjs";

const IO = "/run/daemon/io";
const PIPES = "/run/daemon/pipes";
const SESSION = "/process/session/([^/]+)";

// Paths are regular expressions; what they hold in parentheses comes to the handler as a list.
const ROUTES = [
	["GET", "/version", (context, req, res) => sendGoJson(res, 200, { version: DAEMON_VERSION })],
	["GET", "/work-dir", (context, req, res) => sendGoJson(res, 200, { dir: context.workDir })],
	["GET", "/user-home-dir", (context, req, res) => sendGoJson(res, 200, { dir: context.home })],
	["GET", "/files/?", list],
	["DELETE", "/files/?", remove],
	["GET", "/files/info", info],
	["GET", "/files/download", download],
	["GET", "/files/search", searchNames],
	["GET", "/files/find", searchTexts],
	["POST", "/files/replace", replace],
	["POST", "/files/folder", makeFolder],
	["POST", "/files/move", move],
	["POST", "/files/permissions", setPermissions],
	["POST", "/files/upload", upload],
	["POST", "/files/bulk-upload", bulkUpload],
	["POST", "/files/bulk-download", bulkDownload],
	["POST", "/process/execute", execute],
	["GET", "/process/session", session.listSessions],
	["POST", "/process/session", session.createSession],
	["GET", SESSION, session.getSession],
	["DELETE", SESSION, session.deleteSession],
	["POST", `${SESSION}/exec`, session.executeInSession],
	["GET", `${SESSION}/command/([^/]+)`, session.getCommand],
	["GET", `${SESSION}/command/([^/]+)/logs`, session.getLogs],
].map(([method, expression, handle]) => ({ method, path: new RegExp(`^${expression}$`), handle }));

async function serve(context, req, res) {
	const [, pathname, search] = /^([^?]*)(.*)$/s.exec(req.url);
	const route = ROUTES.find(({ method, path }) => method === req.method && path.test(pathname));
	if (!route)
		return sendText(res, 404, "404 page not found");
	return route.handle(context, req, res, parseQuery(search), route.path.exec(pathname).slice(1));
}

async function answer(context, req, res) {
	record("request", `${req.method} ${req.url}\n${req.rawHeaders.join("\0")}`);
	try {
		await serve(context, req, res);
	} catch (error) {
		const refused = error instanceof Refused ? error : new Refused(400, error.message);
		if (res.headersSent)
			res.destroy();
		else
			refused.send(req, res);
	}
	req.resume();
}

// The pipes' folder is the user's; what the server reads stays out of reach.
function prepare(user, env) {
	process.umask(0o022);
	Object.assign(process.env, { HOME: user.home, USER: user.name, ...env });
	recordTo(`${IO}/received`);
	fs.mkdirSync(PIPES, { recursive: true });
	if (isRoot)
		fs.chownSync(PIPES, user.uid, user.gid);
}

// For good: all that is begun from here on is that user's.
function become({ uid, gid }) {
	if (!isRoot || uid === 0)
		return;
	process.setgroups([gid]);
	process.setgid(gid);
	process.setuid(uid);
}

async function main() {
	const input = readline.createInterface({ input: process.stdin });
	const [line] = await once(input, "line");
	const { account, shell, env } = JSON.parse(line);
	const user = findUser(account);
	prepare(user, env);
	const context = { home: user.home, workDir: user.home, shell: shell || findShell() };
	await listen(makeServer((req, res) => answer(context, req, res)), { path: `${IO}/socket` });
	become(user);
	preparePipes(PIPES);
	process.chdir(context.workDir);
	process.stdin.once("end", () => process.exit(0));
	process.stdout.write("ready\n");
}

await main();
