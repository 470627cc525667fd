// Plain HTTP for tests that look at the wire itself: one request, one answer, nothing done behind one's back.
import http from "node:http";

// Resolves with { status, headers, body }; rejects when the connection ends early, with the error's `partial` body.
export function request(url, { method = "GET", headers = {}, body } = {}) {
	return new Promise((resolve, reject) => {
		const req = http.request(url, { method, headers, agent: false }, (res) => {
			const chunks = [];
			res.on("data", (chunk) => chunks.push(chunk));
			res.on("end", () => resolve({ status: res.statusCode, headers: res.headers, body: Buffer.concat(chunks) }));
			res.on("error", (error) => reject(Object.assign(error, { partial: Buffer.concat(chunks) })));
		});
		req.on("error", reject);
		req.end(body);
	});
}

export function envelope(json, flags = 0) {
	const payload = Buffer.isBuffer(json) ? json : Buffer.from(JSON.stringify(json));
	const header = Buffer.alloc(5);
	header[0] = flags;
	header.writeUInt32BE(payload.length, 1);
	return Buffer.concat([header, payload]);
}

// [{ flags, payload }]
export function envelopes(bytes) {
	const found = [];
	for (let at = 0; at < bytes.length;) {
		const end = at + 5 + bytes.readUInt32BE(at + 1);
		found.push({ flags: bytes[at], payload: bytes.subarray(at + 5, end) });
		at = end;
	}
	return found;
}
