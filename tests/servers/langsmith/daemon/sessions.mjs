// /execute/ws: commands that outlive the connections to them.
import { randomUUID } from "node:crypto";

import { CloseCode, WebSocket } from "../../lib/websocket.mjs";
import { Failure } from "../failure.mjs";
import { checkMembers } from "../input.mjs";
import { Command } from "./command.mjs";
import { checkExecute } from "./execute.mjs";

// What is kept of each stream for those who come back.
const KEPT = 4 << 20;
const IDLE_S = 300;
const KEEP_S = 600;
const EXECUTE = {
	timeout_seconds: "integer", idle_timeout_seconds: "integer", kill_on_disconnect: "boolean", ttl_seconds: "integer",
	command_id: "string", close_stdin: "boolean", pty: "boolean",
};
const RECONNECT = { command_id: "string!", stdout_offset: "integer", stderr_offset: "integer" };

const sessions = new Map();
const expired = new Set();
const connections = new Set();

class SessionError extends Error {
	constructor(type, message) {
		super(message);
		this.type = type;
	}
}

// ---- Output that is kept ---------------------------------------------------------------------------

// Offsets count the bytes of the text as UTF-8.
class Kept {
	constructor() {
		this.start = 0;
		this.bytes = Buffer.alloc(0);
	}

	get end() {
		return this.start + this.bytes.length;
	}

	add(text) {
		const all = Buffer.concat([this.bytes, Buffer.from(text)]);
		const over = Math.max(all.length - KEPT, 0);
		this.bytes = all.subarray(over);
		this.start += over;
	}

	from(offset) {
		const at = Math.min(Math.max(offset, this.start), this.end);
		return { data: this.bytes.subarray(at - this.start).toString(), offset: at };
	}
}

// ---- A session -------------------------------------------------------------------------------------

class Session {
	constructor(id, wanted) {
		Object.assign(this, { id, wanted, clients: new Set() });
		this.kept = { stdout: new Kept(), stderr: new Kept() };
	}

	async start(sandbox) {
		const { close_stdin: isClosed, timeout_seconds: timeout = 60, pty = false } = this.wanted;
		this.command = await Command.start(sandbox, { ...this.wanted, hasInput: !isClosed || pty }, {
			text: (stream, text) => this.say(stream, text),
			ended: (code) => this.end({ type: "exit", exit_code: code }),
		});
		if (timeout > 0)
			this.deadline = setTimeout(() => this.expire(timeout), timeout * 1000);
	}

	say(stream, text) {
		if (!text || this.last)
			return;
		const offset = this.kept[stream].end;
		this.kept[stream].add(text);
		this.tell({ type: stream, data: text, offset });
	}

	tell(message) {
		this.clients.forEach((client) => client.send(JSON.stringify(message)));
	}

	end(message) {
		clearTimeout(this.deadline);
		clearTimeout(this.idle);
		if (this.last)
			return;
		this.last = message;
		this.tell(message);
		setTimeout(() => (sessions.delete(this.id), expired.add(this.id)), (this.wanted.ttl_seconds ?? KEEP_S) * 1000).unref();
	}

	expire(timeout) {
		this.end({ type: "error", error_type: "CommandTimeout", error: `Command timed out after ${timeout}s` });
		this.command.kill();
	}

	attach(client, offsets) {
		clearTimeout(this.idle);
		client.send(JSON.stringify({ type: "started", command_id: this.id, pid: this.command.pid }));
		for (const stream of ["stdout", "stderr"]) {
			const { data, offset } = this.kept[stream].from(offsets[stream]);
			if (data)
				client.send(JSON.stringify({ type: stream, data, offset }));
		}
		this.clients.add(client);
		if (this.last)
			client.send(JSON.stringify(this.last));
	}

	detach(client) {
		if (!this.clients.delete(client) || this.clients.size || this.last)
			return;
		const { kill_on_disconnect: isKilled, idle_timeout_seconds: idle = IDLE_S } = this.wanted;
		if (isKilled)
			this.command.kill();
		else if (idle >= 0)
			this.idle = setTimeout(() => this.command.kill(), idle * 1000);
	}
}

// The same id is the same command, however often it is sent.
async function execute(sandbox, message) {
	const wanted = { ...checkExecute(message), ...checkMembers(message, EXECUTE) };
	const id = wanted.command_id ?? randomUUID();
	if (!sessions.has(id)) {
		const session = new Session(id, wanted);
		sessions.set(id, session);
		session.started = session.start(sandbox);
		session.started.catch(() => sessions.delete(id));
	}
	await sessions.get(id).started;
	return { session: sessions.get(id), offsets: { stdout: 0, stderr: 0 } };
}

async function reconnect(message) {
	const { command_id: id, stdout_offset: stdout = 0, stderr_offset: stderr = 0 } = checkMembers(message, RECONNECT);
	if (expired.has(id))
		throw new SessionError("SessionExpired", `session expired: ${id}`);
	const session = sessions.get(id);
	if (!session)
		throw new SessionError("CommandNotFound", `command not found: ${id}`);
	await session.started;
	return { session, offsets: { stdout, stderr } };
}

// ---- A connection ----------------------------------------------------------------------------------

function serveInput(session, message) {
	const { command } = session;
	if (message.type === "input")
		command.write(checkMembers(message, { data: "string!" }).data);
	else if (message.type === "close_stdin" && !session.wanted.pty)
		command.closeInput();
	else if (message.type === "kill")
		command.kill();
	else if (message.type !== "close_stdin")
		throw new SessionError("CommandError", `unknown message type: ${message.type}`);
}

function parse(text) {
	try {
		return JSON.parse(text);
	} catch (error) {
		throw new SessionError("CommandError", `invalid message: ${error.message}`);
	}
}

function sayFailure(client, error) {
	const detail = error instanceof Failure ? error.body.detail : undefined;
	const message = detail?.message ?? detail?.[0]?.msg ?? error.message;
	client.send(JSON.stringify({ type: "error", error_type: error.type ?? "CommandError", error: message }));
	client.close(CloseCode.NORMAL);
}

class Connection {
	constructor(sandbox, req, socket, head) {
		this.sandbox = sandbox;
		this.turn = Promise.resolve();
		this.client = new WebSocket(req, socket, head, {
			text: (text) => this.next(() => this.serve(parse(text))),
			closed: () => (connections.delete(this.client), this.next(() => this.session?.detach(this.client))),
		});
		connections.add(this.client);
	}

	// One message after the other.
	next(act) {
		this.turn = this.turn.then(act).catch((error) => sayFailure(this.client, error));
	}

	async serve(message) {
		if (this.session)
			return serveInput(this.session, message);
		if (message.type !== "execute" && message.type !== "reconnect")
			throw new SessionError("CommandError", `unexpected first message: ${message.type}`);
		const { session, offsets } = await (message.type === "execute" ? execute(this.sandbox, message) : reconnect(message));
		this.session = session;
		return session.attach(this.client, offsets);
	}
}

export function openSession(sandbox, req, socket, head) {
	return new Connection(sandbox, req, socket, head);
}

// As when the daemon is replaced: commands go on, those who listen are sent away.
export function sendAway() {
	connections.forEach((client) => client.close(CloseCode.GOING_AWAY, "server reload"));
}
