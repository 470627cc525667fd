// Names of files in headers. They come as byte strings.
import { raw, toText } from "../../lib/bytes.mjs";

const SAFE = /[A-Za-z0-9!#$&+.^_`|~-]/;

// "\" and quotes escaped; one byte for a character, what has none is "_".
export const quotedName = (name) => [...toText(name).replace(/[\\"]/g, "\\$&").replace(/[\r\n\0]/g, "")]
	.map((character) => (/[\x20-\x7e\x80-\xff]/.test(character) ? character : "_")).join("");

export const percentEncoded = (name) => [...raw(name)].map((byte) => {
	const character = String.fromCharCode(byte);
	return SAFE.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}).join("");
