// Answers that are in form and not so: what a hostile service may say. An action of faults.mjs.
//
// JSON is told again with members of other types, huge numbers, IDs and addresses of others, without
// members, or in part; other bodies, as streams have them, with other bytes, twice, or without some.

let state = 1;

// Of one seed always the same (mulberry32).
function chance() {
	state = (state + 0x6d2b79f5) | 0;
	let t = Math.imul(state ^ (state >>> 15), 1 | state);
	t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
	return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}

const below = (end) => Math.floor(chance() * end);
const oneOf = (list) => list[below(list.length)];
const isOnce = (times) => below(times) === 0;

export function seedLies(seed) {
	state = seed | 0;
}

// ---- JSON --------------------------------------------------------------------------------------------

const ADDRESSES = [
	"http://127.0.0.1:1", "https://127.0.0.1:1/x?y=", "http://localhost:1", "http://[::1]:1",
	"https://nowhere.invalid", "file:///etc/passwd", "http://user:pw@127.0.0.1:1/", "//127.0.0.1:1",
	"127.0.0.1:1", "https://127.0.0.1:1#f", "http://0:1",
];
const TEXTS = [
	"", "..", "../../etc", "a/b", "x".repeat(70000), "\u0000", "\u001b[2J\u009b", "\u202e", "another-one",
	"0", "running", "paused",
	"\ud83d\ude00", "2026-13-45T99:99:99Z", "9999999999999-01-01T00:00:00Z", "null",
];
const NUMBERS = [0, -1, 1e308, -1e308, 2 ** 53, 2 ** 63, -(2 ** 63), 2 ** 64, 0.5, 255, 65536];
const seen = [];

function keep(value) {
	if (typeof value === "string" && value.length < 300)
		seen.length < 200 ? seen.push(value) : (seen[below(200)] = value);
	return value;
}

const lies = [
	() => null, () => true, () => oneOf(NUMBERS), () => oneOf(TEXTS), () => oneOf(ADDRESSES),
	() => oneOf(seen) ?? "", () => [], () => ({}),
	(value) => [value, value], (value) => ({ value }), (value) => String(value), (value) => Number(value) || 7,
	() => Array.from({ length: below(2000) }, () => ({ id: oneOf(seen) })),
	() => JSON.parse("[".repeat(200) + "]".repeat(200)),
];

function retold(value, share) {
	keep(value);
	if (chance() < share)
		return oneOf(lies)(value);
	if (Array.isArray(value))
		return value.map((one) => retold(one, share));
	if (value === null || typeof value !== "object")
		return value;
	const members = Object.entries(value).filter(() => chance() >= share / 2);
	return Object.fromEntries(members.map(([name, one]) => [name, retold(one, share)]));
}

function retoldText(text, share) {
	let told = JSON.stringify(retold(JSON.parse(text), share));
	if (isOnce(15))
		told = told.slice(0, below(told.length + 1));
	if (isOnce(30))
		told += oneOf(["{}", "\u0000", " ", told, "]"]);
	return told;
}

function retoldJson(bytes, share) {
	try {
		return Buffer.from(retoldText(bytes.toString(), share));
	} catch {
		return retoldBytes(bytes);
	}
}

// ---- Other bytes ---------------------------------------------------------------------------------------

function retoldBytes(bytes) {
	const told = Buffer.from(bytes);
	if (!told.length)
		return told;
	for (let n = below(4); n > 0; n--)
		told[below(told.length)] = below(256);
	switch (below(8)) {
	case 0: return told.subarray(0, below(told.length));
	case 1: return told.subarray(below(told.length));
	case 2: return Buffer.concat([told, told]);
	default: return told;
	}
}

// ---- The action ----------------------------------------------------------------------------------------

const listed = (headers) => (Array.isArray(headers) ? headers : Object.entries(headers ?? {}).flat());
const bytesOf = (chunk) => (typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk ?? ""));

// Of every second answer one in a hundred values of JSON, or in twenty, or in five: what follows needs
// good ones, too.
export function lie(action, req, res) {
	if (isOnce(2))
		return false;
	const share = oneOf([0.01, 0.05, 0.2]);
	const { writeHead, write, end } = res;
	const isJson = () => /^application\/json/.test(String(res.getHeader("content-type") ?? ""));
	const pieces = [];
	res.writeHead = (status, headers) => {
		if (res.headersSent)
			return res;
		const list = listed(headers);
		for (let n = 0; n < list.length; n += 2)
			if (list[n].toLowerCase() !== "content-length")
				res.setHeader(list[n], list[n + 1]);
		return writeHead.call(res, isOnce(40) ? oneOf([200, 201, 204, 400, 401, 404, 409, 429, 500, 503]) : status);
	};
	res.write = (chunk, ...rest) => {
		if (isJson())
			return pieces.push(bytesOf(chunk)), true;
		return write.call(res, isOnce(6) ? retoldBytes(bytesOf(chunk)) : chunk, ...rest);
	};
	res.end = (chunk, ...rest) => {
		if (typeof chunk === "function" || (!isJson() && !pieces.length))
			return end.call(res, chunk, ...rest);
		const whole = Buffer.concat([...pieces, bytesOf(chunk)]);
		if (!res.headersSent)
			res.removeHeader("content-length");
		return end.call(res, whole.length ? retoldJson(whole, share) : whole, ...rest);
	};
	return false;
}
