// The workspace's one environment: its apps, images and secrets.
import { randomBytes } from "node:crypto";

import { GrpcError, Status } from "../lib/grpc.mjs";
import { AppState, ObjectCreation, Result } from "./control_messages.mjs";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_LENGTH = 22;
const ENVIRONMENT = "main";
const BUILDER_VERSION = "2025.06";
// An image that nobody has: building it fails.
const UNKNOWN_IMAGE = /does-not-exist/;
const ENTRY = "1-0";

export const makeId = (prefix, length = ID_LENGTH) =>
	`${prefix}-${[...randomBytes(length)].map((byte) => ALPHABET[byte % ALPHABET.length]).join("")}`;

export class Catalog {
	constructor() {
		this.apps = new Map();
		// Names: a stopped app stays in the list of apps.
		this.stopped = new Set();
		this.images = new Map();
		this.secrets = new Map();
	}

	checkEnvironment(name) {
		if (name && name !== ENVIRONMENT)
			throw new GrpcError(Status.NOT_FOUND, `Environment '${name}' not found`);
	}

	app({ appName, environmentName, objectCreationType = ObjectCreation.LOOKUP }) {
		this.checkEnvironment(environmentName);
		if (!/^[A-Za-z0-9._-]{1,63}$/.test(appName ?? ""))
			throw new GrpcError(Status.INVALID_ARGUMENT, `Invalid App name: '${appName ?? ""}'`);
		if (!this.apps.has(appName) && objectCreationType !== ObjectCreation.CREATE_IF_MISSING)
			throw new GrpcError(Status.NOT_FOUND, `App '${appName}' not found in environment '${ENVIRONMENT}'`);
		if (!this.apps.has(appName))
			this.apps.set(appName, makeId("ap"));
		return { appId: this.apps.get(appName) };
	}

	list({ environmentName }) {
		this.checkEnvironment(environmentName);
		return {
			apps: [...this.apps].map(([name, appId]) =>
				({ name, appId, state: this.stopped.has(name) ? AppState.STOPPED : AppState.DEPLOYED })),
		};
	}

	checkApp(id) {
		if (![...this.apps.values()].includes(id))
			throw new GrpcError(Status.NOT_FOUND, `App '${id ?? ""}' not found`);
	}

	environment({ deploymentName }) {
		this.checkEnvironment(deploymentName);
		return { environmentId: "en-main", metadata: { name: ENVIRONMENT, settings: { imageBuilderVersion: BUILDER_VERSION } } };
	}

	// A new one has no result yet; whoever joins its build hears how it ends.
	image({ image, appId, builderVersion }) {
		this.checkApp(appId);
		const commands = image?.dockerfileCommands ?? [];
		if (!/^FROM \S+$/.test(commands[0] ?? ""))
			throw new GrpcError(Status.INVALID_ARGUMENT, "an image's first command is FROM");
		if (!builderVersion)
			throw new GrpcError(Status.INVALID_ARGUMENT, "no builder_version");
		const key = commands.join("\n");
		const known = [...this.images.entries()].find(([, one]) => one.key === key);
		if (known)
			return { imageId: known[0], result: known[1].result };
		const imageId = makeId("im");
		this.images.set(imageId, { key, result: undefined });
		return { imageId, result: undefined };
	}

	findImage(id) {
		const image = this.images.get(id);
		if (!image)
			throw new GrpcError(Status.NOT_FOUND, `Image '${id ?? ""}' not found`);
		return image;
	}

	// First the log, then, on the same stream or on one that says what it has seen, the result.
	* build({ imageId, lastEntryId }) {
		const image = this.findImage(imageId);
		if (!lastEntryId)
			yield { taskLogs: [{ data: `Building image ${imageId}\n` }], entryId: ENTRY };
		image.result = UNKNOWN_IMAGE.test(image.key) ?
			{ status: Result.FAILURE, exception: "manifest unknown" } : { status: Result.SUCCESS };
		yield { result: image.result, eof: true };
	}

	checkBuilt(id) {
		if (this.findImage(id).result?.status !== Result.SUCCESS)
			throw new GrpcError(Status.FAILED_PRECONDITION, `Image '${id}' is not built`);
	}

	secret({ objectCreationType, envDict = {} }) {
		if (objectCreationType !== ObjectCreation.EPHEMERAL)
			throw new GrpcError(Status.NOT_FOUND, "Secret not found");
		const secretId = makeId("st");
		this.secrets.set(secretId, envDict);
		return { secretId };
	}

	secretEnv(id) {
		if (!this.secrets.has(id))
			throw new GrpcError(Status.NOT_FOUND, `Secret '${id}' not found`);
		return this.secrets.get(id);
	}
}
