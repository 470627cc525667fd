// A test server that speaks Runloop's wire over real directories and real processes of this machine.
//
//	node main.mjs --root DIR [--port 0] [--admin-port 0] [--key ak_...] [--user user] [--programs DIR]
//		[--hold-ms 30000] [--body-idle-ms 30000] [--stream-idle-ms 30000] [--max-output 1048576]
//
// One port serves HTTP/1.1 and HTTP/2. When it serves it prints one line of JSON: api_url, admin_url (lib/admin.mjs;
// besides POST /create, which answers { id }, /pause/ID, /evict/ID?in_ms= and /kill/ID), key, and env: the variables with which a client finds
// it. --user: whose devboxes are that ask for nobody. Files of the devbox ID are in DIR/ID/home/user, those of root in
// DIR/ID/root. It ends on SIGTERM and takes all devboxes with it. 77: no namespaces here.
//
// --hold-ms: how long a wait for a status lasts at most; --body-idle-ms, --stream-idle-ms: without a byte of an upload, of
// a stream, that ends with 408; --max-output: bytes of one stream in one answer, which is truncated beyond.
import { startAdmin } from "../lib/admin.mjs";
import { Counters } from "../lib/counters.mjs";
import { Faults } from "../lib/faults.mjs";
import { front } from "../lib/front.mjs";
import { makeBothServer } from "../lib/h2c.mjs";
import { listenOnLoopback } from "../lib/http.mjs";
import { parseOptions } from "../lib/options.mjs";
import { PROGRAMS, endWith, makePlace, received, requireNamespaces } from "../lib/server.mjs";
import { apiHandler, kindOf } from "./api.mjs";
import { Fleet } from "./fleet.mjs";
import { until } from "./until.mjs";

const LIFETIME_S = 172_800;
const BOOT_MS = 60_000;
const DEFAULTS = {
	root: "",
	port: 0,
	"admin-port": 0,
	key: "ak_0123456789abcdef0123456789",
	user: "user",
	programs: PROGRAMS,
	"hold-ms": 30_000,
	"body-idle-ms": 30_000,
	"stream-idle-ms": 30_000,
	"max-output": 1 << 20,
};

function named(fleet, id) {
	const devbox = fleet.find(id);
	if (!devbox)
		throw new Error(`there is no devbox "${id}"`);
	return devbox;
}

async function create(fleet) {
	const devbox = fleet.create({ launch_parameters: { keep_alive_time_seconds: LIFETIME_S } });
	await until(devbox.changes, () => devbox.status !== "provisioning", BOOT_MS);
	if (devbox.status !== "running")
		throw new Error(`the devbox is ${devbox.status}: ${devbox.failure}`);
	return { id: devbox.id };
}

const adminRoutes = (fleet) => ({
	"POST /create": () => create(fleet),
	"GET /received": (argument, query) => received(fleet.all(), query.get("contains")),
	"POST /pause": (id) => named(fleet, id).suspend(),
	"POST /evict": (id, query) => fleet.evict(named(fleet, id), Number(query.get("in_ms"))),
	"POST /kill": (id) => named(fleet, id).shutdown("api_shutdown"),
});

const limitsOf = (options) => ({
	bodyIdleMs: options["body-idle-ms"],
	streamIdleMs: options["stream-idle-ms"],
	holdMs: options["hold-ms"],
	maxOutput: options["max-output"],
});

async function main() {
	const options = parseOptions(DEFAULTS, ["root"]);
	requireNamespaces("runloop");
	const place = { ...makePlace("runloop", options), user: options.user, limits: limitsOf(options) };
	const fleet = new Fleet(place);
	const watched = { counters: new Counters(), faults: new Faults() };
	const handler = apiHandler({
		fleet, key: options.key, holdMs: options["hold-ms"], streamIdleMs: options["stream-idle-ms"],
	});
	const server = makeBothServer(front({ ...watched, kindOf, handler }));
	watched.counters.watch(server);
	const api = await listenOnLoopback(server, options.port);
	const admin = await startAdmin({ ...watched, routes: adminRoutes(fleet), port: options["admin-port"] });
	endWith(() => fleet.endAll(), place);
	const env = { RUNLOOP_BASE_URL: api, RUNLOOP_API_KEY: options.key };
	console.log(JSON.stringify({ api_url: api, admin_url: admin, key: options.key, env }));
}

await main();
