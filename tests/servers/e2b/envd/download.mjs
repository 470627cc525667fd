// GET /files
import fs from "node:fs";
import { pipeline } from "node:stream";
import zlib from "node:zlib";

import { sendText } from "../../lib/http.mjs";
import { chooseEncoding, isIdentityRefused } from "./accept_encoding.mjs";
import { checkFileAccess, fileUser } from "./access.mjs";
import { raw, toText } from "../../lib/bytes.mjs";
import { HttpError } from "./http_error.mjs";
import { describe } from "../../lib/oserror.mjs";
import { BadPath, base, resolve } from "./paths.mjs";
import { isNotModified, isRangeStillGood, singleRange } from "../../lib/range.mjs";

const CHUNK = 1 << 20;
const CONDITIONS = ["range", "if-modified-since", "if-none-match", "if-range"];
const TYPES = {
	".css": "text/css; charset=utf-8",
	".gif": "image/gif",
	".htm": "text/html; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".jpg": "image/jpeg",
	".js": "text/javascript; charset=utf-8",
	".json": "application/json",
	".pdf": "application/pdf",
	".png": "image/png",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
	".xml": "text/xml; charset=utf-8",
};

function resolvePath(given, user) {
	try {
		return resolve(given, user);
	} catch (error) {
		throw error instanceof BadPath ?
			new HttpError(400, `error expanding and resolving path '${toText(given)}': ${error.message}`) : error;
	}
}

function statFile(file) {
	let stat;
	try {
		stat = fs.statSync(raw(file));
	} catch (error) {
		throw error.code === "ENOENT" ? new HttpError(404, `path '${toText(file)}' does not exist`) :
			new HttpError(500, `error checking if path exists '${toText(file)}': ${describe("stat", toText(file), error)}`);
	}
	if (stat.isDirectory())
		throw new HttpError(400, `path '${toText(file)}' is a directory`);
	return stat;
}

function encodingFor(headers, has) {
	if (!has.gzipFiles)
		return "identity";
	const encoding = chooseEncoding(headers["accept-encoding"]);
	if (!encoding)
		throw new HttpError(406, "error parsing Accept-Encoding: no acceptable encoding found, supported: [gzip]");
	if (!CONDITIONS.some((name) => headers[name]))
		return encoding;
	if (isIdentityRefused(headers["accept-encoding"]))
		throw new HttpError(406, "identity encoding not acceptable for Range or conditional request");
	return "identity";
}

function open(file) {
	try {
		return fs.openSync(raw(file), "r");
	} catch (error) {
		throw new HttpError(500, `error opening file '${toText(file)}': ${describe("open", toText(file), error)}`);
	}
}

function sniff(fd) {
	const head = Buffer.alloc(512);
	const length = fs.readSync(fd, head, 0, head.length, 0);
	const isBinary = head.subarray(0, length).some((byte) => byte < 9 || (byte > 13 && byte < 27) || (byte > 27 && byte < 32));
	return isBinary ? "application/octet-stream" : "text/plain; charset=utf-8";
}

const extensionType = (file) => TYPES[/\.[^./]*$/.exec(file)?.[0].toLowerCase()];

function disposition(file) {
	const name = toText(base(file));
	if (/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name))
		return `inline; filename=${name}`;
	return /^[\x20-\x7e]*$/.test(name) ? `inline; filename="${name.replace(/["\\]/g, "\\$&")}"` :
		`inline; filename*=utf-8''${encodeURIComponent(name)}`;
}

function sendCompressed(res, fd, file, common) {
	res.writeHead(200, {
		...common,
		"Content-Encoding": "gzip",
		"Content-Type": extensionType(file) ?? "application/octet-stream",
	});
	pipeline(fs.createReadStream(null, { fd }), zlib.createGzip(), res, () => {});
}

function sendRange(res, fd, { from, length }, status, headers) {
	res.writeHead(status, { ...headers, "Content-Length": length });
	if (length === 0) {
		fs.closeSync(fd);
		return res.end();
	}
	const source = fs.createReadStream(null, { fd, start: from, end: from + length - 1, highWaterMark: CHUNK });
	pipeline(source, res, () => {});
}

function sendIdentity(req, res, fd, file, stat, common) {
	const headers = { ...common, "Last-Modified": stat.mtime.toUTCString() };
	if (isNotModified(req.headers, stat.mtime)) {
		fs.closeSync(fd);
		res.writeHead(304, headers);
		return res.end();
	}
	headers["Content-Type"] = extensionType(file) ?? (stat.isFile() ? sniff(fd) : "application/octet-stream");
	headers["Accept-Ranges"] = "bytes";
	const isRangeWanted = isRangeStillGood(req.headers, stat.mtime);
	const range = isRangeWanted ? singleRange(req.headers.range, stat.size) : undefined;
	if (range === null) {
		fs.closeSync(fd);
		return sendText(res, 416, "invalid range: failed to overlap\n", { "Content-Range": `bytes */${stat.size}` });
	}
	if (!range)
		return sendRange(res, fd, { from: 0, length: stat.size }, 200, headers);
	const last = range.from + range.length - 1;
	return sendRange(res, fd, range, 206, { ...headers, "Content-Range": `bytes ${range.from}-${last}/${stat.size}` });
}

const isProcFile = (stat, fd) => stat.isFile() && stat.size === 0 && stat.blocks === 0 &&
	fs.readlinkSync(`/proc/self/fd/${fd}`).startsWith("/proc/");

export function getFile(sandbox, req, res, query) {
	checkFileAccess(sandbox.token, req, query, "read");
	const user = fileUser(query.get("username"), sandbox.defaultUser);
	const file = resolvePath(query.get("path") ?? "", user);
	const stat = statFile(file);
	const encoding = encodingFor(req.headers, sandbox.has);
	const fd = open(file);
	const common = { "Content-Disposition": disposition(file), Vary: "Accept-Encoding" };
	if (encoding === "gzip")
		return sendCompressed(res, fd, file, common);
	if (isProcFile(stat, fd)) {
		fs.closeSync(fd);
		return sendText(res, 500, "seeker can't seek\n");
	}
	return sendIdentity(req, res, fd, file, stat, common);
}
