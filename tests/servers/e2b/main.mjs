// A test server that speaks E2B's wire over real directories and real processes of this machine.
//
//	node main.mjs --root DIR [--port 0] [--sandbox-port 0] [--admin-port 0] [--key e2b_...] [--v1-only]
//		[--max-seconds 3600] [--max-sandboxes 20] [--max-connections 0] [--user user] [--envd 0.6.13]
//		[--templates base,...] [--programs DIR]
//
// When it serves it prints one line of JSON: api_url (the control plane, for E2B_API_URL), sandbox_url (the data plane,
// for E2B_SANDBOX_URL), admin_url (lib/admin.mjs; besides POST /create, which answers { id }, /pause/ID, /kill/ID),
// key, and env: the variables with which a client finds it. --user: whose a sandbox's commands are when
// nobody is asked for. --envd: the daemon's version, and what it lacks therefore (envd/versions.mjs).
// Files of the sandbox ID are in DIR/ID/home/user, those of root in DIR/ID/root. It ends on SIGTERM
// and takes all sandboxes with it. 77: no namespaces here.
import { startAdmin } from "../lib/admin.mjs";
import { Counters } from "../lib/counters.mjs";
import { Faults } from "../lib/faults.mjs";
import { parseOptions } from "../lib/options.mjs";
import { PROGRAMS, endWith, makePlace, received, requireNamespaces, serveFront } from "../lib/server.mjs";
import { controlHandler, controlKind } from "./control.mjs";
import { NEWEST, featuresOf } from "./envd/versions.mjs";
import { edgeHandler, edgeKind } from "./edge.mjs";
import { Fleet } from "./fleet.mjs";
import { Templates } from "./templates.mjs";

const DEFAULTS = {
	root: "",
	port: 0,
	"sandbox-port": 0,
	"admin-port": 0,
	key: "e2b_0123456789abcdef0123456789abcdef01234567",
	"v1-only": false,
	"max-seconds": 3600,
	"max-sandboxes": 20,
	"max-connections": 0,
	user: "user",
	envd: NEWEST,
	templates: "base,code-interpreter-v1,fancy",
	programs: PROGRAMS,
};

function named(fleet, id) {
	const sandbox = fleet.find(id);
	if (!sandbox)
		throw new Error(`there is no sandbox "${id}"`);
	return sandbox;
}

// It lives as long as any may.
async function create({ fleet, maxLengthS, hasSecure }) {
	const { id } = await fleet.create({
		templateID: "base", metadata: {}, envVars: {}, autoPause: false, autoPauseMemory: true, autoResume: false,
		secure: hasSecure,
	}, maxLengthS);
	return { id };
}

const adminRoutes = (context) => ({
	"POST /create": () => create(context),
	"GET /received": (argument, query) => received(context.fleet.everyOne, query.get("contains")),
	"GET /secrets": (id) => [named(context.fleet, id)].flatMap(({ token, trafficToken = [] }) => [token, trafficToken].flat()),
	"GET /network": (id) => {
		const { isCutOff, allowed } = named(context.fleet, id);
		return { blocked: isCutOff, allowed: allowed.join(" ") };
	},
	"POST /pause": (id) => named(context.fleet, id).pause(),
	"POST /kill": (id) => named(context.fleet, id).kill(),
});

async function main() {
	const options = parseOptions(DEFAULTS, ["root"]);
	requireNamespaces("e2b");
	const place = { ...makePlace("e2b", options), user: options.user, version: options.envd };
	const context = {
		fleet: new Fleet(place),
		key: options.key,
		isV1Only: options["v1-only"],
		templates: new Templates(options.templates.split(",")),
		hasSecure: featuresOf(options.envd).secure,
		maxLengthS: options["max-seconds"],
		maxSandboxes: options["max-sandboxes"],
		maxConnections: options["max-connections"] || Infinity,
	};
	const watched = { counters: new Counters(), faults: new Faults() };
	const urls = {
		api_url: await serveFront(watched, controlKind, controlHandler(context), options.port),
		sandbox_url: await serveFront(watched, edgeKind, edgeHandler(context), options["sandbox-port"]),
		admin_url: await startAdmin({ ...watched, routes: adminRoutes(context), port: options["admin-port"] }),
	};
	endWith(() => context.fleet.killAll(), place);
	const env = { E2B_API_URL: urls.api_url, E2B_SANDBOX_URL: urls.sandbox_url, E2B_API_KEY: options.key };
	console.log(JSON.stringify({ ...urls, key: options.key, env }));
}

await main();
