// The control plane: modal.client.ModalClient as far as sandboxes are concerned.
import { GrpcError, Status } from "../lib/grpc.mjs";
import { checkDefinition, checkEnv } from "./create_input.mjs";
import { asHandlers, Result } from "./control_messages.mjs";
import { makeToken } from "./jwt.mjs";


const seconds = (ms) => (ms === undefined ? 0 : ms / 1000);
const isV1Id = (id) => /^sb-[0-9A-Za-z]{22}$/.test(id);

// ---- Finding -----------------------------------------------------------------------------------------

// Each version's calls know only its own sandboxes.
function find(context, { sandboxId = "" }, isV2) {
	const sandbox = context.fleet.find(sandboxId);
	if (!sandbox || isV1Id(sandboxId) === isV2)
		throw new GrpcError(Status.NOT_FOUND, `Sandbox with ID '${sandboxId}' not found`);
	return sandbox;
}

export function accessTo(context, sandbox) {
	const claims = { use: "router", sandbox: sandbox.id, task: sandbox.taskId, generation: sandbox.generation };
	const jwt = makeToken(claims, context.accessSeconds);
	sandbox.tokens.push(jwt);
	return { jwt, url: context.routerUrl, workerIpv4Address: context.routerAddress };
}

function checkedAccess(context, sandbox, isRightKind) {
	if (!sandbox)
		throw new GrpcError(Status.NOT_FOUND, "Task not found");
	if (!isRightKind)
		throw new GrpcError(Status.FAILED_PRECONDITION, "Command router access is not enabled for this task");
	if (!sandbox.isRunning)
		throw new GrpcError(Status.NOT_FOUND, `Sandbox '${sandbox.id}' is not running`);
	return accessTo(context, sandbox);
}

// ---- Creating ----------------------------------------------------------------------------------------

function makeSandbox(context, { appId, definition, tags = [] }, isV2, env) {
	context.catalog.checkApp(appId);
	const checked = checkDefinition(definition, tags, isV2);
	context.catalog.checkBuilt(checked.imageId);
	return context.fleet.make({ isV2, appId, definition: checked, tags, env: checkEnv(env) });
}

const failedToStart = (sandbox) => (error) =>
	sandbox.finish({ status: Result.INIT_FAILURE, exception: error.message });

async function createV2(context, request) {
	const sources = request.secretSources ?? [];
	const env = Object.assign({}, ...sources.map(({ secretId, env: own }) =>
		(secretId ? context.catalog.secretEnv(secretId) : own?.contents ?? {})));
	const sandbox = makeSandbox(context, request, true, env);
	await sandbox.start().catch(failedToStart(sandbox));
	return {
		sandboxId: sandbox.id, taskId: sandbox.taskId, metadata: { appId: sandbox.appId },
		commandRouterAccess: accessTo(context, sandbox),
	};
}

function createV1(context, request) {
	const ids = request.definition?.secretIds ?? [];
	const env = Object.assign({}, ...ids.map((id) => context.catalog.secretEnv(id)));
	const sandbox = makeSandbox(context, request, false, env);
	sandbox.start().catch(failedToStart(sandbox));
	return { sandboxId: sandbox.id, metadata: { appId: sandbox.appId } };
}

// The same key means the same call: it is answered as the first time.
const once = (create) => (context, request, call) => {
	const key = call.headers["x-idempotency-key"];
	const made = context.created.get(key) ?? create(context, request);
	if (key)
		context.created.set(key, made);
	return made;
};

// ---- One sandbox -------------------------------------------------------------------------------------

const getTaskId = (isV2) => async (context, request) => {
	const sandbox = find(context, request, isV2);
	await sandbox.until(() => sandbox.isRunning || sandbox.result, request.timeout ?? 0);
	if (sandbox.result)
		return { taskResult: sandbox.result };
	return sandbox.isRunning ? { taskId: sandbox.taskId } : {};
};

const wait = (isV2) => async (context, request) => {
	const sandbox = find(context, request, isV2);
	await sandbox.until(() => sandbox.result, request.timeout ?? 0);
	return { result: sandbox.result, metadata: { appId: sandbox.appId } };
};

const terminate = (isV2) => async (context, request) => {
	const sandbox = find(context, request, isV2);
	const existing = sandbox.result;
	await sandbox.finish({ status: Result.TERMINATED });
	return { existingResult: existing };
};

const getTunnels = (isV2) => (context, request) => {
	const { id, definition } = find(context, request, isV2);
	const tunnels = (definition.openPorts?.ports ?? []).map(({ port }) =>
		({ host: `${id.slice(3).toLowerCase()}-${port}.w.modal.host`, port: 443, containerPort: port }));
	return { result: { status: Result.SUCCESS }, tunnels };
};

