// The messages and methods of modal.client.ModalClient that concern sandboxes. What is left out is skipped when it comes.
import { field } from "../lib/protobuf.mjs";
import { serverStream, unary } from "../lib/grpc.mjs";

export const ObjectCreation = { LOOKUP: 0, CREATE_IF_MISSING: 1, EPHEMERAL: 5 };
export const AppState = { DEPLOYED: 3, STOPPED: 5 };
export const Result = {
	UNSPECIFIED: 0, SUCCESS: 1, FAILURE: 2, TERMINATED: 3, TIMEOUT: 4, INIT_FAILURE: 5, INTERNAL_FAILURE: 6, IDLE_TIMEOUT: 7,
};

const many = { repeated: true };
const optional = { optional: true };

// ---- Parts -------------------------------------------------------------------------------------------

const GenericResult = {
	status: field(1, "uint32"), exception: field(2, "string"), exitcode: field(3, "uint32"), traceback: field(4, "string"),
};
const StringMap = { contents: field(1, "string", { map: true }) };
const SecretSource = { secretId: field(1, "string", optional), env: field(2, StringMap) };
const GpuConfig = { type: field(1, "uint32"), count: field(2, "uint32"), gpuType: field(4, "string") };
const Resources = {
	memoryMb: field(2, "uint32"), milliCpu: field(3, "uint32"), gpuConfig: field(4, GpuConfig),
	memoryMbMax: field(5, "uint32"), ephemeralDiskMb: field(6, "uint32"), milliCpuMax: field(7, "uint32"),
};
const NetworkAccess = {
	type: field(1, "uint32"), allowedCidrs: field(2, "string", many), allowedDomains: field(3, "string", many),
};
const PortSpec = { port: field(1, "uint32"), unencrypted: field(2, "bool") };
const Definition = {
	entrypointArgs: field(1, "string", many),
	imageId: field(3, "string"),
	secretIds: field(4, "string", many),
	resources: field(5, Resources),
	timeoutSecs: field(7, "uint32"),
	workdir: field(8, "string", optional),
	openPorts: field(20, { ports: field(1, PortSpec, many) }),
	networkAccess: field(22, NetworkAccess),
	name: field(30, "string", optional),
	idleTimeoutSecs: field(33, "uint32", optional),
};
const Tag = { name: field(1, "string"), value: field(2, "string") };
const Tunnel = { host: field(1, "string"), port: field(2, "uint32"), containerPort: field(5, "uint32") };
const HandleMetadata = { result: field(1, GenericResult), appId: field(2, "string") };
const Access = { jwt: field(1, "string"), url: field(2, "string"), workerIpv4Address: field(3, "string") };
const TaskInfo = {
	id: field(1, "string"), startedAt: field(2, "double"), finishedAt: field(3, "double"),
	result: field(4, GenericResult), enqueuedAt: field(5, "double"),
};
const SandboxInfo = {
	id: field(1, "string"), createdAt: field(3, "double"), taskInfo: field(4, TaskInfo), appId: field(5, "string"),
	tags: field(6, Tag, many), name: field(7, "string"), imageId: field(8, "string"), timeoutSecs: field(11, "uint32"),
	idleTimeoutSecs: field(12, "uint32", optional), readyAt: field(13, "double", optional),
};
const ImageMetadata = { workdir: field(3, "string", optional) };

// ---- Methods -----------------------------------------------------------------------------------------

const OfSandbox = { sandboxId: field(1, "string"), timeout: field(2, "float", optional) };
const TagList = { tags: field(1, Tag, many) };
const Empty = {};

