// What the vendors' servers have in common from their start to their end.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { front } from "./front.mjs";
import { listenOnLoopback, makeServer } from "./http.mjs";
import { jailComplaint } from "./jail.mjs";
import { filesContaining } from "./search.mjs";

const CANNOT_RUN_HERE = 77;

export const PROGRAMS = fileURLToPath(new URL("../../../build/servers", import.meta.url));

export function requireNamespaces(vendor) {
	const complaint = jailComplaint();
	if (!complaint)
		return;
	console.error(`${vendor} test server: no namespaces on this machine: ${complaint}`);
	process.exit(CANNOT_RUN_HERE);
}

// Folders for the files and, of a short name, for the sockets of all sandboxes.
export function makePlace(vendor, { root, programs }) {
	const place = { root: path.resolve(root), io: fs.mkdtempSync(path.join(os.tmpdir(), `${vendor}-`)), programs };
	fs.mkdirSync(place.root, { recursive: true });
	return place;
}

// watched: { counters, faults }
export function serveFront(watched, kindOf, handler, port) {
	const server = makeServer(front({ ...watched, kindOf, handler }));
	watched.counters.watch(server);
	return listenOnLoopback(server, port);
}

// In what any of the sandboxes was sent, those that are gone too, and in the files they have.
export function received(sandboxes, text) {
	if (!text)
		throw new Error("contains=TEXT is missing");
	const places = sandboxes.flatMap((sandbox) => [sandbox.received, sandbox.directory]);
	const found = places.flatMap((place) => filesContaining(place, text));
	return { found: found.length > 0, places: found };
}

// On SIGTERM and SIGINT: takes the sandboxes along.
export function endWith(killAll, { io }) {
	const end = async () => {
		await killAll();
		fs.rmSync(io, { recursive: true, force: true });
		process.exit(0);
	};
	process.once("SIGTERM", end);
	process.once("SIGINT", end);
}
