// Keeps what the sandbox was sent, decoded, so that tests can look for what must never have been sent.
import fs from "node:fs";

// Of one upload no more than this is kept; the file itself can be searched.
export const KEPT_OF_A_BODY = 16 << 20;

let file;

export function recordTo(path) {
	file = fs.openSync(path, "a", 0o600);
}

export function record(kind, content) {
	fs.writeSync(file, `\n[${kind}] `);
	fs.writeSync(file, content);
}
