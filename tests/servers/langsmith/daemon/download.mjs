// GET and HEAD /download: whole files, ranges, and whether they changed.
import fs from "node:fs";
import { pipeline } from "node:stream";

import { sendText } from "../../lib/http.mjs";
import { singleRange } from "../../lib/range.mjs";
import { flat } from "../failure.mjs";
import { fileFailure, queryPath } from "./paths.mjs";

const CHUNK = 1 << 20;

function open(file) {
	try {
		const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
		const stat = fs.fstatSync(fd, { bigint: true });
		if (!stat.isDirectory())
			return { fd, stat };
		fs.closeSync(fd);
		throw Object.assign(new Error("EISDIR"), { code: "EISDIR" });
	} catch (error) {
		throw fileFailure("ReadError", "read", file, error);
	}
}

// Strong: another for whatever another version differs in.
const tagOf = ({ ino, mtimeNs, ctimeNs, size }) =>
	`"${[ino, mtimeNs, ctimeNs, size].map((one) => one.toString(36)).join("-")}"`;

const lists = (header, tag) => header.split(",").some((one) => ["*", tag].includes(one.trim()));

function send(req, res, fd, { from, length }, status, headers) {
	res.writeHead(status, { ...headers, "Content-Length": length });
	if (req.method === "HEAD" || length === 0) {
		fs.closeSync(fd);
		return res.end();
	}
	const source = fs.createReadStream(null, { fd, start: from, end: from + length - 1, highWaterMark: CHUNK });
	return pipeline(source, res, () => {});
}

function sendEmpty(res, fd, status, headers) {
	fs.closeSync(fd);
	res.writeHead(status, headers);
	res.end();
}

function serve(req, res, file, more) {
	const { fd, stat } = open(file);
	const size = Number(stat.size);
	const tag = tagOf(stat);
	const { range: wanted, "if-none-match": known, "if-range": version } = req.headers;
	const headers = { ETag: tag, "Last-Modified": stat.mtime.toUTCString(), "Accept-Ranges": "bytes" };
	if (known !== undefined && lists(known, tag))
		return sendEmpty(res, fd, 304, headers);
	Object.assign(headers, { "Content-Type": "application/octet-stream" }, more);
	const range = version === undefined || version === tag ? singleRange(wanted, size) : undefined;
	if (range === null || (wanted && size === 0)) {
		fs.closeSync(fd);
		return sendText(res, 416, "invalid range: failed to overlap\n", { "Content-Range": `bytes */${size}` });
	}
	if (!range)
		return send(req, res, fd, { from: 0, length: size }, 200, headers);
	const last = range.from + range.length - 1;
	return send(req, res, fd, range, 206, { ...headers, "Content-Range": `bytes ${range.from}-${last}/${size}` });
}

export function download(sandbox, req, res, query) {
	serve(req, res, queryPath(query), {});
}

// The same of a link, whose bearer cannot choose type and name.
export function linked(sandbox, req, res, query) {
	const type = query.get("type");
	const disposition = query.get("disposition");
	serve(req, res, queryPath(query),
		{ ...(type ? { "Content-Type": type } : {}), ...(disposition ? { "Content-Disposition": disposition } : {}) });
}

// As it was before there were ranges: whole files, without a word on their version.
export function oldDownload(sandbox, req, res, query) {
	if (req.method === "HEAD")
		throw flat(405, "MethodNotAllowed", "method not allowed");
	const { fd, stat } = open(queryPath(query));
	return send(req, res, fd, { from: 0, length: Number(stat.size) }, 200, { "Content-Type": "application/octet-stream" });
}
