// What a new devbox may be asked to be.
import { ApiError } from "./api_error.mjs";
import { checkMembers, filled, integer, list, object, oneOf, text, texts } from "./input.mjs";

const MAX_LIFETIME_S = 172_800;
const SIZES = ["X_SMALL", "SMALL", "MEDIUM", "LARGE", "X_LARGE", "XX_LARGE", "CUSTOM_SIZE"];
const CUSTOM = ["custom_cpu_cores", "custom_gb_memory", "custom_disk_size"];

const even = (min, max, ...others) => (value) =>
	others.includes(value) || (Number.isInteger(value) && value % 2 === 0 && value >= min && value <= max);

const AFTER_IDLE = object({ idle_time_seconds: integer(1, MAX_LIFETIME_S), on_idle: oneOf("shutdown", "suspend") });

const LAUNCH = {
	after_idle: AFTER_IDLE,
	architecture: oneOf("x86_64", "arm64"),
	custom_cpu_cores: even(2, 16, 0.5, 1),
	custom_disk_size: even(2, 64),
	custom_gb_memory: even(2, 64, 1),
	keep_alive_time_seconds: integer(1, MAX_LIFETIME_S),
	launch_commands: list(text),
	lifecycle: object({ after_idle: AFTER_IDLE, resume_triggers: object({ http: oneOf(true, false) }) }),
	resource_size_request: oneOf(...SIZES),
	user_parameters: object({ username: filled, uid: integer(0, 65_535) }),
};

const CREATE = {
	name: text,
	blueprint_id: filled,
	blueprint_name: filled,
	snapshot_id: filled,
	environment_variables: texts,
	metadata: texts,
	entrypoint: text,
	launch_parameters: object(LAUNCH),
};

function checkSize(launch) {
	const custom = CUSTOM.filter((name) => launch[name] !== undefined);
	if (custom.length && launch.resource_size_request !== "CUSTOM_SIZE")
		throw new ApiError(400, `"${custom[0]}" needs "resource_size_request": "CUSTOM_SIZE"`);
	if (launch.resource_size_request !== "CUSTOM_SIZE")
		return;
	const ratio = launch.custom_gb_memory / launch.custom_cpu_cores;
	if (!(ratio >= 2 && ratio <= 8))
		throw new ApiError(400, "The cpu:memory ratio must be between 1:2 and 1:8 inclusive");
}

export function checkCreate(value) {
	checkMembers(value, CREATE);
	const sources = ["blueprint_id", "blueprint_name", "snapshot_id"].filter((name) => value[name]);
	if (sources.length > 1)
		throw new ApiError(400, `Only one of ${sources.join(" and ")} may be given`);
	checkSize(value.launch_parameters ?? {});
	return value;
}
