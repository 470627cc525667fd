// Range and the conditional headers, as the vendor's content server reads them.

// { from, length } of a single range; undefined: the whole file; null: 416.
export function singleRange(header, size) {
	if (!header || size === 0)
		return undefined;
	const [, list] = /^bytes=(.*)$/.exec(header) ?? [];
	if (list === undefined)
		return null;
	if (list.includes(","))
		return undefined;
	const [, from, to] = /^\s*(\d*)\s*-\s*(\d*)\s*$/.exec(list) ?? [];
	if (from === undefined || (from === "" && to === ""))
		return null;
	return from === "" ? lastBytes(Number(to), size) : fromTo(Number(from), to === "" ? size - 1 : Number(to), size);
}

function lastBytes(length, size) {
	const from = Math.max(size - length, 0);
	return { from, length: size - from };
}

function fromTo(from, to, size) {
	if (from >= size || to < from)
		return null;
	return { from, length: Math.min(to, size - 1) - from + 1 };
}

const wholeSeconds = (date) => Math.floor(date.getTime() / 1000);

export function isNotModified(headers, modified) {
	const match = headers["if-none-match"];
	if (match !== undefined)
		return match.split(",").some((tag) => tag.trim() === "*");
	const since = Date.parse(headers["if-modified-since"]);
	return !isNaN(since) && wholeSeconds(modified) <= Math.floor(since / 1000);
}

// If-Range holds only for the exact time of change; there are no entity tags.
export function isRangeStillGood(headers, modified) {
	const given = headers["if-range"];
	return given === undefined || Math.floor(Date.parse(given) / 1000) === wholeSeconds(modified);
}
