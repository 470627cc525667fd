// A test server that speaks the wire of LangSmith's sandboxes over real directories and real processes of this machine.
//
//	node main.mjs --root DIR [--port 0] [--sandbox-port 0] [--admin-port 0] [--key KEY] [--user NAME]
//		[--max-sandboxes 20] [--provision-ms 0] [--proxy-timeout-s 310] [--second-ms 1000]
//		[--output-max BYTES] [--old] [--no-router] [--workspace ID] [--older-prefix]
//		[--programs DIR]
//
// When it serves it prints one line of JSON: api_url (the control plane), sandbox_url (the data plane, whose addresses
// only a sandbox's dataplane_url tells), admin_url, key, and env: the variables with which a client finds it. --user:
// whose a sandbox's commands are when nobody is asked for, the vendor's default being root. --provision-ms: how long a
// sandbox takes to be ready; --second-ms: how long a second of its lifetimes is. --output-max: of a command's stream over
// HTTP. --old: daemons from before HEAD, ranges, entity tags and searches. --no-router: sandboxes have no dataplane_url.
// --workspace: the key is of several, and every request must name this one.
// --older-prefix: the API is below /v2/sandboxes as well, where clients by hand looked for it until 2026.
//
// Admin (lib/admin.mjs): POST /create, which answers { id }, /stop/ID (/pause/ID is the same), /kill/ID, /reload/ID: those
// who listen to commands are sent away with 1001; /cut/ID: its connections break; /doom?why=TEXT: the next sandbox fails;
// /fail/ID?why=TEXT: this one has; /dispose/ID: it is not persistent;
// /router/PORT: the data plane is said to be there.
// Files of the sandbox ID are in DIR/ID/root, home and tmp. It ends on SIGTERM and takes all sandboxes with it. 77: no
// namespaces here.
import http from "node:http";

import { startAdmin } from "../lib/admin.mjs";
import { Counters } from "../lib/counters.mjs";
import { Faults } from "../lib/faults.mjs";
import { front } from "../lib/front.mjs";
import { listenOnLoopback, makeServer } from "../lib/http.mjs";
import { parseOptions } from "../lib/options.mjs";
import { PROGRAMS, endWith, makePlace, received, requireNamespaces, serveFront } from "../lib/server.mjs";
import { controlHandler, controlKind } from "./control.mjs";
import { Fleet } from "./fleet.mjs";
import { Links } from "./links.mjs";
import { asRequest, routerHandler, routerKind, upgradeHandler } from "./router.mjs";

const DEFAULTS = {
	root: "",
	port: 0,
	"sandbox-port": 0,
	"admin-port": 0,
	key: "lsv2_pt_0123456789abcdef0123456789abcdef_0123456789",
	// Whoever is not root cannot have sandboxes whose user is.
	user: process.geteuid() === 0 ? "root" : "user",
	"max-sandboxes": 20,
	"provision-ms": 0,
	"proxy-timeout-s": 310,
	"second-ms": 1000,
	"output-max": 64 << 20,
	old: false,
	"no-router": false,
	workspace: "",
	"older-prefix": false,
	programs: PROGRAMS,
};

async function serveRouter(watched, context, port) {
	const server = makeServer(front({ ...watched, kindOf: routerKind, handler: routerHandler(context) }));
	server.on("upgrade", asRequest(front({ ...watched, kindOf: routerKind, handler: upgradeHandler(context) })));
	watched.counters.watch(server);
	return listenOnLoopback(server, port);
}

async function create(fleet) {
	const sandbox = await fleet.create({ idle_ttl_seconds: 0, delete_after_stop_seconds: 0 });
	await sandbox.booted;
	return { id: sandbox.id };
}

function reload({ jail: { socket: socketPath } }) {
	return new Promise((resolve, reject) => {
		const req = http.request({ socketPath, method: "POST", path: "/_reload" }, (res) => (res.resume(), resolve({})));
		req.once("error", reject).end();
	});
}

const adminRoutes = (context) => ({
	...sandboxRoutes(context),
	"POST /router": (port) => {
		context.routerUrl = `http://127.0.0.1:${port}`;
	},
});

const sandboxRoutes = ({ fleet }) => ({
	"POST /create": () => create(fleet),
	"GET /received": (argument, query) => received(fleet.everyOne, query.get("contains")),
	"POST /stop": (id) => fleet.find(id).stop(),
	"POST /pause": (id) => fleet.find(id).stop(),
	"POST /kill": (id) => fleet.find(id).kill(),
	"POST /fail": async (id, query) => {
		await fleet.find(id).stop();
		fleet.find(id).fail(query.get("why"));
	},
	"POST /dispose": (id) => {
		fleet.find(id).persistent = false;
	},
	"POST /reload": (id) => reload(fleet.find(id)),
	"POST /cut": (id) => fleet.find(id).cutConnections(),
	"POST /doom": (argument, query) => {
		fleet.nextDoom = query.get("why");
	},
});

async function main() {
	const options = parseOptions(DEFAULTS, ["root"]);
	requireNamespaces("langsmith");
	const place = {
		...makePlace("langsmith", options), defaultUser: options.user, isOld: options.old,
		outputMax: options["output-max"], secondMs: options["second-ms"],
	};
	const context = {
		fleet: new Fleet(place, { sandboxes: options["max-sandboxes"], provisionMs: options["provision-ms"] }),
		links: new Links(),
		key: options.key,
		hasRouter: !options["no-router"],
		workspace: options.workspace,
		hasOlderPrefix: options["older-prefix"],
		proxyTimeoutS: options["proxy-timeout-s"],
	};
	const watched = { counters: new Counters(), faults: new Faults() };
	context.routerUrl = await serveRouter(watched, context, options["sandbox-port"]);
	const urls = {
		api_url: await serveFront(watched, controlKind, controlHandler(context), options.port),
		sandbox_url: context.routerUrl,
		admin_url: await startAdmin({ ...watched, routes: adminRoutes(context), port: options["admin-port"] }),
	};
	endWith(() => context.fleet.killAll(), place);
	const env = { LANGSMITH_ENDPOINT: urls.api_url, LANGSMITH_API_KEY: options.key };
	console.log(JSON.stringify({ ...urls, key: options.key, env }));
}

await main();
