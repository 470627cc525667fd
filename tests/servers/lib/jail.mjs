// A sandbox on this machine: a daemon and all it starts in namespaces of their own (bubblewrap), over real directories.
//
// Inside, / is the host's read-only, but for /home, /root and /tmp, which are DIRECTORY/home, root and tmp; /run and
// /var/tmp are empty. The sandbox has one ordinary user, of a name that the vendor chooses, whose home is below /home. As
// root the daemon begins as root and can act as that user; as an ordinary user all is that user's.
//
// SANDBOX_JAIL names another program that makes a sandbox, of what it has; it is run as bubblewrap is, with the arguments
// of jailArguments().
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";

import { makeDisk } from "./disk.mjs";
import { homeShown, lackingArguments } from "./system.mjs";

export const SANDBOX_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const USER_ID = 1000;
const SHOWN = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "sys", "nix"];
// Where the daemon finds its program, and `io`.
export const DAEMON_HOME = "/run/daemon";

const isRoot = process.geteuid() === 0;
export const userId = isRoot ? USER_ID : process.geteuid();
export const groupId = isRoot ? USER_ID : process.getegid();

// ---- What the sandbox sees -------------------------------------------------------------------------

// Of /var no more than what is in it, and not /var/tmp: a mount that the jail showed there would not end on the host before
// the jail does.
function shownNames() {
	const inVar = fs.readdirSync("/var").filter((name) => name !== "tmp");
	return [...SHOWN, ...inVar.map((name) => `var/${name}`)];
}

function showHost() {
	const args = ["--tmpfs", "/", "--perms", "0755", "--dir", "/var"];
	for (const name of shownNames()) {
		const stat = fs.lstatSync(`/${name}`, { throwIfNoEntry: false });
		if (stat?.isSymbolicLink())
			args.push("--symlink", fs.readlinkSync(`/${name}`), `/${name}`);
		else if (stat)
			args.push("--ro-bind", `/${name}`, `/${name}`);
	}
	return args;
}

// A table of accounts as on the host, without people, and with the sandbox's user.
function accounts(file, id, user, line) {
	const rows = fs.readFileSync(file, "utf8").split("\n").filter(Boolean);
	const system = rows.filter((row) => {
		const [name, , number] = row.split(":");
		return Number(number) < USER_ID && Number(number) !== id && name !== user;
	});
	return [...system, line, ""].map((row) => row.replace(":/root:", `:${homeShown("/root")}:`)).join("\n");
}

function writeAccounts(folder, user) {
	fs.writeFileSync(path.join(folder, "passwd"),
		accounts("/etc/passwd", userId, user, `${user}:x:${userId}:${groupId}::${homeShown(`/home/${user}`)}:/bin/bash`));
	fs.writeFileSync(path.join(folder, "group"), accounts("/etc/group", groupId, user, `${user}:x:${groupId}:`));
}

function makeDirectory(where, mode, owner) {
	fs.mkdirSync(where, { recursive: true });
	fs.chmodSync(where, mode);
	if (isRoot)
		fs.chownSync(where, owner, owner);
}

export function makeHome(directory, user) {
	makeDisk(directory, (place) => {
		makeDirectory(path.join(place, "home"), 0o755, 0);
		makeDirectory(path.join(place, "home", user), 0o755, userId);
		makeDirectory(path.join(place, "root"), 0o700, 0);
		makeDirectory(path.join(place, "tmp"), 0o1777, 0);
	});
}

function bwrapArguments({ directory, io, hostname, daemon, programs }) {
	const own = ["home", "root", "tmp"].flatMap((name) => ["--bind", path.join(directory, name), `/${name}`]);
	return [
		...showHost(),
		"--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--dir", "/mnt", "--perms", "1777", "--tmpfs", "/var/tmp",
		...own,
		"--ro-bind", path.join(io, "passwd"), "/etc/passwd", "--ro-bind", path.join(io, "group"), "/etc/group",
		"--perms", "0755", "--tmpfs", DAEMON_HOME,
		"--bind", io, `${DAEMON_HOME}/io`,
		"--ro-bind", process.execPath, `${DAEMON_HOME}/node`,
		"--ro-bind", daemon.source, `${DAEMON_HOME}/source`,
		"--ro-bind-try", programs, `${DAEMON_HOME}/programs`,
		...lackingArguments({ io }),
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", hostname,
		"--die-with-parent", "--new-session", "--chdir", "/", "--info-fd", "3",
	];
}

// Where the daemon's things are; main: what its program node is to run.
const jailArguments = ({ io, hostname, daemon, programs }) =>
	[io, hostname, process.execPath, daemon.source, programs, daemon.main];

// ---- Running it ------------------------------------------------------------------------------------

async function firstPid(child) {
	let text = "";
	for await (const chunk of child.stdio[3])
		text += chunk;
	return JSON.parse(text)["child-pid"];
}

function failed(child) {
	return once(child, "exit").then(([code]) => {
		throw new Error(`the sandbox's daemon ended with ${code} before it served`);
	});
}

// directory: with home, root and tmp. io: a short path, for the socket and what the daemon writes. user: the ordinary
// user's name. daemon: { source: a folder of modules, main: one of them, config: for its standard input }. Resolves when it serves; then
// { socket, pid: of the first process inside, as seen from here, kill() }.
export async function startJail(options) {
	const { io, user, daemon } = options;
	fs.mkdirSync(io, { recursive: true, mode: 0o700 });
	fs.rmSync(path.join(io, "socket"), { force: true });
	writeAccounts(io, user);
	const argv = [...bwrapArguments(options), `${DAEMON_HOME}/node`, `${DAEMON_HOME}/source/${daemon.main}`];
	const { SANDBOX_JAIL: jail } = process.env;
	const child = spawn(jail ?? "bwrap", jail ? jailArguments(options) : argv, {
		env: { PATH: SANDBOX_PATH },
		stdio: ["pipe", "pipe", "inherit", "pipe"],
	});
	child.stdin.on("error", () => {});
	child.stdin.write(`${JSON.stringify(daemon.config)}\n`);
	const gone = once(child, "exit");
	const [pid] = await Promise.race([Promise.all([firstPid(child), once(child.stdout, "data")]), failed(child)]);
	const kill = () => {
		child.kill("SIGKILL");
		return gone;
	};
	return { socket: path.join(io, "socket"), pid, kill };
}

// What is in the way of namespaces on this machine, or undefined.
export function jailComplaint() {
	const { error, status, stderr } = spawnSync("bwrap",
		["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "true"], { encoding: "utf8" });
	if (error)
		return `bwrap: ${error.message}`;
	return status === 0 ? undefined : stderr.trim() || `bwrap ended with ${status}`;
}
