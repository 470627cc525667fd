// Removes a tree whatever its names are made of; what is not there is fine.
import fs from "node:fs";
import path from "node:path";

import { raw } from "../../lib/bytes.mjs";

export function removeAll(file) {
	const stat = fs.lstatSync(raw(file), { throwIfNoEntry: false });
	if (!stat)
		return;
	if (!stat.isDirectory())
		return fs.unlinkSync(raw(file));
	for (const name of fs.readdirSync(raw(file), "buffer"))
		removeAll(path.posix.join(file, name.toString("latin1")));
	fs.rmdirSync(raw(file));
}
