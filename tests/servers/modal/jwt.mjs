// Tokens as the vendor gives out: JWTs whose claims a client may read, and only the server can make.
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const secret = randomBytes(32);
const encoded = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const signature = (text) => createHmac("sha256", secret).update(text).digest();

export function makeToken(claims, lifetimeS) {
	const exp = Math.floor(Date.now() / 1000) + lifetimeS;
	const text = `${encoded({ alg: "HS256", typ: "JWT" })}.${encoded({ ...claims, exp, jti: randomBytes(6).toString("hex") })}`;
	return `${text}.${signature(text).toString("base64url")}`;
}

// The claims, or undefined: not ours, or expired.
export function readToken(token = "") {
	const [head, body, mark = ""] = token.split(".");
	const given = Buffer.from(mark, "base64url");
	const wanted = signature(`${head}.${body}`);
	if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
		return undefined;
	const claims = JSON.parse(Buffer.from(body, "base64url"));
	return claims.exp * 1000 > Date.now() ? claims : undefined;
}
