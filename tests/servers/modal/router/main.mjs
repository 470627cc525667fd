// The daemon inside a sandbox, in the place of the vendor's command router. Runs in the sandbox's own namespaces.
//
// On standard input: one line of JSON { taskId, user: a name, globals, workdir, entrypoint }. It serves gRPC in plaintext on
// the socket /run/daemon/io/socket, and GET /activity there; says "ready" on standard output then, and ends with its
// standard input.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import readline from "node:readline";

import { grpcHandler } from "../../lib/grpc.mjs";
import { makePlainServer } from "../../lib/http2.mjs";
import { listen } from "../../lib/http.mjs";
import { preparePipes } from "../../lib/pipes.mjs";
import { recordTo } from "../../lib/record.mjs";
import { findUser, isRoot } from "../../lib/users.mjs";
import { Execs } from "./execs.mjs";
import { routerMethods } from "./messages.mjs";

const IO = "/run/daemon/io";
const SPOOL = `${IO}/spool`;
const MAX_MESSAGE = 100 << 20;
const FS_TOOLS = ["/run/daemon/node", "/run/daemon/source/modal/router/fs_tools.mjs"];

// Only root can be somebody else.
function become(user) {
	if (!isRoot || user.uid === 0)
		return;
	process.initgroups(user.name, user.gid);
	process.setgid(user.gid);
	process.setuid(user.uid);
}

function makePlaces(user) {
	for (const place of [SPOOL, "/run/daemon/pipes"]) {
		fs.mkdirSync(place, { mode: 0o700 });
		if (isRoot)
			fs.chownSync(place, user.uid, user.gid);
	}
}

function handlerOf(execs) {
	const serve = grpcHandler({ methods: routerMethods, handlers: execs.handlers(), maxSize: MAX_MESSAGE });
	return (req, res) => (req.url === "/activity" ? res.end(JSON.stringify(execs.activity())) : serve(req, res));
}

// A sandbox made for one command ends with it.
function runEntrypoint({ entrypoint = [], globals }, user) {
	if (entrypoint.length)
		spawn(entrypoint[0], entrypoint.slice(1), { cwd: user.home, env: { PATH: process.env.PATH, ...globals }, stdio: "ignore" })
			.on("error", () => {});
}

async function main() {
	const input = readline.createInterface({ input: process.stdin });
	const [line] = await once(input, "line");
	const config = JSON.parse(line);
	const user = findUser(config.user);
	process.umask(0o022);
	recordTo(`${IO}/received`);
	makePlaces(user);
	const execs = new Execs({ ...config, user, spool: SPOOL, fsTools: FS_TOOLS });
	await listen(makePlainServer(handlerOf(execs)), { path: `${IO}/socket` });
	become(user);
	preparePipes("/run/daemon/pipes");
	runEntrypoint(config, user);
	process.stdin.once("end", () => process.exit(0));
	process.stdout.write("ready\n");
}

await main();
