// In the place of the vendor's helper binary: one operation on files, told as JSON in the only argument.
import fs from "node:fs";
import path from "node:path";

import { groupName, ownerName } from "../../lib/users.mjs";

const KINDS = {
	ENOENT: "NotFound", EISDIR: "IsDirectory", ENOTDIR: "NotDirectory", EEXIST: "PathAlreadyExists",
	ENOTEMPTY: "DirectoryNotEmpty", EACCES: "PermissionDenied", EPERM: "PermissionDenied", EFBIG: "FileTooLarge",
};

function typeOf(stat) {
	return stat.isDirectory() ? "directory" : stat.isSymbolicLink() ? "symlink" : "file";
}

function entry(where) {
	const stat = fs.lstatSync(where);
	return {
		name: path.basename(where), path: where, type: typeOf(stat), size: stat.size, mode: stat.mode,
		permissions: (stat.mode & 0o7777).toString(8).padStart(4, "0"), owner: ownerName(stat.uid), group: groupName(stat.gid),
		modified_time: stat.mtimeMs / 1000, ...(stat.isSymbolicLink() ? { symlink_target: fs.readlinkSync(where) } : {}),
	};
}

const print = (value) => process.stdout.write(JSON.stringify(value));

function makeDirectory({ path: where, parents }) {
	if (parents && fs.existsSync(where) && !fs.statSync(where).isDirectory())
		throw Object.assign(new Error(`not a directory: ${where}`), { code: "EEXIST" });
	fs.mkdirSync(where, { recursive: Boolean(parents) });
}

function remove({ path: where, recursive }) {
	if (!recursive && fs.lstatSync(where).isDirectory())
		fs.rmdirSync(where);
	else
		fs.rmSync(where, { recursive: Boolean(recursive) });
}

function write({ path: where }) {
	fs.mkdirSync(path.dirname(where), { recursive: true });
	fs.writeFileSync(where, fs.readFileSync(0));
}

const OPERATIONS = {
	ListFiles: ({ path: where }) => print(fs.readdirSync(where).sort().map((name) => entry(path.join(where, name)))),
	Stat: ({ path: where }) => print(entry(where)),
	ReadFile: ({ path: where }) => fs.writeSync(1, fs.readFileSync(where)),
	WriteFile: write,
	MakeDirectory: makeDirectory,
	Remove: remove,
};

function main() {
	const [[name, given]] = Object.entries(JSON.parse(process.argv[2]));
	try {
		OPERATIONS[name](given);
	} catch (error) {
		console.error(JSON.stringify({ error_kind: KINDS[error.code] ?? "Io", message: error.message }));
		process.exitCode = 1;
	}
}

main();
