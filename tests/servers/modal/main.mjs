// A test server that speaks Modal's wire over real directories and real processes of this machine.
//
//	node main.mjs --root DIR [--port 0] [--admin-port 0] [--key as-...] [--token-id ak-...] [--access-seconds 600]
//		[--page-size 3] [--user NAME] [--programs DIR]
//
// Control plane and worker share one port, over TLS and in plaintext: the vendor's SDK dials loopback workers without TLS
// although their URL says https. When it serves it prints one line of JSON: api_url (https), plain_url (http, for the
// SDK), admin_url (lib/admin.mjs and, with POST, /create, which answers { id }, /kill/ID, /expire/ID: no token for its
// worker is good any more, /router/PORT: workers are said to be there, /nowhere: at a name that nobody knows, with
// their address beside it, /by-app: lists are those of an app that is named, /stop-app/NAME, and /short/SECONDS: the
// control plane's tokens live so long), key, and env: the variables with which a client finds it. --user: whose a sandbox's commands
// are, root or user. Files of the sandbox ID are in DIR/ID/home, root and tmp. It ends on SIGTERM and takes all sandboxes
// with it. 77: no namespaces here.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { startAdmin } from "../lib/admin.mjs";
import { Counters } from "../lib/counters.mjs";
import { Faults } from "../lib/faults.mjs";
import { front } from "../lib/front.mjs";
import { grpcHandler } from "../lib/grpc.mjs";
import { makeCertificate, makeDoubleServer } from "../lib/http2.mjs";
import { listen } from "../lib/http.mjs";
import { jailComplaint } from "../lib/jail.mjs";
import { parseOptions } from "../lib/options.mjs";
import { filesContaining } from "../lib/search.mjs";
import { checkCall } from "./access.mjs";
import { Catalog } from "./catalog.mjs";
import { controlHandlers } from "./control.mjs";
import { controlMethods, Result } from "./control_messages.mjs";
import { edgeHandler } from "./edge.mjs";
import { Fleet } from "./fleet.mjs";

const CANNOT_RUN_HERE = 77;
const LIFETIME_S = 3600;
const AUTH_TOKEN_S = 1200;
const MAX_MESSAGE = 100 << 20;
const ROUTER = "modal.task_command_router.TaskCommandRouter/";
const OPEN_NETWORK = 1;
const DEFAULTS = {
	root: "",
	port: 0,
	"admin-port": 0,
	key: "as-0123456789abcdefABCDEF",
	"token-id": "ak-0123456789abcdefABCDEF",
	"access-seconds": 600,
	"page-size": 3,
	// Whoever is not root cannot have sandboxes whose user is.
	user: process.geteuid() === 0 ? "root" : "user",
	programs: fileURLToPath(new URL("../../../build/servers", import.meta.url)),
};

function checkNamespaces() {
	const complaint = jailComplaint();
	if (!complaint)
		return;
	console.error(`modal test server: no namespaces on this machine: ${complaint}`);
	process.exit(CANNOT_RUN_HERE);
}

// Kinds are methods' names; both services come to the same port.
const kindOf = (req) => req.url.replace(/^.*\//, "");

function handlerOf(context) {
	const control = grpcHandler({
		methods: controlMethods,
		handlers: controlHandlers(context),
		check: (call) => checkCall(context, call),
		maxSize: MAX_MESSAGE,
	});
	const edge = edgeHandler(context);
	return (req, res) => (req.url.startsWith(`/${ROUTER}`) ? edge : control)(req, res);
}

// In what any sandbox was sent, those that are gone too, and in the files they have.
function received(fleet, text) {
	if (!text)
		throw new Error("contains=TEXT is missing");
	const places = fleet.everyOne.flatMap((sandbox) => [sandbox.received, sandbox.directory]);
	const found = places.flatMap((place) => filesContaining(place, text));
	return { found: found.length > 0, places: found };
}

function named(fleet, id) {
	const sandbox = fleet.find(id);
	if (!sandbox)
		throw new Error(`there is no sandbox "${id}"`);
	return sandbox;
}

async function create({ fleet, catalog }) {
	const { appId } = catalog.app({ appName: "tests", objectCreationType: 1 });
	const sandbox = fleet.make({
		isV2: true, appId, tags: [], env: {}, definition: { timeoutSecs: LIFETIME_S, networkAccess: { type: OPEN_NETWORK } },
	});
	await sandbox.start();
	return { id: sandbox.id };
}

const adminRoutes = (context) => ({
	"POST /create": () => create(context),
	"GET /received": (argument, query) => received(context.fleet, query.get("contains")),
	"GET /secrets": (id) => [...named(context.fleet, id).tokens, ...context.authTokens],
	"GET /network": (id) => {
		const { type, allowedCidrs = [], allowedDomains = [] } = named(context.fleet, id).definition.networkAccess;
		return { blocked: type !== OPEN_NETWORK, allowed: [...allowedDomains, ...allowedCidrs].join(" ") };
	},
	"POST /kill": (id) => named(context.fleet, id).finish({ status: Result.TERMINATED }),
	"POST /expire": (id) => {
		named(context.fleet, id).generation++;
	},
	"POST /router": (port) => {
		context.routerUrl = `https://127.0.0.1:${port}`;
	},
	"POST /short": (seconds) => {
		context.authSeconds = Number(seconds);
	},
	"POST /by-app": () => {
		context.listsByApp = true;
	},
	"POST /stop-app": (name) => {
		context.catalog.stopped.add(name);
	},
	"POST /nowhere": () => {
		context.routerUrl = context.routerUrl.replace("127.0.0.1", "nowhere.invalid");
		context.routerAddress = "127.0.0.1";
	},
});

async function main() {
	const options = parseOptions(DEFAULTS, ["root"]);
	checkNamespaces();
	const io = fs.mkdtempSync(path.join(os.tmpdir(), "modal-"));
	const root = path.resolve(options.root);
	fs.mkdirSync(root, { recursive: true });
	const context = {
		fleet: new Fleet({ root, io, programs: options.programs, user: options.user }),
		catalog: new Catalog(),
		created: new Map(),
		authTokens: [],
		authSeconds: AUTH_TOKEN_S,
		tokenId: options["token-id"],
		tokenSecret: options.key,
		accessSeconds: options["access-seconds"],
		pageSize: options["page-size"],
	};
	const watched = { counters: new Counters(), faults: new Faults() };
	const certificate = makeCertificate(io);
	const server = makeDoubleServer(front({ ...watched, kindOf, handler: handlerOf(context) }), certificate);
	watched.counters.watch(server);
	const { port } = await listen(server, { host: "127.0.0.1", port: options.port });
	context.routerUrl = `https://127.0.0.1:${port}`;
	const adminUrl = await startAdmin({ ...watched, routes: adminRoutes(context), port: options["admin-port"] });
	const end = async () => {
		await context.fleet.killAll();
		fs.rmSync(io, { recursive: true, force: true });
		process.exit(0);
	};
	process.once("SIGTERM", end);
	process.once("SIGINT", end);
	const env = {
		MODAL_SERVER_URL: context.routerUrl, MODAL_TOKEN_ID: options["token-id"], MODAL_TOKEN_SECRET: options.key,
		SSL_CERT_FILE: certificate.file, CURL_CA_BUNDLE: certificate.file,
	};
	console.log(JSON.stringify({
		api_url: context.routerUrl, plain_url: `http://127.0.0.1:${port}`, admin_url: adminUrl, key: options.key, env,
	}));
}

await main();
