// File names are bytes. Inside a daemon a path is a "byte string": one character (0 to 255) for each byte.

export const fromText = (text) => Buffer.from(text, "utf8").toString("latin1");
export const raw = (path) => Buffer.from(path, "latin1");

// For people and messages; what is not UTF-8 shows as U+FFFD.
export const toText = (path) => raw(path).toString("utf8");
export const isUtf8 = (path) => fromText(toText(path)) === path;

// The members of a query, percent-decoded to byte strings; the first of each name counts.
export function parseQuery(search) {
	const query = new Map();
	for (const pair of search.replace(/^\?/, "").split("&")) {
		const [, name, value] = /^([^=]*)=?(.*)$/s.exec(pair);
		if (name && !query.has(percentDecode(name)))
			query.set(percentDecode(name), percentDecode(value));
	}
	return query;
}

const percentDecode = (text) =>
	text.replace(/\+/g, " ").replace(/%([0-9a-fA-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
