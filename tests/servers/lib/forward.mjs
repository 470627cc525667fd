// Hands a request on to a sandbox's daemon and its answer back, as the vendors' proxies do.
import http from "node:http";

import { endToEndHeaders } from "./http.mjs";

// Headers leave with the first bytes of the body, or by themselves when there are none soon.
function passAnswer(answer, res) {
	res.writeHead(answer.statusCode, endToEndHeaders(answer.rawHeaders));
	answer.pipe(res);
	setImmediate(() => res.headersFlushed || res.flushHeaders());
	answer.once("error", () => res.socket?.destroy());
}

// An answer that has begun can only break off.
function fail(req, res, upstream, refuse) {
	if (res.writableEnded)
		return;
	if (res.headersSent) {
		res.socket?.destroy();
		return;
	}
	req.unpipe(upstream);
	req.resume();
	refuse();
}

// sandbox: { jail, agent, track(cut): returns what to call when it is over }. `change`: path or headers that the daemon
// sees instead of the request's. refuse(): answers when the daemon does not. Returns how to give the daemon's answer up.
export function forward(sandbox, req, res, change, refuse) {
	const upstream = http.request({
		socketPath: sandbox.jail.socket,
		agent: sandbox.agent,
		method: req.method,
		path: req.url,
		headers: endToEndHeaders(req.rawHeaders),
		...change,
	});
	const cut = () => {
		fail(req, res, upstream, refuse);
		upstream.destroy();
	};
	const isOver = sandbox.track(cut);
	upstream.once("response", (answer) => passAnswer(answer, res));
	upstream.once("error", () => fail(req, res, upstream, refuse));
	res.once("close", () => {
		isOver();
		if (!res.writableFinished)
			upstream.destroy();
	});
	req.pipe(upstream);
	return cut;
}
