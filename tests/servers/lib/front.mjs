// What stands before every handler of a test server: counting, its clock, and the faults that tests asked for.
import { sayTime } from "./clock.mjs";

function countRequest(req, counts) {
	const { push } = req;
	req.push = (chunk) => {
		counts.bytes_in += chunk?.length ?? 0;
		return push.call(req, chunk);
	};
}

function countAnswer(res, counts) {
	for (const name of ["write", "end"]) {
		const original = res[name];
		res[name] = (chunk, ...rest) => {
			if (typeof chunk === "string" || chunk?.length)
				counts.bytes_out += Buffer.byteLength(chunk);
			return original.call(res, chunk, ...rest);
		};
	}
}

// Whether anybody answers is asked where an answer is late, as on a busy machine: that is none of the
// work that is counted.
const isProbe = (req) => req.method === "GET" && req.url === "/";

// `kindOf` names a request's kind for counters and faults.
export function front({ counters, faults, kindOf, handler }) {
	return async (req, res) => {
		const kind = kindOf(req);
		const counts = isProbe(req) ? {} : counters.begin(kind);
		countRequest(req, counts);
		countAnswer(res, counts);
		res.on("error", () => {});
		sayTime(res);
		const action = faults.take(kind, req);
		if (action && await faults.apply(action, req, res))
			return;
		await handler(req, res);
	};
}
