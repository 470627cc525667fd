// How envd understands a path, and the directories it makes on the way. Paths are byte strings.
import fs from "node:fs";
import path from "node:path";

import { fromText, raw, toText } from "../../lib/bytes.mjs";
import { describe } from "../../lib/oserror.mjs";
import { isRoot } from "../../lib/users.mjs";

export class BadPath extends Error {}

// Absolute paths are taken as they are; "~" and what is relative start at the user's home.
export function resolve(given, user) {
	const home = fromText(user.home);
	if (given.startsWith("~")) {
		if (given.length > 1 && given[1] !== "/" && given[1] !== "\\")
			throw new BadPath(`failed to expand path '${toText(given)}' for user '${user.name}': ` +
				"cannot expand user-specific home dir");
		return path.posix.join(home, given.slice(1)).replace(/(.)\/$/, "$1");
	}
	return given.startsWith("/") ? given : path.posix.join(home, given).replace(/(.)\/$/, "$1");
}

export const parent = (file) => path.posix.dirname(file);
export const base = (file) => path.posix.basename(file);

// Follows links; undefined where there is nothing.
export function statOrNothing(file) {
	try {
		return fs.statSync(raw(file));
	} catch (error) {
		if (error.code === "ENOENT")
			return undefined;
		throw error;
	}
}

export function giveTo(user, file) {
	if (isRoot)
		fs.chownSync(raw(file), user.uid, user.gid);
}

function ensureOne(directory, user) {
	let known;
	try {
		known = statOrNothing(directory);
	} catch (error) {
		throw new Error(`failed to stat directory: ${describe("stat", toText(directory), error)}`);
	}
	if (known && !known.isDirectory())
		throw new Error(`path is a file: ${toText(directory)}`);
	if (known)
		return;
	try {
		fs.mkdirSync(raw(directory), 0o755);
		giveTo(user, directory);
	} catch (error) {
		throw new Error(`failed to create directory: ${describe("mkdir", toText(directory), error)}`);
	}
}

// Makes what is missing, 0755 and the user's.
export function ensureDirectories(directory, user) {
	if (directory === "/" || directory === ".")
		return;
	ensureDirectories(parent(directory), user);
	ensureOne(directory, user);
}
