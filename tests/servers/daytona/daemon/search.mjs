// Looking for names and texts in a tree, and putting other texts in their place.
import fs from "node:fs";
import path from "node:path";

import { fromText, raw, toText } from "../../lib/bytes.mjs";
import { required } from "./files.mjs";
import { readRequest, sendGoJson } from "./json.mjs";
import { Refused } from "./refused.mjs";

const HEAD = 512;
const LONGEST_LINE = 64 << 10;

function* walk(file) {
	const stat = fs.lstatSync(raw(file), { throwIfNoEntry: false });
	if (!stat)
		return;
	yield { file, stat };
	if (stat.isDirectory()) {
		for (const name of fs.readdirSync(raw(file), "latin1").sort())
			yield* walk(path.posix.join(file, name));
	}
}

// "*", "?", "[...]" and "\", of one name.
function matcher(pattern) {
	const source = pattern.replace(/\\(.)|\*|\?|\[\^?[^\]]*\]|[.+^${}()|\]]/gs, (text, escaped) => {
		if (escaped)
			return `\\${escaped}`;
		return text === "*" ? "[^/]*" : text === "?" ? "[^/]" : text[0] === "[" ? text : `\\${text}`;
	});
	const expression = new RegExp(`^${source}$`, "s");
	return (name) => expression.test(name);
}

export function searchNames(context, req, res, query) {
	const isWanted = matcher(required(query, "pattern"));
	const found = [...walk(required(query, "path"))].filter(({ file }) => isWanted(path.posix.basename(file)));
	sendGoJson(res, 200, { files: found.map(({ file }) => toText(file)) });
}

function linesWith(file, text) {
	const bytes = fs.readFileSync(raw(file));
	if (bytes.subarray(0, HEAD).includes(0))
		return [];
	const lines = bytes.toString("latin1").split("\n");
	const tooLong = lines.findIndex((line) => line.length > LONGEST_LINE);
	return lines.slice(0, tooLong < 0 ? undefined : tooLong)
		.flatMap((line, i) => (line.includes(text) ? [{ file: toText(file), line: i + 1, content: toText(line) }] : []));
}

export function searchTexts(context, req, res, query) {
	const text = required(query, "pattern");
	const files = [...walk(required(query, "path"))].filter(({ stat }) => stat.isFile());
	sendGoJson(res, 200, files.flatMap(({ file }) => linesWith(file, text)));
}

function replaceIn(file, pattern, newValue) {
	try {
		fs.writeFileSync(file, fs.readFileSync(file, "utf8").replaceAll(pattern, () => newValue));
		return { file, success: true };
	} catch (error) {
		return { file, success: false, error: error.message };
	}
}

export async function replace(context, req, res) {
	const { files, pattern, newValue } = await readRequest(req, { files: "list", pattern: "string", newValue: "string" });
	if (!files || !pattern)
		throw new Refused(400, "files and pattern are required");
	sendGoJson(res, 200, files.map((file) => replaceIn(toText(fromText(file)), pattern, newValue ?? "")));
}
