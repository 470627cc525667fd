// A test server that speaks the wire of the Agent Infra Sandbox over real directories and real processes of this machine.
//
//	node main.mjs --root DIR [--port 0] [--admin-port 0] [--key KEY | --open] [--user gem] [--without-bash]
//		[--max-sessions 50] [--close]
//
// One container is one sandbox with a port of its own, and nothing in its API makes another: the first is there from the
// start, POST /create on the admin port (lib/admin.mjs) starts one more and answers { id }, /kill/ID takes one away. An id
// is HOST_PORT; the files of that sandbox are in DIR/ID/home, DIR/ID/root and DIR/ID/tmp. --open: no key is wanted.
// --without-bash: an image from before /v1/bash. --close: it keeps no connection. --user: whose commands and files are.
//
// When it serves it prints one line of JSON: admin_url, key, id of the first sandbox, and env: the variables with which a
// client finds it. It ends on SIGTERM and takes all sandboxes with it. 77: no namespaces here.
import { startAdmin } from "../lib/admin.mjs";
import { Counters } from "../lib/counters.mjs";
import { Faults } from "../lib/faults.mjs";
import { parseOptions } from "../lib/options.mjs";
import { PROGRAMS, endWith, makePlace, received, requireNamespaces } from "../lib/server.mjs";
import { HOST, startSandbox } from "./sandbox.mjs";

const DEFAULTS = {
	root: "",
	port: 0,
	"admin-port": 0,
	key: "aio_0123456789abcdef0123456789abcdef",
	open: false,
	user: "gem",
	"without-bash": false,
	"max-sessions": 50,
	close: false,
	programs: PROGRAMS,
};

class Fleet {
	constructor(place, watched) {
		Object.assign(this, { place, watched });
		this.sandboxes = new Map();
		this.everyOne = [];
	}

	async create(port) {
		const sandbox = await startSandbox(this.place, this.watched, port);
		this.sandboxes.set(sandbox.id, sandbox);
		this.everyOne.push(sandbox);
		return sandbox;
	}

	async kill(id) {
		const sandbox = this.sandboxes.get(id);
		if (!sandbox)
			throw new Error(`there is no sandbox "${id}"`);
		this.sandboxes.delete(id);
		await sandbox.kill();
	}

	killAll() {
		return Promise.all([...this.sandboxes.keys()].map((id) => this.kill(id)));
	}
}

const adminRoutes = (fleet) => ({
	"POST /create": async () => ({ id: (await fleet.create()).id }),
	"GET /received": (argument, query) => received(fleet.everyOne, query.get("contains")),
	"POST /kill": (id) => fleet.kill(id),
});

async function main() {
	const options = parseOptions(DEFAULTS, ["root"]);
	requireNamespaces("aio");
	const key = options.open ? "" : options.key;
	const place = {
		...makePlace("aio", options),
		key,
		user: options.user,
		hasBash: !options["without-bash"],
		maxSessions: options["max-sessions"],
		closes: options.close,
	};
	const watched = { counters: new Counters(), faults: new Faults() };
	const fleet = new Fleet(place, watched);
	endWith(() => fleet.killAll(), place);
	const first = await fleet.create(options.port);
	const admin_url = await startAdmin({ ...watched, routes: adminRoutes(fleet), port: options["admin-port"] });
	const env = { SANDBOX_HOST: HOST, SANDBOX_PORT: String(first.port), ...(key ? { SANDBOX_API_KEY: key } : {}) };
	console.log(JSON.stringify({ admin_url, key, id: first.id, env }));
}

await main();
