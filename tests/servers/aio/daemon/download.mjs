// GET /v1/file/download: a file as it is, without a length, and HTTP's own errors.
import fs from "node:fs";
import { pipeline } from "node:stream/promises";

import { HttpError } from "./answer.mjs";

const CHUNK = 1 << 20;
const POLICIES = ["ignore", "abort"];

function invalid(name, type, msg, input) {
	return new HttpError(422, [{ type, loc: ["query", name], msg, input }]);
}

function parameters(url) {
	const query = new URL(url, "http://sandbox").searchParams;
	const policy = query.get("change_policy") ?? "ignore";
	if (!query.has("path"))
		throw invalid("path", "missing", "Field required", null);
	if (!POLICIES.includes(policy))
		throw invalid("change_policy", "enum", "Input should be 'ignore' or 'abort'", policy);
	return { path: query.get("path"), policy };
}

function open(path) {
	try {
		return fs.openSync(path, "r");
	} catch (error) {
		if (error.code === "ENOENT" || error.code === "ENOTDIR")
			throw new HttpError(404, `File not found: ${path}`);
		throw new HttpError(error.code === "EACCES" ? 403 : 400, `Failed to open file: ${path}`);
	}
}

function stateOf(fd) {
	const { size, mtimeNs } = fs.fstatSync(fd, { bigint: true });
	return `${size} ${mtimeNs}`;
}

// The stream closes the file, also when nobody reads on: a read may be under way then.
async function* contents(fd, path, mustStay) {
	const before = stateOf(fd);
	for await (const chunk of fs.createReadStream(path, { fd, highWaterMark: CHUNK })) {
		if (mustStay && stateOf(fd) !== before)
			throw new Error(`${path} has changed`);
		yield chunk;
	}
}

function openFile(path) {
	const fd = open(path);
	if (fs.fstatSync(fd).isFile())
		return fd;
	fs.closeSync(fd);
	throw new HttpError(400, `Not a file: ${path}`);
}

export async function download(req, res) {
	const { path, policy } = parameters(req.url);
	const fd = openFile(path);
	res.writeHead(200, { "Content-Type": "application/octet-stream", "Content-Disposition": "attachment" });
	await pipeline(contents(fd, path, policy === "abort"), res);
}
