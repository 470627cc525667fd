// /files: one file or directory a request. Paths are byte strings; relative ones start at the daemon's directory.
import fs from "node:fs";
import path from "node:path";

import { raw, toText } from "../../lib/bytes.mjs";
import { goMode } from "../../lib/go_mode.mjs";
import { sendEmpty } from "../../lib/http.mjs";
import { findGroup, findUser } from "../../lib/users.mjs";
import { sendGoJson } from "./json.mjs";
import { act, look, RefusedInSilence } from "./refused.mjs";

const { join, dirname, basename } = path.posix;
const NANOSECONDS = 1_000_000_000n;

export const silently = (status, message) => new RefusedInSilence(status, message);

export function required(query, name) {
	const value = query.get(name);
	if (!value)
		throw silently(400, `${name} is required`);
	return value;
}

// ---- Looking ---------------------------------------------------------------------------------------

// RFC 3339 with up to nine digits, the zeros at the end left out.
function rfc3339(ns) {
	const seconds = new Date(Number(ns / NANOSECONDS) * 1000).toISOString().slice(0, 19);
	const fraction = String(ns % NANOSECONDS).padStart(9, "0").replace(/0+$/, "");
	return { seconds, fraction: fraction ? `.${fraction}` : "" };
}

// Of what a link leads to.
function fileInfo(file) {
	const stat = fs.statSync(raw(file), { bigint: true });
	const { seconds, fraction } = rfc3339(stat.mtimeNs);
	return {
		name: toText(basename(file)),
		size: Number(stat.size),
		mode: goMode(stat),
		modTime: `${seconds.replace("T", " ")}${fraction} +0000 UTC`,
		modifiedAt: `${seconds}${fraction}Z`,
		isDir: stat.isDirectory(),
		owner: String(stat.uid),
		group: String(stat.gid),
		permissions: Number(stat.mode & 0o777n).toString(8).padStart(4, "0"),
	};
}

function infoOrNothing(file) {
	try {
		return [fileInfo(file)];
	} catch {
		return []; // a link that leads nowhere
	}
}

export function list(context, req, res, query) {
	const directory = query.get("path") || ".";
	const names = look(() => fs.readdirSync(raw(directory), "latin1")).sort();
	sendGoJson(res, 200, names.flatMap((name) => infoOrNothing(join(directory, name))));
}

export function info(context, req, res, query) {
	const file = required(query, "path");
	sendGoJson(res, 200, look(() => fileInfo(file)));
}

// ---- Changing --------------------------------------------------------------------------------------

function octal(text, otherwise) {
	if (!text)
		return otherwise;
	if (!/^[0-7]+$/.test(text))
		throw silently(400, "invalid mode format");
	return parseInt(text, 8) & 0o777;
}

export function makeFolder(context, req, res, query) {
	const folder = required(query, "path");
	const mode = octal(query.get("mode"), 0o755);
	act(() => fs.mkdirSync(raw(folder), { recursive: true, mode }));
	sendEmpty(res, 201, { "Content-Length": 0 });
}

export function remove(context, req, res, query) {
	const file = required(query, "path");
	const recursive = query.get("recursive") === "true";
	const isDirectory = look(() => fs.statSync(raw(file)).isDirectory());
	if (isDirectory && !recursive)
		throw silently(400, "cannot delete directory without recursive flag");
	act(() => (recursive ? fs.rmSync(raw(file), { recursive: true }) : fs.unlinkSync(raw(file))));
	sendEmpty(res, 204);
}

function copyThenRemove(source, destination) {
	fs.cpSync(toText(source), toText(destination), { recursive: true });
	fs.rmSync(raw(source), { recursive: true });
}

export function move(context, req, res, query) {
	const source = required(query, "source");
	const destination = required(query, "destination");
	look(() => fs.statSync(raw(source)));
	look(() => fs.statSync(raw(dirname(destination))));
	if (infoOrNothing(destination).length)
		throw silently(409, "destination already exists");
	act(() => {
		try {
			fs.renameSync(raw(source), raw(destination));
		} catch {
			copyThenRemove(source, destination);
		}
	});
	sendEmpty(res, 200, { "Content-Length": 0 });
}

function idOf(given, find, what) {
	if (!given)
		return -1;
	const id = /^\d+$/.test(given) ? Number(given) : find(given);
	if (id === undefined)
		throw silently(400, `${what} not found`);
	return id;
}

export function setPermissions(context, req, res, query) {
	const file = required(query, "path");
	look(() => fs.statSync(raw(file)));
	const mode = octal(query.get("mode"));
	if (mode !== undefined)
		act(() => fs.chmodSync(raw(file), mode));
	const uid = idOf(query.get("owner"), (name) => findUser(name)?.uid, "user");
	const gid = idOf(query.get("group"), (name) => findGroup(name)?.gid, "group");
	if (uid !== -1 || gid !== -1)
		act(() => fs.chownSync(raw(file), uid, gid));
	sendEmpty(res, 200, { "Content-Length": 0 });
}