const getTags = (isV2) => (context, request) => ({ tags: find(context, request, isV2).tags });
const setTags = (isV2) => (context, request) => {
	find(context, request, isV2).tags = request.tags ?? [];
};

// ---- Many --------------------------------------------------------------------------------------------

function view(sandbox) {
	const { definition } = sandbox;
	return {
		id: sandbox.id,
		createdAt: seconds(sandbox.createdAt),
		taskInfo: {
			id: sandbox.taskId, startedAt: seconds(sandbox.startedAt), finishedAt: seconds(sandbox.finishedAt),
			result: sandbox.result, enqueuedAt: seconds(sandbox.createdAt),
		},
		appId: sandbox.appId,
		tags: sandbox.tags,
		name: definition.name,
		imageId: definition.imageId,
		timeoutSecs: definition.timeoutSecs,
		idleTimeoutSecs: definition.idleTimeoutSecs,
		readyAt: sandbox.startedAt && seconds(sandbox.startedAt),
	};
}

const hasTags = (sandbox, wanted) => wanted.every(({ name, value = "" }) =>
	sandbox.tags.some((tag) => tag.name === name && (tag.value ?? "") === value));

// The newest first; V2 shows those of both kinds.
const list = (isV2) => (context, request) => {
	context.catalog.checkEnvironment(request.environmentName);
	const { appId, beforeTimestamp, includeFinished, tags = [] } = request;
	if (!appId && context.listsByApp)
		throw new GrpcError(Status.INVALID_ARGUMENT, "app_id is required");
	const chosen = context.fleet.everyOne
		.filter((one) => (isV2 || !one.isV2) && (includeFinished || !one.result) && (!appId || one.appId === appId))
		.filter((one) => hasTags(one, tags) && (!beforeTimestamp || seconds(one.createdAt) < beforeTimestamp))
		.sort((a, b) => b.createdAt - a.createdAt);
	return { sandboxes: chosen.slice(0, context.pageSize).map(view) };
};

const fromName = (isV2) => (context, { sandboxName, environmentName, appName, includeTerminated }) => {
	const { appId } = context.catalog.app({ appName, environmentName });
	const found = context.fleet.everyOne.findLast((one) => one.isV2 === isV2 && one.appId === appId &&
		one.definition.name === sandboxName && (includeTerminated || !one.result));
	if (!found)
		throw new GrpcError(Status.NOT_FOUND, `Sandbox with name '${sandboxName}' not found in app '${appName}'`);
	return { sandboxId: found.id };
};

// ---- The table ---------------------------------------------------------------------------------------

const both = (name, handler) => ({ [name]: handler(false), [`${name}V2`]: handler(true) });

const HANDLERS = {
	AuthTokenGet: ({ authTokens, authSeconds }) => {
		authTokens.push(makeToken({ use: "auth" }, authSeconds));
		return { token: authTokens.at(-1) };
	},
	AppGetOrCreate: ({ catalog }, request) => catalog.app(request),
	AppList: ({ catalog }, request) => catalog.list(request),
	EnvironmentGetOrCreate: ({ catalog }, request) => catalog.environment(request),
	ImageGetOrCreate: ({ catalog }, request) => catalog.image(request),
	ImageFromId: ({ catalog }, { imageId }) => (catalog.findImage(imageId), { imageId }),
	SecretGetOrCreate: ({ catalog }, request) => (checkEnv(request.envDict), catalog.secret(request)),
	SandboxCreate: once(createV1),
	SandboxCreateV2: once(createV2),
	TaskGetCommandRouterAccess: (context, { taskId }) => {
		const sandbox = context.fleet.findTask(taskId);
		return checkedAccess(context, sandbox, !sandbox?.isV2);
	},
	SandboxGetCommandRouterAccess: (context, { sandboxId, taskId }) => {
		const sandbox = sandboxId ? context.fleet.find(sandboxId) : context.fleet.findTask(taskId);
		return checkedAccess(context, sandbox, sandbox?.isV2);
	},
	...both("SandboxGetTaskId", getTaskId),
	...both("SandboxWait", wait),
	...both("SandboxTerminate", terminate),
	...both("SandboxList", list),
	...both("SandboxGetFromName", fromName),
	...both("SandboxGetTunnels", getTunnels),
	...both("SandboxTagsGet", getTags),
	...both("SandboxTagsSet", setTags),
};

// context: { fleet, catalog, created: a Map, authTokens: an array, authSeconds, routerUrl, routerAddress: none by default,
// accessSeconds, pageSize }
export function controlHandlers(context) {
	const bound = Object.entries(HANDLERS).map(([name, handler]) =>
		[name, (call, request) => handler(context, request, call)]);
	return asHandlers({
		...Object.fromEntries(bound),
		ImageJoinStreaming: async function* join(call, request) {
			yield* context.catalog.build(request);
		},
	});
}
