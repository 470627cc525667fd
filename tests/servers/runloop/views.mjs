// Devboxes, snapshots and blueprints as the API shows them.
export function devboxView(devbox) {
	const { wanted } = devbox;
	return {
		id: devbox.id,
		name: devbox.name,
		status: devbox.status,
		capabilities: [],
		create_time_ms: devbox.createdAt,
		end_time_ms: devbox.endedAt ?? null,
		launch_parameters: devbox.launch,
		metadata: devbox.metadata,
		state_transitions: devbox.transitions,
		blueprint_id: devbox.blueprint ?? null,
		snapshot_id: wanted.snapshot_id ?? null,
		failure_reason: devbox.failure ? "health_check_failed" : null,
		shutdown_reason: devbox.shutdownReason ?? null,
		tunnel: devbox.tunnel ?? null,
	};
}

export const snapshotView = (snapshot) => ({
	id: snapshot.id,
	name: snapshot.name ?? null,
	metadata: snapshot.metadata ?? {},
	create_time_ms: snapshot.createdAt,
	source_devbox_id: snapshot.devbox,
});

export const blueprintView = ({ id, name, status, dockerfile, failure_reason = null }) => ({
	id, name, status, failure_reason, state: "created", parameters: { name, dockerfile }, create_time_ms: 0,
});
