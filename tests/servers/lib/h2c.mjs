// HTTP/1.1 and HTTP/2 on one plain port: a connection that begins with HTTP/2's preface (RFC 9113, 3.4) speaks it.
import http2 from "node:http2";
import net from "node:net";

import { IN_FLIGHT, makeServer } from "./http.mjs";

// No method of HTTP/1.1 begins so.
const PREFACE_START = "PRI";

function hand(socket, first, { one, two }) {
	const isTwo = first.toString("latin1").startsWith(PREFACE_START);
	socket.pause();
	socket.unshift(first);
	(isTwo ? two : one).emit("connection", socket);
	if (!isTwo)
		socket.resume();
}

// Neither a stream that is reset nor a connection that ends is an error of the server's.
const tolerant = (handler) => (req, res) => {
	req.on("error", () => {});
	return handler(req, res);
};

export function makeBothServer(handler) {
	const one = makeServer(tolerant(handler));
	const two = http2.createServer({ settings: { initialWindowSize: 1 << 20 } }, tolerant(handler));
	two.on("session", (session) => session.on("error", () => {}));
	return net.createServer({ noDelay: true, highWaterMark: IN_FLIGHT }, (socket) => {
		socket.on("error", () => {});
		socket.once("data", (first) => hand(socket, first, { one, two }));
	});
}
