// POST /upload: one whole file, written in place as it arrives. Directories on the way are not made.
import fs from "node:fs";

import { sendJson } from "../../lib/http.mjs";
import { boundaryOf, parts } from "../../lib/multipart.mjs";
import { KEPT_OF_A_BODY, record } from "../../lib/record.mjs";
import { Failure, invalid, typed } from "../failure.mjs";
import { fileFailure, queryPath } from "./paths.mjs";

function openForWriting(file) {
	try {
		return fs.openSync(file, "w", 0o644);
	} catch (error) {
		throw fileFailure("WriteError", "open", file, error);
	}
}

function writeAll(fd, file, chunk) {
	try {
		for (let at = 0; at < chunk.length;)
			at += fs.writeSync(fd, chunk, at);
	} catch (error) {
		throw fileFailure("WriteError", "write", file, error);
	}
}

async function store(file, body) {
	const fd = openForWriting(file);
	let written = 0;
	try {
		for await (const chunk of body) {
			if (written < KEPT_OF_A_BODY)
				record("file", chunk);
			written += chunk.length;
			writeAll(fd, file, chunk);
		}
	} finally {
		fs.closeSync(fd);
	}
	return { path: file.toString(), written };
}

async function storeForm(file, chunks, boundary) {
	for await (const part of parts(chunks, boundary)) {
		if (part.name === "file" && part.filename !== undefined)
			return store(file, part.body);
	}
	throw invalid(["body", "file"], "Field required", "missing");
}

export async function upload(sandbox, req, res, query) {
	const file = queryPath(query);
	const type = req.headers["content-type"] ?? "";
	const boundary = /^multipart\/form-data\b/i.test(type) ? boundaryOf(type) : undefined;
	if (!boundary)
		throw invalid(["body", "file"], "Field required", "missing");
	try {
		sendJson(res, 200, await storeForm(file, req.iterator({ destroyOnReturn: false }), boundary));
	} catch (error) {
		throw error instanceof Failure ? error : typed(400, "WriteError", error.message);
	}
}
