// GET /files/download: one file, or a range of it.
import fs from "node:fs";
import { pipeline } from "node:stream";

import { raw } from "../../lib/bytes.mjs";
import { sendText } from "../../lib/http.mjs";
import { isNotModified, isRangeStillGood, singleRange } from "../../lib/range.mjs";
import { percentEncoded, quotedName } from "./disposition.mjs";
import { required, silently } from "./files.mjs";
import { look } from "./refused.mjs";

function headersOf(file, stat) {
	const name = file.replace(/^.*\//s, "");
	return {
		"Content-Type": "application/octet-stream",
		"Content-Disposition": `attachment; filename="${quotedName(name)}"; filename*=utf-8''${percentEncoded(name)}`,
		"Cache-Control": "must-revalidate",
		"Accept-Ranges": "bytes",
		"Last-Modified": stat.mtime.toUTCString(),
	};
}

function send(res, fd, { from, length }, status, headers) {
	res.writeHead(status, { ...headers, "Content-Length": length });
	if (length === 0) {
		fs.closeSync(fd);
		return res.end();
	}
	return pipeline(fs.createReadStream(null, { fd, start: from, end: from + length - 1 }), res, () => {});
}

export function download(context, req, res, query) {
	const file = required(query, "path");
	const stat = look(() => fs.statSync(raw(file)));
	if (stat.isDirectory())
		throw silently(400, "path must be a file");
	const headers = headersOf(file, stat);
	if (isNotModified(req.headers, stat.mtime))
		return res.writeHead(304, headers).end();
	const range = isRangeStillGood(req.headers, stat.mtime) ? singleRange(req.headers.range, stat.size) : undefined;
	if (range === null)
		return sendText(res, 416, "invalid range: failed to overlap\n", { "Content-Range": `bytes */${stat.size}` });
	const fd = look(() => fs.openSync(raw(file), "r"));
	if (!range)
		return send(res, fd, { from: 0, length: stat.size }, 200, headers);
	const last = range.from + range.length - 1;
	return send(res, fd, range, 206, { ...headers, "Content-Range": `bytes ${range.from}-${last}/${stat.size}` });
}
