// Looks for a text in files, however large, and in all files of a tree.
import fs from "node:fs";
import path from "node:path";

const BLOCK = 1 << 20;

function fileContains(file, needle) {
	const block = Buffer.alloc(BLOCK + needle.length);
	const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
	try {
		for (let kept = 0, got; (got = fs.readSync(fd, block, kept, BLOCK, null)) > 0;) {
			const filled = block.subarray(0, kept + got);
			if (filled.includes(needle))
				return true;
			kept = Math.min(needle.length - 1, filled.length);
			filled.copy(block, 0, filled.length - kept);
		}
		return false;
	} finally {
		fs.closeSync(fd);
	}
}

// The files at and below `where` that contain it; names count too.
export function filesContaining(where, needle) {
	const stat = fs.lstatSync(where, { throwIfNoEntry: false });
	const found = path.basename(where).includes(needle) ? [where] : [];
	if (stat?.isDirectory())
		return found.concat(...fs.readdirSync(where).map((name) => filesContaining(path.join(where, name), needle)));
	return stat?.isFile() && fileContains(where, Buffer.from(needle)) ? [where] : found;
}
