// One sandbox: its daemon in a jail, and the port before it.
import { front } from "../lib/front.mjs";
import { Guest } from "../lib/guest.mjs";
import { listen, makeServer } from "../lib/http.mjs";
import { edgeHandler, edgeKind } from "./edge.mjs";

export const HOST = "127.0.0.1";
// The image's own ordinary user, who is there whoever commands belong to.
const ORDINARY_USER = "gem";

export class Sandbox extends Guest {
	// place: as lib/guest.mjs wants it, and { key, user, hasBash, maxSessions }.
	async start() {
		const { user, hasBash, maxSessions } = this.place;
		await this.startDaemon({ hostname: "aio", main: "aio/daemon/main.mjs", config: { user, hasBash, maxSessions } });
	}

	async kill() {
		this.server.close();
		this.server.closeAllConnections();
		this.cutConnections();
		await this.jail.kill();
	}
}

// The port first, because it is in the id. Until the daemon is there nobody knows of it. watched: { counters, faults }
export async function startSandbox(place, watched, port = 0) {
	let sandbox;
	const handler = (req, res) => edgeHandler(sandbox)(req, res);
	const server = makeServer(front({ ...watched, kindOf: edgeKind, handler }));
	server.maxRequestsPerSocket = place.closes ? 1 : 0;
	watched.counters.watch(server);
	const address = await listen(server, { host: HOST, port });
	sandbox = Object.assign(new Sandbox(`${HOST}_${address.port}`, place, ORDINARY_USER), { server, port: address.port });
	await sandbox.start();
	return sandbox;
}
