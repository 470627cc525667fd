// Uploads: many files in parts, each a path and then its contents, and the older way with one file.
import fs from "node:fs";
import path from "node:path";

import { raw, toText } from "../../lib/bytes.mjs";
import { sendEmpty } from "../../lib/http.mjs";
import { boundaryOf, parts } from "../../lib/multipart.mjs";
import { reason } from "../../lib/oserror.mjs";
import { KEPT_OF_A_BODY, record } from "../../lib/record.mjs";
import { required, silently } from "./files.mjs";
import { sendGoJson } from "./json.mjs";

const SPACES = /^[\t\n\v\f\r \x85\xa0]+|[\t\n\v\f\r \x85\xa0]+$/g;

async function textOf(body) {
	let text = "";
	for await (const piece of body)
		text += piece.toString("latin1");
	return text;
}

async function copy(fd, body) {
	let bytes = 0;
	for await (const piece of body) {
		if (bytes < KEPT_OF_A_BODY)
			record("file", piece);
		for (let at = 0; at < piece.length;)
			at += fs.writeSync(fd, piece, at);
		bytes += piece.length;
	}
	return bytes;
}

const failed = (destination, step, error) => new Error(`${toText(destination)}: ${step}: ${reason(error)}`);

function openNew(destination) {
	const folder = path.posix.dirname(destination);
	try {
		fs.mkdirSync(raw(folder), { recursive: true, mode: 0o755 });
	} catch (error) {
		const asDaemonSays = error.code === "EEXIST" ? { code: "ENOTDIR" } : error;
		throw failed(destination, `mkdir ${toText(folder)}: mkdir ${toText(folder)}`, asDaemonSays);
	}
	try {
		return fs.openSync(raw(destination), "w", 0o666);
	} catch (error) {
		throw failed(destination, `create: open ${toText(destination)}`, error);
	}
}

async function store(destination, body) {
	const fd = openNew(destination);
	try {
		return { path: toText(destination), bytes: await copy(fd, body) };
	} catch (error) {
		throw failed(destination, "write", error);
	} finally {
		fs.closeSync(fd);
	}
}

const indexOf = (name) => /\[([^\]]*)\]/.exec(name)?.[1] ?? "";

async function takePart({ name = "", body }, destinations, files) {
	const index = indexOf(name);
	if (name.endsWith(".path")) {
		const destination = (await textOf(body)).replace(SPACES, "");
		if (!destination)
			throw new Error(`path[${index}]: empty path`);
		destinations.set(index, destination);
	} else if (name.endsWith(".file")) {
		if (!destinations.has(index))
			throw new Error(`file[${index}]: missing .path metadata`);
		files.push(await store(destinations.get(index), body));
	}
}

const bodyOf = (req) => req.iterator({ destroyOnReturn: false });

export async function bulkUpload(context, req, res) {
	const boundary = boundaryOf(req.headers["content-type"] ?? "");
	if (!boundary)
		return sendGoJson(res, 400, { errors: ["invalid multipart form"] });
	const destinations = new Map();
	const files = [];
	const errors = [];
	try {
		for await (const part of parts(bodyOf(req), boundary))
			await takePart(part, destinations, files).catch((error) => errors.push(error.message));
	} catch (error) {
		errors.push(`reading part: ${error.message}`);
	}
	if (errors.length)
		return sendGoJson(res, 400, { errors, files: files.length ? files : null });
	return sendGoJson(res, 200, { files });
}

export async function upload(context, req, res, query) {
	const destination = required(query, "path");
	const boundary = boundaryOf(req.headers["content-type"] ?? "");
	if (!boundary)
		throw silently(400, "request Content-Type isn't multipart/form-data");
	for await (const part of parts(bodyOf(req), boundary)) {
		if (part.name === "file" && part.filename !== undefined) {
			fs.mkdirSync(raw(path.posix.dirname(destination)), { recursive: true, mode: 0o750 });
			await store(destination, part.body);
			return sendEmpty(res, 200, { "Content-Length": 0 });
		}
	}
	throw silently(400, "http: no such file");
}
