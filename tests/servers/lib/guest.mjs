// What every vendor's sandbox is here: its files, the jail with its daemon, and the requests that are on their way to that.
import { execFile } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { IN_FLIGHT } from "./http.mjs";
import { makeHome, startJail } from "./jail.mjs";

// What lies on the disk; /tmp may be memory.
export const ON_DISK = ["home", "root"];

const copyTree = promisify(execFile);
const SOURCE = fileURLToPath(new URL("..", import.meta.url));

export class Guest {
	// place: { root, io, programs }: folders for the files, for sockets (short), of the native programs. user: the
	// ordinary user's name.
	constructor(id, place, user) {
		Object.assign(this, { id, place, user });
		this.directory = path.join(place.root, id);
		this.io = path.join(place.io, id);
		this.exchanges = new Set();
		// What the vendor logs of it: { at: ms, message }.
		this.log = [];
		makeHome(this.directory, user);
	}

	// main: the daemon's module, below this folder's parent. config: for its standard input.
	async startDaemon({ hostname, main, config }) {
		const { directory, io, user, place: { programs } } = this;
		this.note("the sandbox starts");
		this.jail = await startJail({ directory, io, user, hostname, programs, daemon: { source: SOURCE, main, config } });
		this.openConnections();
	}

	note(message) {
		this.log.push({ at: Date.now(), message });
	}

	openConnections() {
		this.note("the sandbox answers");
		this.agent = new http.Agent({ keepAlive: true, maxFreeSockets: 256, highWaterMark: IN_FLIGHT });
	}

	// The state of its disk, in a folder of that name.
	async capture(folder) {
		fs.mkdirSync(folder, { recursive: true });
		await copyTree("cp", ["-a", ...ON_DISK.map((name) => path.join(this.directory, name)), folder]);
	}

	async restore(folder) {
		await copyTree("cp", ["-a", ...ON_DISK.map((name) => path.join(folder, name)), this.directory]);
	}

	// What goes through to the daemon does not live through a stop. Returns how to say that it is over.
	track(cut) {
		this.exchanges.add(cut);
		return () => this.exchanges.delete(cut);
	}

	cutConnections() {
		this.exchanges.forEach((cut) => cut());
		this.agent?.destroy();
	}

	// Where the daemon keeps what it was sent.
	get received() {
		return path.join(this.io, "received");
	}
}
