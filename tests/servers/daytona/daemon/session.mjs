// /process/session: shells that live on, and the commands they were given. No streams over WebSocket here.
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

import { sendEmpty, sendText } from "../../lib/http.mjs";
import { readRequest, sendGoJson } from "./json.mjs";
import { Refused } from "./refused.mjs";
import { startShell } from "./shell.mjs";

const POLL_MS = 50;
const MARKS = { stdout: "\u0001\u0001\u0001", stderr: "\u0002\u0002\u0002" };
const sessions = new Map();

// The daemon has no status for it.
function unknownSession() {
	const error = new Refused(500, "failed to execute command: not found: session not found");
	error.send = (req, res) => sendGoJson(res, 500,
		{ statusCode: 500, message: error.message, timestamp: "0001-01-01T00:00:00Z", path: "" });
	return error;
}

function find(id) {
	const session = sessions.get(id);
	if (!session)
		throw new Refused(404, "session not found");
	return session;
}

function findCommand(session, id) {
	const command = session.commands.get(id);
	if (!command)
		throw new Refused(404, "command not found");
	return command;
}

const commandView = ({ id, text, exitCode }) => ({ id, command: text, ...(exitCode === undefined ? {} : { exitCode }) });
const sessionView = (session) => ({ sessionId: session.id, commands: [...session.commands.values()].map(commandView) });

// ---- Sessions --------------------------------------------------------------------------------------

export async function createSession(context, req, res) {
	const { sessionId } = await readRequest(req, { sessionId: "string" });
	if (!sessionId)
		throw new Refused(400, "invalid request body: sessionId is required");
	if (sessions.has(sessionId))
		throw new Refused(409, "session already exists");
	const shell = await startShell(context.shell, { cwd: context.workDir, env: process.env });
	[shell.stdin, shell.stdout, shell.stderr].forEach((stream) => stream.on("error", () => {}).resume?.());
	const folder = fs.mkdtempSync("/tmp/.session-");
	sessions.set(sessionId, { id: sessionId, shell, folder, commands: new Map() });
	sendEmpty(res, 201, { "Content-Length": 0 });
}

export function listSessions(context, req, res) {
	sendGoJson(res, 200, [...sessions.values()].map(sessionView));
}

export function getSession(context, req, res, query, [id]) {
	sendGoJson(res, 200, sessionView(find(id)));
}

export function deleteSession(context, req, res, query, [id]) {
	const { shell, folder } = find(id);
	sessions.delete(id);
	try {
		process.kill(-shell.child.pid, "SIGKILL");
	} catch {
		// It ended by itself.
	}
	fs.rmSync(folder, { recursive: true, force: true });
	sendEmpty(res, 204);
}

// ---- Commands --------------------------------------------------------------------------------------

function begin(session, text) {
	const id = randomUUID();
	const files = path.join(session.folder, id);
	const command = { id, text, files };
	session.commands.set(id, command);
	session.shell.stdin.write(`{ ${text}\n} >${files}.out 2>${files}.err </dev/null; echo $? >${files}.part; mv ${files}.part ${files}.code\n`);
	return command;
}

const readOr = (file, otherwise) => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : otherwise);

// The daemon notices an end by looking.
async function ended(command) {
	while (!fs.existsSync(`${command.files}.code`))
		await new Promise((resolve) => setTimeout(resolve, POLL_MS));
	command.exitCode = Number(fs.readFileSync(`${command.files}.code`, "utf8"));
}

const marked = (mark, text) => text.replace(/[^\n]*\n|[^\n]+$/g, (line) => mark + line);

// Clients that do not say who they are get both streams as one.
function outputs({ files }, headers) {
	const stdout = readOr(`${files}.out`, "");
	const stderr = readOr(`${files}.err`, "");
	return headers["x-daytona-sdk-version"] === undefined ? { output: stdout + stderr, stdout: null, stderr: null } :
		{ output: marked(MARKS.stdout, stdout) + marked(MARKS.stderr, stderr), stdout, stderr };
}

export async function executeInSession(context, req, res, query, [id]) {
	const { command: text, runAsync, async: old } = await readRequest(req,
		{ command: "string", runAsync: "boolean", async: "boolean" });
	if (!text?.trim())
		throw new Refused(400, "command cannot be empty");
	if (!sessions.has(id))
		throw unknownSession();
	const command = begin(sessions.get(id), text);
	const end = ended(command);
	if (runAsync || old)
		return sendGoJson(res, 202, { cmdId: command.id, output: null, stdout: null, stderr: null, exitCode: null });
	await end;
	return sendGoJson(res, 200, { cmdId: command.id, ...outputs(command, req.headers), exitCode: command.exitCode });
}

export function getCommand(context, req, res, query, [id, commandId]) {
	sendGoJson(res, 200, commandView(findCommand(find(id), commandId)));
}

export function getLogs(context, req, res, query, [id, commandId]) {
	const told = outputs(findCommand(find(id), commandId), req.headers);
	if (told.stdout === null)
		return sendText(res, 200, told.output);
	return sendGoJson(res, 200, told);
}
