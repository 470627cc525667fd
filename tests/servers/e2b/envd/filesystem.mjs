// filesystem.Filesystem without the watchers. All work is done as root; the user only owns what is made.
import fs from "node:fs";
import path from "node:path";

import { fromText, raw, toText } from "../../lib/bytes.mjs";
import { entryInfo } from "./entry.mjs";
import { describe, reason } from "../../lib/oserror.mjs";
import { BadPath, ensureDirectories, parent, resolve } from "./paths.mjs";
import { removeAll } from "./removal.mjs";
import { RpcError } from "./rpc_error.mjs";

// What goes by a path acts as a user, which daemons without a default one want to be told.
export function resolveText(text, user) {
	if (!user)
		throw new RpcError("unauthenticated", "no user specified");
	try {
		return resolve(fromText(text ?? ""), user);
	} catch (error) {
		throw error instanceof BadPath ? new RpcError("invalid_argument", error.message) : error;
	}
}

const internal = (what, detail) => new RpcError("internal", `${what}: ${detail}`);

function stat({ user }, message) {
	return { entry: entryInfo(resolveText(message.path, user)) };
}

// ---- ListDir ---------------------------------------------------------------------------------------

function followLinks(directory) {
	try {
		return fs.realpathSync.native(raw(directory), "buffer").toString("latin1");
	} catch (error) {
		if (error.code === "ENOENT")
			throw new RpcError("not_found", `path not found: ${describe("lstat", toText(directory), error)}`);
		if (error.code === "ELOOP")
			throw new RpcError("failed_precondition", `cyclic symlink or chain >255 links at "${toText(directory)}"`);
		throw internal("error resolving symlink", describe("lstat", toText(directory), error));
	}
}

function sortedNames(directory, root) {
	try {
		return fs.readdirSync(raw(directory), "buffer").map((name) => name.toString("latin1")).sort();
	} catch (error) {
		throw internal(`error reading directory ${toText(root)}`, describe("open", toText(directory), error));
	}
}

function entryOrNothing(file) {
	try {
		return entryInfo(file);
	} catch (error) {
		if (error.code === "not_found")
			return undefined;
		throw error;
	}
}

const isRealDirectory = (entry) => entry.permissions.startsWith("d");

function walk(directory, shown, depth, root, entries) {
	for (const name of sortedNames(directory, root)) {
		const file = path.posix.join(directory, name);
		const entry = entryOrNothing(file);
		if (!entry)
			continue;
		entries.push({ ...entry, path: toText(path.posix.join(shown, name)) });
		if (depth > 1 && isRealDirectory(entry))
			walk(file, path.posix.join(shown, name), depth - 1, root, entries);
	}
	return entries;
}

function listDir({ user }, message) {
	const requested = resolveText(message.path, user);
	const root = followLinks(requested);
	if (!fs.statSync(raw(root)).isDirectory())
		throw new RpcError("invalid_argument", `path is not a directory: ${toText(root)}`);
	return { entries: walk(root, requested, message.depth || 1, root, []) };
}

// ---- What changes something ------------------------------------------------------------------------

function known(file) {
	try {
		return fs.statSync(raw(file));
	} catch (error) {
		if (error.code === "ENOENT")
			return undefined;
		throw internal("error getting file info", describe("stat", toText(file), error));
	}
}

function ensure(directory, user) {
	try {
		ensureDirectories(directory, user);
	} catch (error) {
		throw new RpcError("internal", error.message);
	}
}

function makeDir({ user }, message) {
	const directory = resolveText(message.path, user);
	const there = known(directory);
	if (there?.isDirectory())
		throw new RpcError("already_exists", `directory already exists: ${toText(directory)}`);
	if (there)
		throw new RpcError("invalid_argument", `path already exists but it is not a directory: ${toText(directory)}`);
	ensure(directory, user);
	return { entry: entryInfo(directory) };
}

// The vendor's runtime refuses to rename anything onto a directory, an empty one too.
function rename(source, destination) {
	const into = fs.lstatSync(raw(destination), { throwIfNoEntry: false });
	if (into?.isDirectory() && source !== destination) {
		fs.lstatSync(raw(source));
		throw Object.assign(new Error("file exists"), { code: "EEXIST" });
	}
	fs.renameSync(raw(source), raw(destination));
}

function move({ user }, message) {
	const source = resolveText(message.source, user);
	const destination = resolveText(message.destination, user);
	ensure(parent(destination), user);
	try {
		rename(source, destination);
	} catch (error) {
		const why = `rename ${toText(source)} ${toText(destination)}: ${reason(error)}`;
		throw error.code === "ENOENT" ? new RpcError("not_found", `source file not found: ${why}`) :
			internal("error renaming", why);
	}
	return { entry: entryInfo(destination) };
}

function remove({ user }, message) {
	const file = resolveText(message.path, user);
	try {
		removeAll(file);
	} catch (error) {
		throw internal("error removing file or directory", describe("unlinkat", toText(file), error));
	}
	return {};
}

export const filesystemHandlers = {
	"filesystem.Filesystem/Stat": stat,
	"filesystem.Filesystem/ListDir": listDir,
	"filesystem.Filesystem/MakeDir": makeDir,
	"filesystem.Filesystem/Move": move,
	"filesystem.Filesystem/Remove": remove,
};
