// /v1/file: text and listings. Failures of files are answers like others: 200, and `success` false.
import { isUtf8 } from "node:buffer";
import fs from "node:fs";
import path from "node:path";

import { sendJson } from "../../lib/http.mjs";
import { fileFailed, HttpError, notText, succeeded } from "./answer.mjs";
import { jsonBody } from "./body.mjs";

const READ = { file: "string!", start_line: "integer?", end_line: "integer?", sudo: "boolean?" };
const WRITE = {
	file: "string!", content: "string!", encoding: "string?", append: "boolean?", leading_newline: "boolean?",
	trailing_newline: "boolean?", sudo: "boolean?",
};
const LIST = {
	path: "string!", recursive: "boolean?", show_hidden: "boolean?", max_depth: "integer?", include_size: "boolean?",
	include_permissions: "boolean?", sort_by: "string?", sort_desc: "boolean?",
};
const ENCODINGS = { "utf-8": "utf8", base64: "base64", raw: "latin1" };

function checkNoSudo({ sudo }) {
	if (sudo)
		throw new HttpError(400, "sudo is not available in this sandbox");
}

function lines(text, from, to) {
	const all = text.split(/(?<=\n)/);
	return from === undefined && to === undefined ? text : all.slice(from ?? 0, to ?? undefined).join("");
}

function readText({ file, start_line, end_line }) {
	const bytes = fs.readFileSync(file);
	if (!isUtf8(bytes))
		return notText("read", file);
	return succeeded({ content: lines(bytes.toString("utf8"), start_line ?? undefined, end_line ?? undefined), file },
		"File read successfully");
}

function writeText({ file, content, encoding, append, leading_newline, trailing_newline }) {
	const name = encoding ?? "utf-8";
	if (!(name in ENCODINGS))
		throw new HttpError(422, [{ type: "enum", loc: ["body", "encoding"], msg: "Input should be 'utf-8', 'base64' or 'raw'", input: name }]);
	const text = name === "utf-8" ? `${leading_newline ? "\n" : ""}${content}${trailing_newline ? "\n" : ""}` : content;
	const bytes = Buffer.from(text, ENCODINGS[name]);
	(append ? fs.appendFileSync : fs.writeFileSync)(file, bytes);
	return succeeded({ file, bytes_written: bytes.length }, "File written successfully");
}

function describe(where, { include_size = true, include_permissions }) {
	const stat = fs.lstatSync(where);
	return {
		name: path.basename(where),
		path: where,
		is_directory: stat.isDirectory(),
		size: include_size && !stat.isDirectory() ? stat.size : null,
		modified_time: stat.mtime.toISOString(),
		permissions: include_permissions ? (stat.mode & 0o777).toString(8) : null,
		extension: path.extname(where) || null,
	};
}

function* entries(directory, request, depth) {
	for (const name of fs.readdirSync(directory).sort()) {
		if (name.startsWith(".") && request.show_hidden === false)
			continue;
		const entry = describe(path.join(directory, name), request);
		yield entry;
		if (entry.is_directory && request.recursive && depth < (request.max_depth ?? Infinity))
			yield* entries(entry.path, request, depth + 1);
	}
}

function list(request) {
	const files = [...entries(request.path, request, 1)];
	const directory_count = files.filter(({ is_directory }) => is_directory).length;
	return succeeded({
		path: request.path, files, total_count: files.length, directory_count, file_count: files.length - directory_count,
	});
}

// Does it, and tells a failure of the file as the service does.
const endpoint = (form, operation, act) => async (req, res) => {
	const request = await jsonBody(req, form);
	checkNoSudo(request);
	let answer;
	try {
		answer = act(request);
	} catch (error) {
		if (!error.syscall)
			throw error;
		answer = fileFailed(operation, request.file ?? request.path, error);
	}
	sendJson(res, 200, answer);
};

export const fileRoutes = () => ({
	"/v1/file/read": { POST: endpoint(READ, "read", readText) },
	"/v1/file/write": { POST: endpoint(WRITE, "write", writeText) },
	"/v1/file/list": { POST: endpoint(LIST, "list", list) },
});
