// A test server that speaks Daytona's wire over real directories and real processes of this machine.
//
//	node main.mjs --root DIR [--port 0] [--proxy-port 0] [--admin-port 0] [--key dtn_...] [--user daytona]
//		[--shell /bin/bash] [--legacy] [--forgetful] [--minute-ms 60000]
//
// When it serves it prints one line of JSON: api_url (the control plane, for DAYTONA_API_URL), proxy_url (the data plane),
// admin_url (lib/admin.mjs; besides POST /create, which answers { id }, /start/ID, /stop/ID, /archive/ID, /kill/ID,
// /evict/ID (a spot sandbox's end), /fail/ID?why=TEXT&recoverable=1 (the state error), /ttl/ID?minutes=N and GET /activity/ID, which answers { ms }: when that sandbox was last used, and POST /router/PORT: the proxy is said to be
// there), key, and env: the variables with which a client finds it. Files of the sandbox ID are in DIR/ID/home/daytona, those of root in DIR/ID/root. --shell: what reads commands,
// else one as the vendor's daemon chooses it. --legacy: a server from before there was a proxy: all is below api_url.
// --forgetful: the proxy's memory of deleted sandboxes is over at once. --minute-ms: how long a minute of an interval is.
// It ends on SIGTERM and takes all sandboxes with it. 77: no namespaces here.
import { startAdmin } from "../lib/admin.mjs";
import { Counters } from "../lib/counters.mjs";
import { Faults } from "../lib/faults.mjs";
import { parseOptions } from "../lib/options.mjs";
import { PROGRAMS, endWith, makePlace, received, requireNamespaces, serveFront } from "../lib/server.mjs";
import { controlHandler, controlKind } from "./control.mjs";
import { places } from "./control_input.mjs";
import { Fleet } from "./fleet.mjs";
import { proxyHandler, proxyKind } from "./proxy.mjs";

const DEFAULTS = {
	root: "",
	port: 0,
	"proxy-port": 0,
	"admin-port": 0,
	key: "dtn_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	user: "",
	shell: "",
	legacy: false,
	forgetful: false,
	"minute-ms": 60_000,
	programs: PROGRAMS,
};

async function create(fleet) {
	const sandbox = fleet.add({ autoStopInterval: 0 });
	await sandbox.create();
	if (sandbox.errorReason)
		throw new Error(sandbox.errorReason);
	return { id: sandbox.id };
}

const adminRoutes = ({ fleet, context }) => ({
	"POST /create": () => create(fleet),
	"POST /router": (port) => {
		context.proxyUrl = `http://127.0.0.1:${port}/toolbox`;
	},
	"GET /received": (argument, query) => received(fleet.everyOne, query.get("contains")),
	"GET /network": (id) => {
		const { networkBlockAll, networkAllowList, domainAllowList } = fleet.find(id);
		const allowed = [...places(domainAllowList), ...places(networkAllowList)];
		return { blocked: networkBlockAll === true || allowed.length > 0, allowed: allowed.join(" ") };
	},
	"GET /activity": (id) => ({ ms: fleet.find(id).lastActivityAt }),
	"POST /start": (id) => fleet.find(id).start(),
	"POST /stop": (id) => fleet.find(id).stop(),
	"POST /archive": (id) => fleet.find(id).archive(),
	"POST /kill": (id) => fleet.find(id).destroy(),
	"POST /evict": (id) => fleet.find(id).evict(),
	"POST /fail": (id, query) => fleet.find(id).fail(query.get("why"), query.has("recoverable")),
	"POST /ttl": (id, query) => fleet.find(id).setTtl(Number(query.get("minutes"))),
});

async function main() {
	const options = parseOptions(DEFAULTS, ["root"]);
	requireNamespaces("daytona");
	const { user: account, shell, "minute-ms": minuteMs } = options;
	const place = { ...makePlace("daytona", options), account, shell, minuteMs };
	const fleet = new Fleet(place);
	const context = { fleet, key: options.key, remembersDeleted: !options.forgetful };
	const watched = { counters: new Counters(), faults: new Faults() };
	const proxyUrl = await serveFront(watched, proxyKind, proxyHandler(context), options["proxy-port"]);
	context.proxyUrl = options.legacy ? undefined : `${proxyUrl}/toolbox`;
	const apiUrl = await serveFront(watched, controlKind, controlHandler(context), options.port);
	const adminUrl = await startAdmin({ ...watched, routes: adminRoutes({ fleet, context }), port: options["admin-port"] });
	endWith(() => fleet.haltAll(), place);
	const urls = { api_url: `${apiUrl}/api`, proxy_url: proxyUrl, admin_url: adminUrl };
	const env = { DAYTONA_API_URL: urls.api_url, DAYTONA_API_KEY: options.key };
	console.log(JSON.stringify({ ...urls, key: options.key, env }));
}

await main();
