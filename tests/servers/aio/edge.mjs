// The proxy before a container's services: wants the key, and hands requests on.
import { createHash, timingSafeEqual } from "node:crypto";

import { forward } from "../lib/forward.mjs";
import { sendText } from "../lib/http.mjs";

const TITLES = { 401: "401 Authorization Required", 502: "502 Bad Gateway" };

function refuse(res, status) {
	const title = TITLES[status];
	sendText(res, status, `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n` +
		"<hr><center>nginx/1.18.0</center>\r\n</body>\r\n</html>\r\n", { "Content-Type": "text/html", Server: "nginx/1.18.0" });
}

// The three ways to show it; one that is wrong is not made good by another.
function shownKeys(req) {
	const [, bearer] = /^Bearer (.+)$/.exec(req.headers.authorization ?? "") ?? [];
	const asked = new URL(req.url, "http://sandbox").searchParams.get("api_key") ?? undefined;
	return [req.headers["x-aio-api-key"], bearer, asked].filter((key) => key !== undefined);
}

function isSame(one, other) {
	const [a, b] = [one, other].map((text) => createHash("sha256").update(text).digest());
	return timingSafeEqual(a, b);
}

function isAllowed(key, req) {
	const shown = shownKeys(req);
	return !key || (shown.length > 0 && shown.every((one) => isSame(one, key)));
}

// Without what changes from one request to the next: ids, queries.
export function edgeKind(req) {
	const path = req.url.replace(/\?.*$/s, "").replace(/^(\/v1\/bash\/sessions\/)[^/]+\/close$/, "$1ID/close")
		.replace(/^(\/v1\/shell\/sessions\/)(?!create$)[^/]+$/, "$1ID");
	return `${req.method} ${path}`;
}

// The key goes no further.
function withoutKey(req) {
	const kept = [];
	for (let i = 0; i < req.rawHeaders.length; i += 2) {
		if (!/^(authorization|x-aio-api-key|connection|keep-alive)$/i.test(req.rawHeaders[i]))
			kept.push(req.rawHeaders[i], req.rawHeaders[i + 1]);
	}
	const url = new URL(req.url, "http://sandbox");
	const path = url.searchParams.has("api_key") ? (url.searchParams.delete("api_key"), url.pathname + url.search) : req.url;
	return { headers: kept, path };
}

export const edgeHandler = (sandbox) => (req, res) => {
	if (!isAllowed(sandbox.place.key, req)) {
		refuse(res, 401);
		req.resume();
		return;
	}
	forward(sandbox, req, res, withoutKey(req), () => refuse(res, 502));
};
