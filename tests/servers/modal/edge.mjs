// The worker's door: whose token it is says which sandbox's router gets the call.
import { finish, Status } from "../lib/grpc.mjs";
import { whenSent } from "../lib/http.mjs";
import { readToken } from "./jwt.mjs";

const CONTROL_PLANE_ONLY = ["x-modal-token-id", "x-modal-token-secret", "x-modal-auth-token", "x-idempotency-key"];
const HOP_HEADERS = new Set([":method", ":path", ":scheme", ":authority", "host", "connection"]);

async function refuse(req, res, code, message) {
	await whenSent(req);
	finish(res, { code, message });
}

function claimsOf(headers) {
	const [, token] = /^Bearer (\S+)$/.exec(headers.authorization ?? "") ?? [];
	const claims = readToken(token);
	return claims?.use === "router" ? claims : undefined;
}

function pass(sandbox, req, res) {
	// The client may have left while a fault held its call back.
	if (res.stream.destroyed)
		return;
	const headers = Object.fromEntries(Object.entries(req.headers).filter(([name]) => !HOP_HEADERS.has(name)));
	delete headers.authorization;
	const upstream = sandbox.request({ ":method": req.method, ":path": req.url, ...headers, "x-task": sandbox.taskId });
	const fail = () => !res.writableEnded && (res.headersSent ? res.stream?.close() :
		refuse(req, res, Status.UNAVAILABLE, "the worker is gone"));
	upstream.on("response", ({ ":status": status, ...given }) => {
		res.statusCode = status;
		Object.entries(given).forEach(([name, value]) => res.setHeader(name, value));
		// A status here is the whole answer; any other one begins at once.
		if (given["grpc-status"] === undefined)
			res.flushHeaders();
	});
	upstream.on("trailers", (given) => Object.entries(given).forEach(([name, value]) => res.setTrailer(name, value)));
	upstream.on("error", fail);
	upstream.on("close", fail);
	upstream.pipe(res);
	req.pipe(upstream);
	res.once("close", () => upstream.close());
}

// context: { fleet }
export const edgeHandler = (context) => (req, res) => {
	if (CONTROL_PLANE_ONLY.some((name) => req.headers[name] !== undefined))
		return refuse(req, res, Status.INVALID_ARGUMENT, "metadata of the control plane does not belong to a worker");
	const claims = claimsOf(req.headers);
	const sandbox = claims && context.fleet.find(claims.sandbox);
	if (!sandbox || claims.generation !== sandbox.generation)
		return refuse(req, res, Status.UNAUTHENTICATED, "the token is not valid or has expired");
	if (!sandbox.isRunning)
		return refuse(req, res, Status.NOT_FOUND, `Task ${sandbox.taskId} not found`);
	return pass(sandbox, req, res);
};
