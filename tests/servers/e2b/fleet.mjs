// All sandboxes of the server's one team.
import { randomBytes } from "node:crypto";

import { Sandbox } from "./sandbox.mjs";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";
const ID_RANDOM = 20;

const makeId = () => `i${[...randomBytes(ID_RANDOM)].map((byte) => ALPHABET[byte % ALPHABET.length]).join("")}`;

export class Fleet {
	constructor(place) {
		this.place = place;
		this.sandboxes = new Map();
		this.everyOne = [];
	}

	// folder: what is on its disk at first, as Guest.capture() left it; undefined: nothing.
	async create(wanted, timeoutS, folder) {
		const sandbox = new Sandbox(makeId(), wanted, this.place);
		if (folder)
			await sandbox.restore(folder);
		sandbox.onGone = () => this.sandboxes.delete(sandbox.id);
		this.sandboxes.set(sandbox.id, sandbox);
		this.everyOne.push(sandbox);
		try {
			await sandbox.start(timeoutS);
		} catch (error) {
			this.sandboxes.delete(sandbox.id);
			throw error;
		}
		return sandbox;
	}

	find(id) {
		return this.sandboxes.get(id);
	}

	all() {
		return [...this.sandboxes.values()].filter(({ state }) => state !== "starting");
	}

	get running() {
		return this.all().filter(({ state }) => state === "running");
	}

	killAll() {
		return Promise.all([...this.sandboxes.values()].map((sandbox) => sandbox.kill()));
	}
}
