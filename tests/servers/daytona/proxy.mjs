// The proxy before every sandbox's daemon: /toolbox/ID/..., with the same key as the control plane.
import { forward } from "../lib/forward.mjs";
import { endToEndHeaders, sendEmpty } from "../lib/http.mjs";
import { sendRefusal } from "./refusal.mjs";

const TOOLBOX = /^\/toolbox\/([^/?]+)(\/.*)$/s;
const NOT_FOR_THE_DAEMON = new Set(["authorization", "x-daytona-preview-token"]);
const NO_ADDRESS = "failed to resolve container IP after 3 attempts: no IP address found. Is the Sandbox started?";

function withoutSecrets(rawHeaders) {
	const kept = endToEndHeaders(rawHeaders);
	return kept.filter((_, i) => !NOT_FOR_THE_DAEMON.has(kept[i - (i % 2)].toLowerCase()));
}

function touch(sandbox, req) {
	if (req.headers["x-daytona-skip-last-activity-update"] !== "true")
		sandbox.touch();
}

function passOn(sandbox, req, res, path) {
	touch(sandbox, req);
	const change = { path, headers: withoutSecrets(req.rawHeaders) };
	forward(sandbox, req, res, change, () => sendEmpty(res, 502, { "Content-Length": 0 }));
}

function refuse(req, res, status, message) {
	sendRefusal(req, res, status, message);
	req.resume();
}

// What a key may not see and what does not exist look alike, but for what the proxy still remembers.
function explainAbsence(context, req, res, id) {
	if (context.fleet.wasDeleted(id) && context.remembersDeleted)
		return refuse(req, res, 404, `sandbox container not found: Error response from daemon: No such container: ${id}`);
	return refuse(req, res, 401, "authentication failed: Bearer token is invalid");
}

function serveSandbox(context, req, res, id, path) {
	const sandbox = context.fleet.byId(id);
	if (!sandbox)
		return explainAbsence(context, req, res, id);
	if (sandbox.state === "started")
		return passOn(sandbox, req, res, path);
	touch(sandbox, req);
	return sandbox.state === "archived" ? refuse(req, res, 400, "failed to get runner info: Runner not found") :
		refuse(req, res, 400, NO_ADDRESS);
}

export function proxyKind(req) {
	const [, , path] = TOOLBOX.exec(req.url) ?? [];
	return `${req.method} ${(path ?? req.url).replace(/\?.*$/s, "")}`;
}

// context: { fleet, key, remembersDeleted }
export const proxyHandler = (context) => (req, res) => {
	const [, id, path] = TOOLBOX.exec(req.url) ?? [];
	if (!id)
		return refuse(req, res, 400, "target port is required");
	const [, key] = /^Bearer (.+)$/.exec(req.headers.authorization ?? "") ?? [];
	if (!key) {
		return refuse(req, res, 401,
			"missing authentication: provide a preview access token (via header, query parameter, or cookie) or use an API key or JWT");
	}
	if (key.trim() !== context.key)
		return refuse(req, res, 401, "authentication failed: Bearer token is invalid");
	return serveSandbox(context, req, res, id, path);
};

// The address before there was a proxy: the control plane has checked the key.
export function serveLegacy(context, req, res, id, path) {
	context.fleet.find(id);
	return serveSandbox(context, req, res, id, path.replace(/^\/files(\?|$)/, "/files/$1"));
}
