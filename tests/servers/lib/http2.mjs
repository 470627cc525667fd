// HTTP/2 on one port, over TLS and in plaintext: the first byte tells which.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http2 from "node:http2";
import net from "node:net";
import path from "node:path";

const TLS_HANDSHAKE = 0x16;
const SETTINGS = { initialWindowSize: 4 << 20, maxConcurrentStreams: 100 };
const CONNECTION_WINDOW = 16 << 20;

// A certificate for loopback, and for a host that no name server knows, that is its own authority, in files of `folder`.
export function makeCertificate(folder) {
	const key = path.join(folder, "key.pem");
	const certificate = path.join(folder, "certificate.pem");
	execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
		"-days", "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,DNS:nowhere.invalid,IP:127.0.0.1",
		"-keyout", key, "-out", certificate], { stdio: ["ignore", "ignore", "pipe"] });
	return { key: fs.readFileSync(key), cert: fs.readFileSync(certificate), file: certificate };
}

function prepared(server, handler) {
	server.on("request", handler);
	server.on("session", (session) => {
		session.setLocalWindowSize?.(CONNECTION_WINDOW);
		session.on("error", () => {});
	});
	server.on("sessionError", () => {});
	return server;
}

// For those who share no connection with strangers: any number of streams.
export const makePlainServer = (handler) =>
	prepared(http2.createServer({ settings: { initialWindowSize: SETTINGS.initialWindowSize } }), handler);

export function makeDoubleServer(handler, { key, cert }) {
	// No client shows a certificate, so no authority is known: to read all that Node has takes a twentieth of a second.
	const secure = prepared(http2.createSecureServer({ key, cert, ca: [], settings: SETTINGS }), handler);
	const plain = prepared(http2.createServer({ settings: SETTINGS }), handler);
	return net.createServer((socket) => {
		socket.setNoDelay();
		socket.on("error", () => {});
		const look = () => {
			const first = socket.read();
			if (!first)
				return;
			socket.off("readable", look);
			socket.unshift(first);
			(first[0] === TLS_HANDSHAKE ? secure : plain).emit("connection", socket);
		};
		socket.on("readable", look);
	});
}
