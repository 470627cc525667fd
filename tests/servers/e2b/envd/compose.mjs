// POST /files/compose: one file made of others, in one step, which are gone afterwards.
import { randomUUID } from "node:crypto";
import fs from "node:fs";

import { readBody, sendJson } from "../../lib/http.mjs";
import { fileUser } from "./access.mjs";
import { fromText, raw, toText } from "../../lib/bytes.mjs";
import { HttpError } from "./http_error.mjs";
import { reason } from "../../lib/oserror.mjs";
import { base, BadPath, ensureDirectories, giveTo, parent, resolve } from "./paths.mjs";

const BLOCK = 1 << 20;

async function parse(req) {
	try {
		return JSON.parse((await readBody(req)).toString("utf8"));
	} catch (error) {
		throw new HttpError(400, `invalid request body: ${error.message}`);
	}
}

function resolveFor(what, given, user) {
	try {
		return resolve(fromText(given), user);
	} catch (error) {
		throw error instanceof BadPath ? new HttpError(400, `error resolving ${what}: ${error.message}`) : error;
	}
}

function checkSource(given, file, destination) {
	if (file === destination)
		throw new HttpError(400, `source path "${given}" cannot be the same as destination`);
	const stat = fs.existsSync(raw(file)) && fs.statSync(raw(file));
	if (!stat)
		throw new HttpError(404, `source file not found: ${given}`);
	if (!stat.isFile())
		throw new HttpError(400, `source path is not a regular file: ${given}`);
}

function append(out, file) {
	const block = Buffer.allocUnsafe(BLOCK);
	const from = fs.openSync(raw(file), "r");
	try {
		for (let got; (got = fs.readSync(from, block, 0, BLOCK, null)) > 0;)
			fs.writeSync(out, block, 0, got);
	} finally {
		fs.closeSync(from);
	}
}

function concatenate(sources, temporary, user) {
	const out = fs.openSync(raw(temporary), "w", 0o666);
	try {
		giveTo(user, temporary);
		sources.forEach((file) => append(out, file));
	} finally {
		fs.closeSync(out);
	}
}

function assemble(sources, destination, user) {
	const temporary = `${destination}.e2b-compose.${randomUUID()}.tmp`;
	try {
		ensureDirectories(parent(destination), user);
		concatenate(sources, temporary, user);
		fs.renameSync(raw(temporary), raw(destination));
	} catch (error) {
		fs.rmSync(raw(temporary), { force: true });
		throw error.code === "ENOSPC" ? new HttpError(507, "not enough disk space available") :
			new HttpError(500, `error finalizing compose: ${reason(error)}`);
	}
	sources.forEach((file) => fs.rmSync(raw(file), { force: true }));
}

export async function compose(sandbox, req, res) {
	const { source_paths: given = [], destination: target = "", username } = await parse(req);
	if (!given.length)
		throw new HttpError(400, "source_paths must not be empty");
	if (!target)
		throw new HttpError(400, "destination is required");
	const user = fileUser(username, sandbox.defaultUser);
	const destination = resolveFor("destination path", target, user);
	const sources = given.map((one) => resolveFor(`source path "${one}"`, one, user));
	sources.forEach((file, i) => checkSource(given[i], file, destination));
	assemble(sources, destination, user);
	sendJson(res, 200, { name: toText(base(destination)), path: toText(destination), type: "file" });
}
