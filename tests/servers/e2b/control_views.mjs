// Sandboxes as the control plane shows them.

const CLIENT_ID = "ek7bz2v1";
const MACHINE = { cpuCount: 2, memoryMB: 512, diskSizeMB: 10240 };

const identity = (sandbox) => ({
	sandboxID: sandbox.id,
	templateID: sandbox.templateID,
	clientID: CLIENT_ID,
	envdVersion: sandbox.version,
});

const token = (sandbox) => (sandbox.token ? { envdAccessToken: sandbox.token } : {});

const times = (sandbox) => ({
	startedAt: new Date(sandbox.startedAt).toISOString(),
	endAt: new Date(sandbox.endAt).toISOString(),
});

export const createdView = (sandbox) => ({
	...identity(sandbox),
	...token(sandbox),
	trafficAccessToken: sandbox.trafficToken ?? null,
	domain: null,
});

export const listedView = (sandbox) => ({
	...identity(sandbox),
	...times(sandbox),
	...MACHINE,
	state: sandbox.state,
	metadata: sandbox.metadata,
	...(sandbox.volumeMounts?.length ? { volumeMounts: sandbox.volumeMounts } : {}),
});

export const detailView = (sandbox) => ({
	...listedView(sandbox),
	...token(sandbox),
	domain: null,
	...(sandbox.isPrivate ? { network: { allowPublicTraffic: false } } : {}),
	lifecycle: { autoResume: sandbox.autoResume, onTimeout: sandbox.autoPause ? "pause" : "kill" },
});

export const logView = ({ at, message }) => ({ timestamp: new Date(at).toISOString(), message, level: "info", fields: {} });
