// POST /files/bulk-download: many files in one answer, one after the other, each with its own refusal.
import fs from "node:fs";

import { fromText, raw, toText } from "../../lib/bytes.mjs";
import { readBody } from "../../lib/http.mjs";
import { reason } from "../../lib/oserror.mjs";
import { refusal } from "../refusal.mjs";
import { percentEncoded, quotedName } from "./disposition.mjs";
import { sendGoJson } from "./json.mjs";

const BOUNDARY = "DAYTONA-FILE-BOUNDARY";
const CHUNK = 32 << 10;
const TYPES = {
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".json": "application/json",
	".js": "text/javascript; charset=utf-8", ".pdf": "application/pdf", ".png": "image/png", ".txt": "text/plain; charset=utf-8",
};

// ---- One part --------------------------------------------------------------------------------------

class PathRefused extends Error {
	constructor(status, code, message) {
		super(message);
		Object.assign(this, { status, code });
	}
}

function openRefused(file, error) {
	if (error.code === "ENOENT")
		return new PathRefused(404, "FILE_NOT_FOUND", `file not found: ${toText(file)}`);
	if (["EACCES", "EPERM"].includes(error.code))
		return new PathRefused(403, "FILE_ACCESS_DENIED", `permission denied: ${toText(file)}`);
	return new PathRefused(500, "FILE_READ_FAILED", `failed to open file: open ${toText(file)}: ${reason(error)}`);
}

function open(file) {
	if (!file)
		throw new PathRefused(400, "INVALID_FILE_PATH", "invalid file path: path is empty");
	let fd;
	try {
		fd = fs.openSync(raw(file), "r");
	} catch (error) {
		throw openRefused(file, error);
	}
	const stat = fs.fstatSync(fd);
	if (!stat.isDirectory())
		return { fd, size: stat.size };
	fs.closeSync(fd);
	throw new PathRefused(400, "INVALID_FILE_PATH", `invalid file path: path points to a directory: ${toText(file)}`);
}

function head(name, file, others) {
	const disposition = `form-data; name="${name}"; filename="${quotedName(file)}"; filename*=utf-8''${percentEncoded(file)}`;
	return Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: ${disposition}\r\n${others}\r\n\r\n`, "latin1");
}

async function write(res, bytes) {
	if (!res.write(bytes))
		await new Promise((resolve) => res.once("drain", resolve).once("close", resolve));
}

// To its end, which may be another one than its size when it was opened.
async function writeContents(res, fd) {
	const chunk = Buffer.alloc(CHUNK);
	for (let got; (got = fs.readSync(fd, chunk, 0, CHUNK, null)) > 0 && !res.destroyed;)
		await write(res, Buffer.from(chunk.subarray(0, got)));
}

async function writeFile(res, file) {
	const { fd, size } = open(file);
	const type = TYPES[/\.[^./]*$/.exec(file)?.[0]] ?? "application/octet-stream";
	try {
		await write(res, head("file", file, `Content-Length: ${size}\r\nContent-Type: ${type}`));
		await writeContents(res, fd);
	} finally {
		fs.closeSync(fd);
	}
}

async function writePart(req, res, file) {
	try {
		await writeFile(res, file);
	} catch (error) {
		if (!(error instanceof PathRefused))
			throw error;
		const told = { ...refusal(req, error.status, error.message, error.code), path: toText(file) };
		await write(res, head("error", file, "Content-Type: application/json; charset=utf-8"));
		await write(res, JSON.stringify(told));
	}
}

// ---- The answer ------------------------------------------------------------------------------------

function pathsOf(body) {
	try {
		const { paths } = JSON.parse(body.toString("utf8"));
		return Array.isArray(paths) && paths.every((one) => typeof one === "string") ? paths.map(fromText) : [];
	} catch {
		return [];
	}
}

export async function bulkDownload(context, req, res) {
	const paths = pathsOf(await readBody(req));
	if (!paths.length)
		return sendGoJson(res, 400, { error: 'request body must be {"paths": [ ... ]} and non-empty' });
	res.writeHead(200, { "Content-Type": `multipart/form-data; boundary=${BOUNDARY}` });
	for (const [i, file] of paths.entries()) {
		if (i > 0)
			await write(res, "\r\n");
		try {
			await writePart(req, res, file);
		} catch {
			return res.end(); // without the closing boundary: who looks for it sees that this is not all
		}
	}
	return res.end(`\r\n--${BOUNDARY}--\r\n`);
}
