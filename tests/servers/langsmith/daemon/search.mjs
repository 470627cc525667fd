// POST /glob and /grep.
import fs from "node:fs";
import path from "node:path";

import { sendJson } from "../../lib/http.mjs";
import { invalid, typed } from "../failure.mjs";
import { checkMembers, readObject } from "../input.mjs";

const LIMIT = 1000;

// "**" is any number of directories, "*", "?" and "[...]" are within a name.
function toExpression(pattern) {
	const text = pattern.replace(/\*\*\/|\*\*|\*|\?|\[!|[.+^${}()|\\]/g, (one) =>
		({ "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "[!": "[^" })[one] ?? `\\${one}`);
	return new RegExp(`^${text}$`);
}

function* walk(directory, prefix = "") {
	for (const entry of fs.readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
		yield `${prefix}${entry.name}`;
		if (entry.isDirectory())
			yield* walk(path.join(directory, entry.name), `${prefix}${entry.name}/`);
	}
}

function* matching(directory, pattern) {
	const expression = toExpression(pattern);
	for (const name of walk(directory)) {
		if (expression.test(name))
			yield path.join(directory, name);
	}
}

// { matches, truncated }
function take(found, limit = LIMIT) {
	const matches = [];
	for (const one of found) {
		if (matches.length === limit)
			return { matches, truncated: true };
		matches.push(one);
	}
	return { matches, truncated: false };
}

async function readSearch(req, more) {
	const wanted = checkMembers(await readObject(req), { pattern: "string!", path: "string!", limit: "integer", ...more });
	if (!wanted.path.startsWith("/"))
		throw typed(400, "InvalidPath", `path must be absolute: ${wanted.path}`);
	if (wanted.limit < 1)
		throw invalid(["body", "limit"], "Input should be greater than 0");
	if (!fs.statSync(wanted.path, { throwIfNoEntry: false })?.isDirectory())
		throw typed(404, "FileNotFound", `${wanted.path}: no such file or directory`);
	return wanted;
}

function describeEntry(file) {
	const stat = fs.lstatSync(file);
	return { path: file, is_dir: stat.isDirectory(), size_bytes: stat.size, modified_at: stat.mtime.toISOString() };
}

function* mapped(found, change) {
	for (const one of found)
		yield change(one);
}

export async function glob(sandbox, req, res) {
	const { pattern, path: directory, limit } = await readSearch(req);
	sendJson(res, 200, take(mapped(matching(directory, pattern), describeEntry), limit));
}

function* linesWith(files, text) {
	for (const file of files) {
		if (!fs.lstatSync(file).isFile())
			continue;
		const lines = fs.readFileSync(file, "utf8").split("\n");
		for (const [i, line] of lines.entries()) {
			if (line.includes(text))
				yield { path: file, line: i + 1, text: line };
		}
	}
}

export async function grep(sandbox, req, res) {
	const { pattern, path: directory, glob: only = "**", limit } = await readSearch(req, { glob: "string" });
	const files = matching(directory, only.includes("/") || only === "**" ? only : `**/${only}`);
	sendJson(res, 200, take(linesWith(files, pattern), limit));
}
