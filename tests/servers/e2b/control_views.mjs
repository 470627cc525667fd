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

// `skewMs`: how far the control plane's clock is ahead.
const times = (sandbox, skewMs) => ({
	startedAt: new Date(sandbox.startedAt + skewMs).toISOString(),
	endAt: new Date(sandbox.endAt + skewMs).toISOString(),
});

export const createdView = (sandbox) => ({
	...identity(sandbox),
	...token(sandbox),
	trafficAccessToken: null,
	domain: null,
});

export const listedView = (sandbox, skewMs) => ({
	...identity(sandbox),
	...times(sandbox, skewMs),
	...MACHINE,
	state: sandbox.state,
	metadata: sandbox.metadata,
});

export const detailView = (sandbox, skewMs) => ({
	...listedView(sandbox, skewMs),
	...token(sandbox),
	domain: null,
	lifecycle: { autoResume: sandbox.autoResume, onTimeout: sandbox.autoPause ? "pause" : "kill" },
});
