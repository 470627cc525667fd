// Who may do what: the access token, signatures of /files, and the user that a request acts as.
import { createHash, timingSafeEqual } from "node:crypto";

import { raw } from "../../lib/bytes.mjs";
import { HttpError } from "./http_error.mjs";
import { RpcError } from "./rpc_error.mjs";
import { findUser } from "../../lib/users.mjs";

const WITHOUT_TOKEN = new Set(["GET /health", "GET /files", "POST /files", "POST /init"]);

function isSame(one, other) {
	const [a, b] = [one, other].map((text) => createHash("sha256").update(text).digest());
	return timingSafeEqual(a, b);
}

export function checkToken(token, req, pathname) {
	if (!token || WITHOUT_TOKEN.has(`${req.method} ${pathname}`) || isSame(req.headers["x-access-token"] ?? "", token))
		return;
	throw new HttpError(401,
		"unauthorized access, please provide a valid access token or method signing if supported");
}

// Of path as it was sent, "read" or "write", the user's name or "", and the expiry if there is one.
function signature(token, path, operation, username, expiration) {
	const signed = [raw(path).toString("latin1"), operation, username, token, ...(expiration ? [expiration] : [])].join(":");
	return `v1_${createHash("sha256").update(raw(signed)).digest("base64").replace(/=+$/, "")}`;
}

// For /files: the token in the header, or a signature in the query.
export function checkFileAccess(token, req, query, operation) {
	if (!token)
		return;
	const header = req.headers["x-access-token"];
	if (header && !isSame(header, token))
		throw new HttpError(401, "access token present in header but does not match");
	if (header)
		return;
	if (!query.has("signature"))
		throw new HttpError(401, "missing signature query parameter");
	const expiration = query.get("signature_expiration");
	const expected = signature(token, query.get("path") ?? "", operation, query.get("username") ?? "", expiration);
	if (!isSame(query.get("signature"), expected))
		throw new HttpError(401, "invalid signature");
	if (expiration && Number(expiration) < Math.floor(Date.now() / 1000))
		throw new HttpError(401, "signature is already expired");
}

// Before there was a default user the query had to name one.
export function fileUser(name, defaultUser) {
	if (name === undefined && defaultUser === undefined)
		throw new HttpError(400, "Query argument username is required, but not found", { isPlain: true });
	const user = findUser(name ?? defaultUser);
	if (!user)
		throw new HttpError(401, `error looking up user '${name}': user: unknown user ${name}`);
	return user;
}

// From Authorization: Basic, whose password means nothing; without it the default user. undefined: there is none.
export function rpcUser(authorization, defaultUser) {
	const [, encoded] = /^Basic (.+)$/i.exec(authorization ?? "") ?? [];
	const name = encoded ? Buffer.from(encoded, "base64").toString().replace(/:.*$/s, "") : defaultUser;
	if (name === undefined)
		return undefined;
	const user = findUser(name);
	if (!user)
		throw new RpcError("unauthenticated", `invalid username: '${name}'`);
	return user;
}
