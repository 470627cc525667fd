// The port through which tests look at a server and trouble it. Answers are JSON; 400 with a message where it is misused.
//
// GET /counters · POST /reset · POST /faults · DELETE /faults (also releases what stalls; { taken: how many requests had a
// fault }) · POST /release ·
// POST /skew/SECONDS (its clock is so far ahead from then on) · POST /deliver (what keep_copy kept) · GET /received?contains=TEXT · GET /secrets/ID (what is secret of that sandbox beside
// the key), and what the server adds in `routes`: { "POST /pause": (argument, query) => answer }.
import { setSkew } from "./clock.mjs";
import { listenOnLoopback, makeServer, readBody, sendJson } from "./http.mjs";

async function addFaults(faults, req) {
	const given = JSON.parse((await readBody(req)).toString("utf8"));
	[given].flat().forEach((fault) => faults.add(fault));
	return {};
}

function ownRoutes({ counters, faults }) {
	return {
		"GET /counters": () => counters.report(),
		"POST /reset": () => (counters.reset(), {}),
		"POST /faults": (argument, query, req) => addFaults(faults, req),
		"DELETE /faults": () => {
			const { taken } = faults;
			faults.clear();
			return { taken };
		},
		"POST /deliver": () => faults.deliver(),
		"POST /release": () => (faults.release(), {}),
		"POST /skew": (seconds) => setSkew(Number(seconds)),
		"GET /secrets": () => [],
	};
}

export async function startAdmin({ counters, faults, routes, port }) {
	const all = { ...ownRoutes({ counters, faults }), ...routes };
	const server = makeServer(async (req, res) => {
		const { pathname, searchParams } = new URL(req.url, "http://admin");
		const [, name, argument] = pathname.split("/");
		const route = all[`${req.method} /${name}`];
		try {
			if (!route)
				throw new Error(`no such route; there are ${Object.keys(all).join(", ")}`);
			sendJson(res, 200, await route(argument, searchParams, req) ?? {});
		} catch (error) {
			sendJson(res, 400, { message: error.message });
		}
	});
	return listenOnLoopback(server, port);
}
