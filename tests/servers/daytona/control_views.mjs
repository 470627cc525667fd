// Sandboxes as the control plane shows them.

export const DAEMON_VERSION = "0.190.0";
const ORGANIZATION = "6c1a9f4e-2d0b-4b8e-9d5f-0f6f0b1c2d3e";
const date = (ms) => new Date(ms).toISOString();

// What items of a list have too. `proxyUrl`: undefined where the server is too old to have one.
const common = (sandbox) => ({
	id: sandbox.id,
	organizationId: ORGANIZATION,
	name: sandbox.name,
	snapshot: sandbox.snapshot,
	user: sandbox.account,
	labels: sandbox.labels,
	public: false,
	target: sandbox.target,
	cpu: sandbox.cpu,
	gpu: 0,
	memory: sandbox.memory,
	disk: sandbox.disk,
	state: sandbox.state,
	desiredState: sandbox.desiredState,
	errorReason: sandbox.errorReason,
	recoverable: sandbox.recoverable,
	spot: sandbox.spot ?? false,
	spotEvictedAt: sandbox.spotEvictedAt && date(sandbox.spotEvictedAt),
	backupState: "None",
	autoStopInterval: sandbox.autoStopInterval,
	autoPauseInterval: sandbox.autoPauseInterval,
	autoDestroyAt: sandbox.destroyAt && date(sandbox.destroyAt),
	autoArchiveInterval: sandbox.autoArchiveInterval,
	autoDeleteInterval: sandbox.autoDeleteInterval,
	createdAt: date(sandbox.createdAt),
	updatedAt: date(sandbox.updatedAt),
	lastActivityAt: date(sandbox.lastActivityAt),
	sandboxClass: sandbox.sandboxClass,
	daemonVersion: DAEMON_VERSION,
	runnerId: "runner-1",
});

export const sandboxView = (sandbox, proxyUrl) => ({
	...common(sandbox),
	env: sandbox.env,
	networkBlockAll: sandbox.networkBlockAll ?? false,
	volumes: sandbox.volumes ?? [],
	buildInfo: sandbox.buildInfo,
	...(proxyUrl ? { toolboxProxyUrl: proxyUrl } : {}),
});

// Lists do not always know it: then it is asked for by itself.
export const listedView = (sandbox, proxyUrl) => ({ ...common(sandbox), ...(proxyUrl ? { toolboxProxyUrl: "" } : {}) });

export const logView = ({ at, message }) => ({
	timestamp: date(at), body: message, severityText: "INFO", severityNumber: 9, serviceName: "sandbox",
	resourceAttributes: {}, logAttributes: {},
});
