// A message as bytes and back, in the codec that the content type names; and its compression.
import zlib from "node:zlib";

import { decode, encode, fromJson, toJson } from "../../lib/protobuf.mjs";
import { RpcError } from "./rpc_error.mjs";

export const codecs = {
	proto: { encode, decode },
	json: {
		encode: (message, value) => Buffer.from(JSON.stringify(toJson(message, value))),
		decode: (message, bytes) => fromJson(message, JSON.parse(bytes.toString("utf8"))),
	},
};

export function decodeMessage(codec, message, bytes) {
	try {
		return codecs[codec].decode(message, bytes);
	} catch (error) {
		throw new RpcError("invalid_argument", `unmarshal message: ${error.message}`);
	}
}

export function gunzip(bytes) {
	try {
		return zlib.gunzipSync(bytes);
	} catch (error) {
		throw new RpcError("invalid_argument", `decompress: ${error.message}`);
	}
}

// Who compresses the request is answered the same way; else the first name of what is accepted that we know.
export function negotiate(sent, accepted) {
	if (sent && sent !== "identity" && sent !== "gzip")
		throw new RpcError("unimplemented", `unknown compression "${sent}": supported encodings are gzip`);
	const isSent = sent === "gzip";
	const names = (accepted ?? "").split(/[\s,]+/);
	return { request: isSent, response: isSent || names.includes("gzip") };
}

export const gzip = (bytes) => zlib.gzipSync(bytes);
