// What a sandbox's system lacks, where LAYERS in the environment says so (disk.mjs has its other words).
//
//	ro              a root that is read-only: only the homes can be written
//	no-home         users whose home does not exist; their files are where they are else
//	busybox-only    no program but BusyBox's
//	no-shell        the same, without its shell
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const PROGRAM_DIRECTORIES = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
const SHELLS = ["sh", "ash"];
const NO_HOME = "/nonexistent";

const [kind] = (process.env.LAYERS ?? "").split(",");

function coverPrograms() {
	const args = [];
	for (const name of PROGRAM_DIRECTORIES)
		if (fs.lstatSync(name, { throwIfNoEntry: false })?.isDirectory())
			args.push("--tmpfs", name);
	return args;
}

// Below `io`, which belongs to the sandbox.
function busyboxAlone({ io }, left) {
	const programs = path.join(io, "busybox");
	fs.rmSync(programs, { recursive: true, force: true });
	fs.mkdirSync(programs, { mode: 0o755 });
	const file = execFileSync("sh", ["-c", "command -v busybox"], { encoding: "utf8" }).trim();
	fs.copyFileSync(file, path.join(programs, "busybox"));
	for (const name of execFileSync(file, ["--list"], { encoding: "utf8" }).split("\n").filter(Boolean))
		if (name !== "busybox" && !left.includes(name))
			fs.symlinkSync("busybox", path.join(programs, name));
	return [...coverPrograms(), "--ro-bind", programs, fs.realpathSync("/bin")];
}

const LACKS = {
	"ro": () => ["/tmp", "/var/tmp", "/dev", "/run", "/"].flatMap((name) => ["--remount-ro", name]),
	"no-home": () => [],
	"busybox-only": (options) => busyboxAlone(options, []),
	"no-shell": (options) => busyboxAlone(options, SHELLS),
};

export const KINDS_OF_SYSTEM = Object.keys(LACKS);

// What follows the other arguments of bubblewrap. io: a directory of the sandbox's own.
export const lackingArguments = (options) => LACKS[kind]?.(options) ?? [];

export const homeShown = (home) => kind === "no-home" ? NO_HOME : home;
