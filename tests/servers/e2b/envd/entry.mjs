// EntryInfo: what envd tells of a file, with all its peculiarities about links and special files.
import fs from "node:fs";
import path from "node:path";

import { isUtf8, raw, toText } from "../../lib/bytes.mjs";
import { goMode } from "../../lib/go_mode.mjs";
import { describe } from "../../lib/oserror.mjs";
import { readMetadata } from "./metadata.mjs";
import { FileType } from "./messages.mjs";
import { RpcError } from "./rpc_error.mjs";
import { groupName, ownerName } from "../../lib/users.mjs";

const NANOSECONDS = 1_000_000_000n;

function typeOf(stat) {
	if (stat.isFile())
		return FileType.FILE;
	return stat.isDirectory() ? FileType.DIRECTORY : FileType.UNSPECIFIED;
}

// The link followed to its end, or itself when that is nowhere.
function linkTarget(file) {
	try {
		return fs.realpathSync.native(raw(file), "buffer").toString("latin1");
	} catch {
		return file;
	}
}

function targetFacts(file) {
	try {
		const stat = fs.statSync(raw(file), { bigint: true });
		return { type: typeOf(stat), mode: Number(stat.mode & 0o777n) };
	} catch {
		return { type: FileType.UNSPECIFIED, mode: 0 };
	}
}

function kindFacts(file, stat) {
	if (!stat.isSymbolicLink())
		return { type: typeOf(stat), mode: Number(stat.mode & 0o777n) };
	const target = linkTarget(file);
	return { ...targetFacts(target), symlinkTarget: checkedText(target) };
}

function checkedText(name) {
	if (!isUtf8(name))
		throw new RpcError("internal", "marshal message: string field contains invalid UTF-8");
	return toText(name);
}

function fromStat(file, stat) {
	const isSized = stat.isFile() || stat.isDirectory() || stat.isSymbolicLink();
	return {
		name: checkedText(path.posix.basename(file)),
		path: checkedText(file),
		size: isSized ? Number(stat.size) : 0,
		permissions: goMode(stat),
		owner: ownerName(Number(stat.uid)),
		group: groupName(Number(stat.gid)),
		modifiedTime: { seconds: Number(stat.mtimeNs / NANOSECONDS), nanos: Number(stat.mtimeNs % NANOSECONDS) },
		metadata: readMetadata(stat),
		...kindFacts(file, stat),
	};
}

export function entryInfo(file) {
	let stat;
	try {
		stat = fs.lstatSync(raw(file), { bigint: true });
	} catch (error) {
		const why = describe("lstat", toText(file), error);
		throw error.code === "ENOENT" ? new RpcError("not_found", `file not found: ${why}`) :
			new RpcError("internal", `error getting file info: ${why}`);
	}
	return fromStat(file, stat);
}
