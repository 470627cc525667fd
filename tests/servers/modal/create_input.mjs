// What a sandbox is created with, checked as the vendor does.
import { GrpcError, Status } from "../lib/grpc.mjs";
import { isHost, isRange } from "../lib/network.mjs";

const MAX_TIMEOUT_S = 24 * 3600;
const DEFAULT_TIMEOUT_S = 300;
const MAX_ARGUMENTS = 65_536;

const invalid = (message) => new GrpcError(Status.INVALID_ARGUMENT, message);

export function checkEnv(env = {}) {
	for (const name of Object.keys(env)) {
		if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name))
			throw invalid(`Invalid environment variable name: '${name}'`);
	}
	return env;
}

export function checkWorkdir(workdir) {
	if (workdir !== undefined && !workdir.startsWith("/"))
		throw invalid(`The workdir must be an absolute path, got: ${workdir}`);
}

export function checkArguments(list) {
	const size = list.reduce((sum, one) => sum + Buffer.byteLength(one), 0);
	if (size > MAX_ARGUMENTS)
		throw invalid(`Total length of CMD arguments must be less than ${MAX_ARGUMENTS} bytes, got ${size}`);
}

function checkTags(tags) {
	for (const { name = "" } of tags) {
		if (!/^[A-Za-z0-9._-]{1,63}$/.test(name))
			throw invalid(`Invalid tag name: '${name}'`);
	}
}

function checkPorts({ ports = [] } = {}) {
	const numbers = ports.map(({ port = 0 }) => port);
	if (numbers.some((port) => port < 1 || port > 65535))
		throw invalid("Port must be between 1 and 65535");
	if (new Set(numbers).size < numbers.length)
		throw invalid(`Port specs must be unique, got: ${numbers}`);
}

function checkV2(definition) {
	if (definition.resources?.gpuConfig?.gpuType)
		throw invalid("GPUs are not supported for V2 sandboxes");
	if (definition.secretIds?.length)
		throw invalid("secret_ids are not supported for V2 sandboxes");
}

const ALLOWLIST = 3;

function checkNetwork({ type, allowedCidrs = [], allowedDomains = [] } = {}) {
	if (!type)
		throw invalid("no network_access");
	if (type !== ALLOWLIST && (allowedCidrs.length || allowedDomains.length))
		throw invalid("an allowlist needs ALLOWLIST network access");
	const wrong = allowedCidrs.find((one) => !isRange(one)) ?? allowedDomains.find((one) => !isHost(one));
	if (wrong !== undefined)
		throw invalid(`Invalid entry of an allowlist: ${wrong}`);
}

export function checkDefinition(definition, tags, isV2) {
	if (!definition)
		throw invalid("no definition");
	const { timeoutSecs = DEFAULT_TIMEOUT_S, name } = definition;
	if (timeoutSecs < 1 || timeoutSecs > MAX_TIMEOUT_S)
		throw invalid(`timeout must be between 1 and ${MAX_TIMEOUT_S} seconds`);
	if (name !== undefined && !/^[A-Za-z0-9._-]{1,63}$/.test(name))
		throw invalid(`Invalid Sandbox name: '${name}'`);
	checkNetwork(definition.networkAccess);
	checkWorkdir(definition.workdir);
	checkArguments(definition.entrypointArgs ?? []);
	checkTags(tags);
	checkPorts(definition.openPorts);
	if (isV2)
		checkV2(definition);
	return { ...definition, timeoutSecs };
}