const getTaskId = unary(OfSandbox, { taskId: field(1, "string", optional), taskResult: field(2, GenericResult) });
const wait = unary(OfSandbox, { result: field(1, GenericResult), metadata: field(2, HandleMetadata) });
const terminate = unary(OfSandbox, { existingResult: field(1, GenericResult) });
const list = unary({
	appId: field(1, "string"), beforeTimestamp: field(2, "double"), environmentName: field(3, "string"),
	includeFinished: field(4, "bool"), tags: field(5, Tag, many),
}, { sandboxes: field(1, SandboxInfo, many) });
const fromName = unary({
	sandboxName: field(1, "string"), environmentName: field(2, "string"), appName: field(3, "string"),
	includeTerminated: field(4, "bool"),
}, { sandboxId: field(1, "string") });
const tunnels = unary(OfSandbox, { result: field(1, GenericResult), tunnels: field(2, Tunnel, many) });
const tagsGet = unary(OfSandbox, TagList);
const tagsSet = unary({ environmentName: field(1, "string"), sandboxId: field(2, "string"), tags: field(3, Tag, many) }, Empty);

const both = (name, method) => ({ [name]: method, [`${name}V2`]: method });

const named = {
	AuthTokenGet: unary(Empty, { token: field(1, "string") }),
	AppGetOrCreate: unary({
		appName: field(1, "string"), environmentName: field(2, "string"), objectCreationType: field(3, "uint32"),
	}, { appId: field(1, "string") }),
	AppList: unary({ environmentName: field(1, "string") }, {
		apps: field(1, { appId: field(1, "string"), state: field(4, "uint32"), name: field(10, "string") }, many),
	}),
	EnvironmentGetOrCreate: unary({ deploymentName: field(1, "string"), objectCreationType: field(2, "uint32") }, {
		environmentId: field(1, "string"),
		metadata: field(2, { name: field(1, "string"), settings: field(2, { imageBuilderVersion: field(1, "string") }) }),
	}),
	ImageGetOrCreate: unary({
		image: field(2, { dockerfileCommands: field(6, "string", many) }), appId: field(4, "string"),
		forceBuild: field(7, "bool"), builderVersion: field(9, "string"),
	}, { imageId: field(1, "string"), result: field(2, GenericResult), metadata: field(3, ImageMetadata) }),
	ImageJoinStreaming: serverStream({
		imageId: field(1, "string"), timeout: field(2, "float"), lastEntryId: field(3, "string"),
	}, {
		result: field(1, GenericResult), taskLogs: field(2, { data: field(1, "string") }, many),
		entryId: field(3, "string"), eof: field(4, "bool"), metadata: field(5, ImageMetadata),
	}),
	ImageFromId: unary({ imageId: field(1, "string") },
		{ imageId: field(1, "string"), metadata: field(2, ImageMetadata) }),
	SecretGetOrCreate: unary({
		deploymentName: field(1, "string"), environmentName: field(3, "string"), objectCreationType: field(4, "uint32"),
		envDict: field(5, "string", { map: true }), appId: field(6, "string"),
	}, { secretId: field(1, "string") }),
	SandboxCreate: unary({ appId: field(1, "string"), definition: field(2, Definition), tags: field(4, Tag, many) },
		{ sandboxId: field(1, "string"), metadata: field(2, HandleMetadata) }),
	SandboxCreateV2: unary({
		appId: field(1, "string"), definition: field(2, Definition), ephemeralSecrets: field(3, StringMap),
		tags: field(4, Tag, many), secretSources: field(6, SecretSource, many),
	}, {
		sandboxId: field(1, "string"), tunnels: field(2, Tunnel, many), taskId: field(3, "string"),
		metadata: field(4, HandleMetadata), commandRouterAccess: field(5, Access),
	}),
	TaskGetCommandRouterAccess: unary({ taskId: field(1, "string") }, Access),
	SandboxGetCommandRouterAccess: unary({ sandboxId: field(1, "string"), taskId: field(2, "string") }, Access),
	...both("SandboxGetTaskId", getTaskId),
	...both("SandboxWait", wait),
	...both("SandboxTerminate", terminate),
	...both("SandboxList", list),
	...both("SandboxGetFromName", fromName),
	...both("SandboxGetTunnels", tunnels),
	...both("SandboxTagsGet", tagsGet),
	...both("SandboxTagsSet", tagsSet),
};

const SERVICE = "modal.client.ModalClient";
const withService = (table) => Object.fromEntries(Object.entries(table).map(([name, one]) => [`${SERVICE}/${name}`, one]));

export const controlMethods = withService(named);
export const asHandlers = withService;
