// The watching half of filesystem.Filesystem, over the program watch (tests/servers/native/watch.c).
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

import { isUtf8, raw, toText } from "../../lib/bytes.mjs";
import { entryInfo } from "./entry.mjs";
import { resolveText } from "./filesystem.mjs";
import { keepalive } from "./keepalive.mjs";
import { EventType } from "./messages.mjs";
import { describe } from "../../lib/oserror.mjs";
import { RpcError } from "./rpc_error.mjs";

const WATCH = "/run/daemon/programs/watch";
const KINDS = {
	C: EventType.CREATE,
	W: EventType.WRITE,
	D: EventType.REMOVE,
	R: EventType.RENAME,
	H: EventType.CHMOD,
};
const READY = "S";
const FAILED = "E";
const WITH_ENTRY = new Set([EventType.CREATE, EventType.WRITE, EventType.CHMOD]);
// What statfs calls NFS, CIFS, SMB, SMB2 and FUSE.
const NETWORK_TYPES = new Set([0x6969, 0xff534d42, 0x517b, 0xfe534d42, 0x65735546]);

function checkDirectory(directory) {
	let stat;
	try {
		stat = fs.statSync(raw(directory));
	} catch (error) {
		const why = describe("stat", toText(directory), error);
		throw error.code === "ENOENT" ? new RpcError("not_found", `path ${toText(directory)} not found: ${why}`) :
			new RpcError("internal", `error statting path ${toText(directory)}: ${why}`);
	}
	if (!stat.isDirectory())
		throw new RpcError("invalid_argument", `path ${toText(directory)} not a directory: %!w(<nil>)`);
}

function checkMount(directory) {
	if (fs.statfsSync && NETWORK_TYPES.has(fs.statfsSync(raw(directory)).type))
		throw new RpcError("invalid_argument", `cannot watch path on network filesystem: ${toText(directory)}`);
}

function eventEntry(file) {
	try {
		return entryInfo(file);
	} catch {
		return undefined;
	}
}

function eventFrom(record, directory, includeEntry) {
	const type = KINDS[record[0]];
	const name = record.slice(1);
	if (!isUtf8(name))
		throw new RpcError("unknown", "error sending filesystem event: internal: marshal message: string field contains invalid UTF-8");
	const entry = includeEntry && WITH_ENTRY.has(type) ? eventEntry(path.posix.join(directory, name)) : undefined;
	return { name: toText(name), type, ...(entry ? { entry } : {}) };
}

// Splits what the program says, one record ended by NUL after the other.
function splitRecords(stream, take) {
	let held = "";
	stream.on("data", (chunk) => {
		const records = (held + chunk.toString("latin1")).split("\0");
		held = records.pop();
		records.forEach(take);
	});
}

// Starts a watch. on: { ready(), event(event), failed(RpcError) }. Returns a function that stops it.
function startWatch(call, asked, on, has) {
	const request = {
		path: asked.path,
		recursive: has.recursiveWatch && asked.recursive,
		includeEntry: has.eventEntry && asked.includeEntry,
		allowNetworkMounts: has.networkMounts && asked.allowNetworkMounts,
	};
	const directory = resolveText(request.path, call.user);
	checkDirectory(directory);
	if (!request.allowNetworkMounts)
		checkMount(directory);
	if (!fs.existsSync(WATCH))
		throw new RpcError("internal", "the test server's program watch is not built: make test-servers");
	const child = spawn(WATCH, [raw(directory).toString(), request.recursive ? "recursive" : "flat"],
		{ stdio: ["ignore", "pipe", "inherit"] });
	const stop = () => child.kill("SIGKILL");
	const take = (record) => {
		if (record[0] === READY)
			on.ready();
		else if (record[0] === FAILED)
			on.failed(new RpcError("internal", `watcher error: ${toText(record.slice(1))}`));
		else
			on.event(eventFrom(record, directory, request.includeEntry));
	};
	splitRecords(child.stdout, (record) => {
		try {
			take(record);
		} catch (error) {
			stop();
			on.failed(error);
		}
	});
	return stop;
}

function watchDir(has, call, request, writer) {
	return new Promise((resolve, reject) => {
		let pings;
		const stop = startWatch(call, request, {
			ready: () => {
				pings = keepalive(call.headers, () => writer.send({ keepalive: {} }));
				writer.send({ start: {} });
			},
			event: (event) => {
				pings.restart();
				writer.send({ filesystem: event });
			},
			failed: reject,
		}, has);
		call.signal.addEventListener("abort", () => {
			stop();
			pings?.stop();
			call.signal.reason === "deadline" ?
				reject(new RpcError("deadline_exceeded", "context deadline exceeded")) : resolve();
		});
	});
}

// ---- The polling twin ------------------------------------------------------------------------------

const watchers = new Map();

function createWatcher(has, call, request) {
	return new Promise((resolve, reject) => {
		const watcherId = `w${randomBytes(10).toString("hex")}`;
		const watcher = { events: [], error: undefined };
		watcher.stop = startWatch(call, request, {
			ready: () => {
				watchers.set(watcherId, watcher);
				resolve({ watcherId });
			},
			event: (event) => watcher.events.push(event),
			failed: (error) => {
				watcher.error = error;
				reject(error);
			},
		}, has);
	});
}

function findWatcher(id = "") {
	const watcher = watchers.get(id);
	if (!watcher)
		throw new RpcError("not_found", `watcher with id ${id} not found`);
	return watcher;
}

function getWatcherEvents(call, { watcherId }) {
	const watcher = findWatcher(watcherId);
	if (watcher.error)
		throw watcher.error;
	return { events: watcher.events.splice(0) };
}

function removeWatcher(call, { watcherId }) {
	findWatcher(watcherId).stop();
	watchers.delete(watcherId);
	return {};
}

export const watchHandlers = ({ has }) => ({
	"filesystem.Filesystem/WatchDir": (...call) => watchDir(has, ...call),
	"filesystem.Filesystem/CreateWatcher": (...call) => createWatcher(has, ...call),
	"filesystem.Filesystem/GetWatcherEvents": getWatcherEvents,
	"filesystem.Filesystem/RemoveWatcher": removeWatcher,
});
