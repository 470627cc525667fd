// POST /v1/file/upload: a form, read whole before its file is written.
import fs from "node:fs";
import path from "node:path";

import { sendJson } from "../../lib/http.mjs";
import { fromText, toText } from "../../lib/bytes.mjs";
import { boundaryOf, parts } from "../../lib/multipart.mjs";
import { KEPT_OF_A_BODY, record } from "../../lib/record.mjs";
import { fileFailed, HttpError, succeeded } from "./answer.mjs";

async function bytesOf(body) {
	const chunks = [];
	for await (const chunk of body)
		chunks.push(chunk);
	return Buffer.concat(chunks);
}

async function readForm(req) {
	const type = req.headers["content-type"] ?? "";
	const boundary = /^multipart\/form-data\b/i.test(type) ? boundaryOf(type) : undefined;
	const form = {};
	if (!boundary)
		return form;
	try {
		for await (const part of parts(req.iterator({ destroyOnReturn: false }), boundary))
			form[part.name] = { filename: part.filename, bytes: await bytesOf(part.body) };
	} catch {
		throw new HttpError(400, "There was an error parsing the body");
	}
	return form;
}

const missing = (name) => new HttpError(422, [{ type: "missing", loc: ["body", name], msg: "Field required", input: null }]);

function targetOf(sandbox, { file, path: where }) {
	if (file?.filename === undefined)
		throw missing("file");
	if (!where)
		return path.posix.join(sandbox.user.home, path.posix.basename(toText(file.filename)));
	return where.bytes.toString("utf8");
}

export async function upload(sandbox, req, res) {
	const form = await readForm(req);
	const target = targetOf(sandbox, form);
	const { bytes } = form.file;
	record("file", bytes.subarray(0, KEPT_OF_A_BODY));
	try {
		if (!target.startsWith("/"))
			throw new HttpError(400, `path must be absolute: ${target}`);
		fs.writeFileSync(Buffer.from(fromText(target), "latin1"), bytes);
	} catch (error) {
		if (error instanceof HttpError)
			throw error;
		return sendJson(res, 200, fileFailed("upload", target, error));
	}
	return sendJson(res, 200, succeeded({ file_path: target, file_size: bytes.length, success: true }, "File uploaded successfully"));
}
