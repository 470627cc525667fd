// POST /files: whole files, written in place as they arrive.
import fs from "node:fs";
import { pipeline } from "node:stream";
import zlib from "node:zlib";

import { checkFileAccess, fileUser } from "./access.mjs";
import { fromText, raw, toText } from "../../lib/bytes.mjs";
import { HttpError } from "./http_error.mjs";
import { metadataComplaint, metadataFromHeaders, readMetadata, writeMetadata } from "./metadata.mjs";
import { boundaryOf, parts } from "../../lib/multipart.mjs";
import { describe, reason } from "../../lib/oserror.mjs";
import { BadPath, base, ensureDirectories, giveTo, parent, resolve, statOrNothing } from "./paths.mjs";
import { KEPT_OF_A_BODY, record } from "../../lib/record.mjs";

// ---- One file --------------------------------------------------------------------------------------

function ensureParents(file, user) {
	try {
		ensureDirectories(parent(file), user);
	} catch (error) {
		throw new HttpError(500, `error ensuring directories: ${error.message}`);
	}
}

function existing(file) {
	try {
		return statOrNothing(file);
	} catch (error) {
		throw new HttpError(500, `error getting file info: ${describe("stat", toText(file), error)}`);
	}
}

function openForWriting(file, user) {
	ensureParents(file, user);
	const there = existing(file);
	if (there?.isDirectory())
		throw new HttpError(400, `path is a directory: ${toText(file)}`);
	try {
		if (there)
			giveTo(user, file);
		const fd = fs.openSync(raw(file), "w", 0o666);
		if (!there)
			giveTo(user, file);
		return fd;
	} catch (error) {
		throw error.code === "ENOSPC" ? new HttpError(507, `not enough inodes available: ${reason(error)}`) :
			new HttpError(500, `error opening file: ${describe("open", toText(file), error)}`);
	}
}

// At once: the page cache takes a chunk faster than another thread would.
function writeAll(fd, chunk) {
	for (let at = 0; at < chunk.length;)
		at += fs.writeSync(fd, chunk, at);
}

async function copyBody(fd, body, contentLength) {
	let seen = 0;
	for await (const chunk of body) {
		if (seen < KEPT_OF_A_BODY)
			record("file", chunk);
		seen += chunk.length;
		try {
			writeAll(fd, chunk);
		} catch (error) {
			if (error.code === "ENOSPC")
				throw new HttpError(507, `attempted to write ${contentLength} bytes: not enough disk space available`);
			throw new HttpError(500, `error writing file: ${reason(error)}`);
		}
	}
}

async function storeFile({ req, user, metadata }, file, body) {
	const fd = openForWriting(file, user);
	let kept;
	try {
		await copyBody(fd, body, req.headers["content-length"] ?? 0);
		// By its descriptor: whoever waited for the file may have taken it away by now.
		const stat = fs.fstatSync(fd, { bigint: true });
		writeMetadata(stat, metadata);
		kept = readMetadata(stat);
	} finally {
		fs.closeSync(fd);
	}
	return { ...(kept ? { metadata: kept } : {}), name: toText(base(file)), path: toText(file), type: "file" };
}

// ---- The two kinds of body -------------------------------------------------------------------------

function resolvePath(given, user) {
	try {
		return resolve(given, user);
	} catch (error) {
		throw error instanceof BadPath ? new HttpError(400, `error resolving path: ${error.message}`) : error;
	}
}

async function storeRaw(upload, body, query) {
	if (!query.has("path"))
		throw new HttpError(400, "path query parameter is required for raw body upload");
	return [await storeFile(upload, resolvePath(query.get("path"), upload.user), body)];
}

function targetOf(part, query, user, stored) {
	if (!query.has("path") && part.filename === undefined) {
		throw new HttpError(400,
			"error getting multipart custom part file name: filename not found in Content-Disposition header");
	}
	const file = resolvePath(query.get("path") ?? part.filename, user);
	if (!stored.some(({ path }) => fromText(path) === file))
		return file;
	const others = stored.map(({ path }) => path).filter((path) => fromText(path) !== file);
	throw new HttpError(400, `you cannot upload multiple files to the same path '${toText(file)}' in one upload request, ` +
		"only the first specified file was uploaded" +
		(others.length > 1 ? `, also the following files were uploaded: ${others.join(", ")}` : ""));
}

async function storeParts(upload, body, query, contentType) {
	const boundary = boundaryOf(contentType);
	if (!boundary)
		throw new HttpError(500, "error parsing multipart form: no multipart boundary param in Content-Type");
	const stored = [];
	for await (const part of parts(body, boundary)) {
		if (part.name === "file")
			stored.push(await storeFile(upload, targetOf(part, query, upload.user, stored), part.body));
	}
	return stored;
}

const encodingOf = (req) => (req.headers["content-encoding"] ?? "identity").split(";")[0].trim().toLowerCase();

// A body that is given up half-way must leave the connection for the answer.
function decoded(req, has) {
	const encoding = has.gzipFiles ? encodingOf(req) : "identity";
	if (encoding === "identity")
		return req.iterator({ destroyOnReturn: false });
	if (encoding !== "gzip") {
		throw new HttpError(400, "error decompressing request body: unsupported Content-Encoding: " +
			`${req.headers["content-encoding"]}, supported: [gzip]`);
	}
	return pipeline(req, zlib.createGunzip(), () => {}).iterator({ destroyOnReturn: false });
}

function checkedMetadata(headers, has) {
	if (!has.metadata)
		return {};
	const metadata = metadataFromHeaders(headers);
	const complaint = metadataComplaint(metadata);
	if (complaint)
		throw new HttpError(400, `invalid metadata: ${complaint}`);
	return metadata;
}

export async function postFiles(sandbox, req, res, query) {
	checkFileAccess(sandbox.token, req, query, "write");
	const user = fileUser(query.get("username"), sandbox.defaultUser);
	const body = decoded(req, sandbox.has);
	const upload = { req, user, metadata: checkedMetadata(req.headers, sandbox.has) };
	const contentType = req.headers["content-type"] ?? "";
	const mediaType = contentType.split(";")[0].trim().toLowerCase();
	let stored;
	if (!sandbox.has.rawUpload && mediaType !== "multipart/form-data")
		throw new HttpError(500, "error parsing multipart form: request Content-Type isn't multipart/form-data");
	if (mediaType === "application/octet-stream")
		stored = await storeRaw(upload, body, query);
	else if (mediaType.startsWith("multipart/"))
		stored = await storeParts(upload, body, query, contentType);
	else
		throw new HttpError(400, `unsupported content type: ${contentType}, expected multipart/form-data or application/octet-stream`);
	const answer = Buffer.from(JSON.stringify(stored));
	res.writeHead(200, { "Content-Type": "text/plain; charset=utf-8", "Content-Length": answer.length });
	res.end(answer);
}
