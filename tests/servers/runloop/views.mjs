// Devboxes and snapshots as the API shows them.
import { BLUEPRINT } from "./fleet.mjs";

export function devboxView(devbox) {
	const { wanted } = devbox;
	const isFromBlueprint = wanted.blueprint_id || wanted.blueprint_name;
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
		blueprint_id: isFromBlueprint ? BLUEPRINT.id : null,
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
