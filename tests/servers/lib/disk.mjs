// What a sandbox's files lie on. LAYERS in the environment says it, for all sandboxes of a server that
// is root's; else they lie in an ordinary directory.
//
//	overlay[,OPTION...]    the layers of a container: what is there at first is of the lower one.
//	                       OPTION: `apart`, the upper layer is another file system than the lower;
//	                       others are overlayfs's own (index=on, xino=on)
//	fuse-overlayfs         the same by the program of that name, as in containers without root
//	tmpfs, noexec          a file system in memory; one on which no file may be executed
//	full[,SIZE]            one of SIZE bytes (64M), which fills up
//	bind                   an ordinary directory whose homes are mounts of their own
//	at,DIRECTORY           one whose homes are all that directory
//
// ro, no-home, busybox-only and no-shell say what the system lacks (system.mjs); its files lie in an
// ordinary directory.
//
// IMAGE, too: a directory whose contents are in every home at first.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { KINDS_OF_SYSTEM } from "./system.mjs";

const [kind, ...options] = (process.env.LAYERS ?? "").split(",");
const mayMount = process.geteuid() === 0;

function mount(...args) {
	execFileSync("mount", args, { stdio: ["ignore", "ignore", "inherit"] });
}

// Beside the sandboxes, under a name that none of them has.
function layer(directory, name) {
	const where = path.join(path.dirname(directory), ".layers", path.basename(directory), name);
	fs.mkdirSync(where, { recursive: true });
	return where;
}

function mountLayers(directory) {
	const lower = layer(directory, "lower");
	const above = layer(directory, "above");
	if (options.includes("apart"))
		mount("-t", "tmpfs", "none", above);
	for (const name of ["upper", "work"])
		fs.mkdirSync(path.join(above, name));
	const layers = [
		`lowerdir=${lower}`, `upperdir=${above}/upper`, `workdir=${above}/work`,
		...options.filter((option) => option !== "apart"),
	].join(",");
	if (kind === "fuse-overlayfs")
		execFileSync("fuse-overlayfs", ["-o", `allow_other,${layers}`, directory], { stdio: "ignore" });
	else
		mount("-t", "overlay", "-o", layers, "overlay", directory);
}

const homesIn = (directory) => [
	...fs.readdirSync(path.join(directory, "home")).map((name) => path.join(directory, "home", name)),
	path.join(directory, "root"),
];

function bindHomes(directory, shown) {
	for (const home of homesIn(directory))
		mount("--bind", shown ?? home, home);
}

const LAYERS = { first: (directory) => layer(directory, "lower"), after: mountLayers };
const KINDS = {
	"overlay": LAYERS,
	"fuse-overlayfs": LAYERS,
	"tmpfs": { before: (directory) => mount("-t", "tmpfs", "none", directory) },
	"full": { before: (directory) => mount("-t", "tmpfs", "-o", `size=${options[0] ?? "64M"}`, "none", directory) },
	"noexec": { before: (directory) => mount("-t", "tmpfs", "-o", "noexec", "none", directory) },
	"bind": { after: (directory) => bindHomes(directory) },
	"at": { after: (directory) => bindHomes(directory, options[0]) },
};

function copyImage(directory) {
	const { IMAGE } = process.env;
	for (const home of IMAGE ? homesIn(directory) : [])
		execFileSync("cp", ["-a", `${IMAGE}/.`, home]);
}

// make: fills a directory with what a sandbox has at first.
export function makeDisk(directory, make) {
	const { first, before, after } = (mayMount && KINDS[kind]) || {};
	if (kind && mayMount && !KINDS[kind] && !KINDS_OF_SYSTEM.includes(kind))
		throw new Error(`LAYERS=${kind}: use ${[...Object.keys(KINDS), ...KINDS_OF_SYSTEM].join(", ")}`);
	fs.mkdirSync(directory, { recursive: true });
	before?.(directory);
	const place = first?.(directory) ?? directory;
	make(place);
	copyImage(place);
	after?.(directory);
}
