// What sandboxes are made from: those of the command line, and those that are built of an image.
import { randomUUID } from "node:crypto";

import { sendEmpty, sendJson } from "../lib/http.mjs";
import { ApiError } from "./api_error.mjs";
import { checkMembers, readObject } from "./control_input.mjs";

const TEAM = "team-slug";
const withTag = (name) => (name.includes(":") ? name : `${name}:default`);

export class Templates {
	constructor(names) {
		this.ready = names;
		this.built = [];
		this.snapshots = [];
		this.snapshotsMade = 0;
	}

	isReady(name) {
		return this.snapshot(name) !== undefined || this.ready.includes(name) || this.built.some(({ id, builds }) => id === name && builds.some(({ status }) => status === "ready"));
	}

	// ---- Snapshots: templates of a sandbox ----

	// A second one of a name takes its place.
	addSnapshot(sandbox, name, folder) {
		const id = name === undefined ? `s${this.snapshotsMade++}x:default` : `${TEAM}/${withTag(name)}`;
		const snapshot = { id, sandbox: sandbox.id, names: name === undefined ? [] : [id], folder };
		this.snapshots = [...this.snapshots.filter((one) => one.id !== id), snapshot];
		return snapshot;
	}

	// By its ID, or without team or tag.
	snapshot(name) {
		return this.snapshots.find(({ id }) => [id, id.replace(/:default$/, ""), id.replace(`${TEAM}/`, "")].includes(name));
	}

	removeSnapshot(name) {
		const found = this.snapshot(name);
		this.snapshots = this.snapshots.filter((one) => one !== found);
		return found !== undefined;
	}

	find(id) {
		const found = this.built.find((one) => one.id === id);
		if (!found)
			throw new ApiError(404, `template '${id}' not found`);
		return found;
	}

	findBuild(id, build) {
		const found = this.find(id).builds.find((one) => one.id === build);
		if (!found)
			throw new ApiError(404, `template build '${build}' not found`);
		return found;
	}
}

async function request({ templates }, req, res) {
	const { name } = checkMembers(await readObject(req), { name: "string", tags: "list" });
	if (!/^[a-z0-9_-]+$/.test(name ?? ""))
		throw new ApiError(400, `Invalid template name '${name}'`);
	const build = { id: randomUUID(), status: "waiting", lines: [] };
	let template = templates.built.find((one) => one.name === name);
	if (!template)
		templates.built.push(template = { id: `t${templates.built.length}x`, name, builds: [] });
	template.builds.unshift(build);
	sendJson(res, 202, { templateID: template.id, buildID: build.id, names: [name], aliases: [name], tags: [], public: false });
}

async function begin({ templates }, req, res, id, query, buildId) {
	const wanted = checkMembers(await readObject(req), { fromImage: "string", steps: "list", force: "boolean" });
	if (!wanted.fromImage)
		throw new ApiError(400, "Either fromImage or fromTemplate must be specified");
	const build = templates.findBuild(id, buildId);
	Object.assign(build, { status: "building", image: wanted.fromImage, lines: [`FROM ${wanted.fromImage}`] });
	sendEmpty(res, 202, { "Content-Length": 0 });
}

// It is built while it is asked for: it is there, or has failed, the second time.
function proceed(build) {
	if (build.status !== "building")
		return;
	const isThere = !build.image.startsWith("no-such");
	build.status = isThere ? "ready" : "error";
	build.lines.push(isThere ? "built" : "pull access denied");
}

function status({ templates }, req, res, id, query, buildId) {
	const build = templates.findBuild(id, buildId);
	const fresh = build.lines.slice(Number(query.get("logsOffset") ?? 0));
	const logEntries = fresh.map((message) => ({ message, level: "info", timestamp: new Date().toISOString() }));
	const reason = build.status === "error" ? { reason: { message: "the image could not be pulled" } } : {};
	sendJson(res, 200, { templateID: id, buildID: buildId, status: build.status, logEntries, logs: [], ...reason });
	proceed(build);
}

function alias({ templates }, req, res, name) {
	const template = templates.built.find((one) => one.name === name);
	if (!template)
		throw new ApiError(404, `template alias '${name}' not found`);
	sendJson(res, 200, { templateID: template.id, public: false });
}

function look({ templates }, req, res, id) {
	const { name, builds } = templates.find(id);
	const shown = builds.map((one) => ({ buildID: one.id, status: one.status, cpuCount: 2, memoryMB: 512 }));
	sendJson(res, 200, { templateID: id, names: [name], aliases: [name], public: false, builds: shown });
}

// Of snapshots alone here.
function remove({ templates }, req, res, id) {
	if (!templates.removeSnapshot(id))
		throw new ApiError(404, `template '${id}' not found`);
	sendEmpty(res, 204);
}

export const TEMPLATE_ROUTES = {
	"DELETE /templates/{id}": remove,
	"POST /v3/templates": request,
	"POST /v2/templates/{id}/builds/{build}": begin,
	"GET /templates/aliases/{id}": alias,
	"GET /templates/{id}": look,
	"GET /templates/{id}/builds/{build}/status": status,
};

export const templatePattern = (pathname) => pathname
	.replace(/\/builds\/[^/]+/, "/builds/{build}")
	.replace(/^((?:\/v2)?\/templates\/(?:aliases\/)?)(?!aliases\/)[^/]+/, "$1{id}");

// What stands for {id} and {build}.
export const templateIds = (pathname) => [
	decodeURIComponent(/\/templates\/(?:aliases\/)?([^/]+)/.exec(pathname)?.[1] ?? ""),
	/\/builds\/([^/]+)/.exec(pathname)?.[1],
];
