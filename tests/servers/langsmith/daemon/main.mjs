// The daemon inside a sandbox. Runs in the sandbox's own namespaces.
//
// On standard input: one line of JSON { defaultUser, isOld, outputMax, environment, config }: whose commands are when
// nobody is asked for, whether it is one from before ranges and searches, how much of a stream is kept, and what every
// command gets: variables, and the sandbox's run_config. It serves on the socket /run/daemon/io/socket, says "ready" on standard output then, and ends
// with its standard input.
import { once } from "node:events";
import readline from "node:readline";

import { parseQuery } from "../../lib/bytes.mjs";
import { listen, makeServer, sendEmpty, sendText } from "../../lib/http.mjs";
import { preparePipes } from "../../lib/pipes.mjs";
import { record, recordTo } from "../../lib/record.mjs";
import { upgradeComplaint } from "../../lib/websocket.mjs";
import { Failure, flat, typed } from "../failure.mjs";
import { download, linked, oldDownload } from "./download.mjs";
import { execute } from "./execute.mjs";
import { glob, grep } from "./search.mjs";
import { openSession, sendAway } from "./sessions.mjs";
import { upload } from "./upload.mjs";

const IO = "/run/daemon/io";

const reload = (sandbox, req, res) => (sendAway(), sendEmpty(res, 204));
const endpoints = {
	"/execute": { POST: execute },
	"/upload": { POST: upload },
	"/download": { GET: download, HEAD: download },
	"/glob": { POST: glob },
	"/grep": { POST: grep },
	"/_link": { GET: linked, HEAD: linked },
	"/_reload": { POST: reload },
};
const oldEndpoints = { ...endpoints, "/download": { GET: oldDownload }, "/glob": undefined, "/grep": undefined };

function serve(sandbox, req, res) {
	const [, pathname, search] = /^([^?]*)(.*)$/s.exec(req.url);
	const endpoint = (sandbox.isOld ? oldEndpoints : endpoints)[pathname];
	if (!endpoint)
		throw flat(404, "NotFound", "404 page not found");
	if (!endpoint[req.method])
		throw flat(405, "MethodNotAllowed", "method not allowed");
	return endpoint[req.method](sandbox, req, res, parseQuery(search));
}

function fail(res, error) {
	if (res.headersSent)
		return res.destroy(error);
	return (error instanceof Failure ? error : typed(500, "InternalError", error.message)).send(res);
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

function upgrade(sandbox, req, socket, head) {
	record("request", `${req.method} ${req.url}\n${req.rawHeaders.join("\0")}`);
	const complaint = req.url === "/execute/ws" ? upgradeComplaint(req) : "404 page not found";
	if (!complaint)
		return openSession(sandbox, req, socket, head);
	return socket.end(`HTTP/1.1 ${req.url === "/execute/ws" ? "400 Bad Request" : "404 Not Found"}\r\n` +
		`Connection: close\r\nContent-Length: ${complaint.length}\r\n\r\n${complaint}`);
}

async function main() {
	const [line] = await once(readline.createInterface({ input: process.stdin }), "line");
	const sandbox = JSON.parse(line);
	process.umask(0o022);
	recordTo(`${IO}/received`);
	preparePipes("/run/daemon/pipes");
	const server = makeServer((req, res) => answer(sandbox, req, res));
	server.on("upgrade", (req, socket, head) => upgrade(sandbox, req, socket, head));
	await listen(server, { path: `${IO}/socket` });
	process.stdin.once("end", () => process.exit(0));
	process.stdout.write("ready\n");
}

await main();
