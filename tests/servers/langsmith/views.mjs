// Sandboxes and snapshots as the control plane shows them.

const url = ({ hasRouter, routerUrl }, { route, status }) =>
	(hasRouter && status !== "failed" ? `${routerUrl}/box/${route}` : null);

export const sandboxView = (context, sandbox) => ({
	id: sandbox.id,
	name: sandbox.name,
	dataplane_url: url(context, sandbox),
	status: sandbox.status,
	status_message: sandbox.status_message ?? null,
	created_at: sandbox.created.toISOString(),
	updated_at: sandbox.updated.toISOString(),
	created_by: "me",
	stopped_at: sandbox.stopped?.toISOString() ?? null,
	idle_ttl_seconds: sandbox.idle_ttl_seconds,
	delete_after_stop_seconds: sandbox.delete_after_stop_seconds,
	snapshot_id: sandbox.snapshot_id,
	vcpus: sandbox.vcpus,
	mem_bytes: sandbox.mem_bytes,
	fs_capacity_bytes: sandbox.fs_capacity_bytes,
	labels: sandbox.labels,
	persistent: sandbox.persistent,
	preserve_memory_on_stop: sandbox.preserve_memory_on_stop,
	...(sandbox.run_config ? { run_config: sandbox.run_config } : {}),
	...(sandbox.access_delegation ? { access_delegation: sandbox.access_delegation } : {}),
});

export const statusView = ({ status, status_message: message }) =>
	({ status, ...(message ? { status_message: message } : {}) });

export const snapshotView = (snapshot) => ({ ...snapshot });
