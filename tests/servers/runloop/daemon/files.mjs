// The endpoints that carry files. Paths that are relative, or begin with "~/", start at the home directory.
import fs from "node:fs";
import path from "node:path";
import { pipeline } from "node:stream/promises";

import { sendJson } from "../../lib/http.mjs";
import { boundaryOf, parts } from "../../lib/multipart.mjs";
import { KEPT_OF_A_BODY, record } from "../../lib/record.mjs";
import { ApiError } from "../api_error.mjs";
import { checkMembers, filled, readObject, text } from "../input.mjs";

const TEXT_MAX = 100 * 10 ** 6;

const resolve = (daemon, given) => path.posix.resolve(daemon.home, given.replace(/^~(?=\/|$)/, daemon.home));

// ---- Reading ---------------------------------------------------------------------------------------

function openForReading(file) {
	try {
		const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
		return { fd, stat: fs.fstatSync(fd) };
	} catch (error) {
		throw new ApiError(error.code === "ENOENT" ? 404 : 400, `Failed to read ${file}: ${error.message}`);
	}
}

async function sendFile(res, file, headers, max) {
	const { fd, stat } = openForReading(file);
	if (!stat.isFile() || stat.size > max) {
		fs.closeSync(fd);
		throw new ApiError(400, stat.isFile() ? `${file} is too large: ${stat.size} bytes` : `${file} is not a file`);
	}
	res.writeHead(200, { ...headers, "Content-Length": stat.size });
	await pipeline(fs.createReadStream(null, { fd, end: Math.max(stat.size - 1, 0) }), res).catch(() => res.destroy());
}

async function readFileContents(daemon, req, res) {
	const { file_path: file } = checkMembers(await readObject(req), { file_path: filled }, ["file_path"]);
	await sendFile(res, resolve(daemon, file), { "Content-Type": "text/plain; charset=utf-8" }, TEXT_MAX);
}

async function downloadFile(daemon, req, res) {
	const { path: file } = checkMembers(await readObject(req), { path: filled }, ["path"]);
	await sendFile(res, resolve(daemon, file),
		{ "Content-Type": "application/octet-stream", "Content-Disposition": "attachment" }, Infinity);
}

// ---- Writing ---------------------------------------------------------------------------------------

// A text is written by a command of the server's own, whose end is told like any other's.
async function writeFileContents(daemon, req, res) {
	const { file_path: file, contents } = checkMembers(await readObject(req),
		{ file_path: filled, contents: text }, ["file_path", "contents"]);
	const view = { devbox_id: daemon.devbox, shell_name: null, exit_status: 0, stdout: "", stderr: "" };
	try {
		fs.writeFileSync(resolve(daemon, file), contents);
	} catch (error) {
		Object.assign(view, { exit_status: 1, stderr: `${error.message}\n` });
	}
	sendJson(res, 200, view);
}

// A body of which nothing comes for so long is given up.
async function* withIdleLimit(stream, ms) {
	const chunks = stream[Symbol.asyncIterator]();
	for (;;) {
		let timer;
		const late = new Promise((resolve, reject) => {
			timer = setTimeout(() => reject(new ApiError(408, "Idle timeout of the request's body")), ms);
		});
		const { value, done } = await Promise.race([chunks.next(), late]).finally(() => clearTimeout(timer));
		if (done)
			return;
		yield value;
	}
}

async function textOf(body) {
	const chunks = [];
	for await (const chunk of body)
		chunks.push(Buffer.from(chunk));
	return Buffer.concat(chunks).toString("utf8");
}

async function storeFile(file, body) {
	const fd = fs.openSync(file, "w");
	let kept = 0;
	try {
		for await (const chunk of body) {
			fs.writeSync(fd, chunk);
			if (kept < KEPT_OF_A_BODY)
				record("upload", chunk);
			kept += chunk.length;
		}
	} finally {
		fs.closeSync(fd);
	}
}

// As it comes: readers see it grow. Directories are not made.
async function store(daemon, given, body) {
	if (!given)
		throw new ApiError(400, 'The part "path" must come before the part "file"');
	const file = resolve(daemon, given);
	try {
		await storeFile(file, body);
	} catch (error) {
		throw error.syscall ? new ApiError(400, `Failed to write ${file}: ${error.message}`) : error;
	}
}

async function uploadFile(daemon, req, res) {
	const boundary = boundaryOf(req.headers["content-type"] ?? "");
	if (!/^multipart\/form-data\b/i.test(req.headers["content-type"] ?? "") || !boundary)
		throw new ApiError(415, "The body must be multipart/form-data");
	let file;
	let isStored = false;
	for await (const part of parts(withIdleLimit(req, daemon.limits.bodyIdleMs), boundary)) {
		if (part.name === "path")
			file = await textOf(part.body);
		else if (part.name === "file")
			isStored = await store(daemon, file, part.body).then(() => true);
		else
			throw new ApiError(400, `Unknown part "${part.name}"`);
	}
	if (!isStored)
		throw new ApiError(400, 'Missing part "file"');
	sendJson(res, 200, {});
}

export const fileRoutes = {
	"POST read_file_contents": readFileContents,
	"POST write_file_contents": writeFileContents,
	"POST download_file": downloadFile,
	"POST upload_file": uploadFile,
};
