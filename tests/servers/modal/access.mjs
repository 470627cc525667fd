// Who may call the control plane: the metadata that every call carries.
import { GrpcError, Status } from "../lib/grpc.mjs";
import { readToken } from "./jwt.mjs";

const CLIENT_TYPES = new Set(["1", "2", "3", "5", "6", "7", "8", "9"]);
const RETRY_ATTEMPT = /^\d+$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const refused = (message) => new GrpcError(Status.UNAUTHENTICATED, message);

function checkClient(headers) {
	if (!CLIENT_TYPES.has(headers["x-modal-client-type"]))
		throw new GrpcError(Status.INVALID_ARGUMENT, `client type "${headers["x-modal-client-type"] ?? ""}" is not known`);
	if (!/^\d+\.\d+/.test(headers["x-modal-client-version"] ?? ""))
		throw new GrpcError(Status.FAILED_PRECONDITION, "no x-modal-client-version");
}

// Who signs in by OAuth has all of these, and no token.
const OAUTH = {
	"x-modal-refresh-token": "rt-0123456789abcdef",
	"x-modal-oauth-client-id": "oc-0123456789abcdef",
	"x-modal-oauth-client-secret": "os-0123456789abcdef",
};

function checkOauth(headers) {
	if (headers["x-modal-token-id"] !== undefined || Object.entries(OAUTH).some(([name, value]) => headers[name] !== value))
		throw refused("OAuth credentials could not be validated.");
}

function checkCredentials(context, headers) {
	if (headers["x-modal-refresh-token"] !== undefined)
		return checkOauth(headers);
	const id = headers["x-modal-token-id"];
	if (!id || !headers["x-modal-token-secret"])
		throw refused("Token missing. Could not authenticate client.");
	if (id !== context.tokenId || headers["x-modal-token-secret"] !== context.tokenSecret)
		throw refused("Token validation failed. Could not authenticate client.");
	return undefined;
}

const needsAuthToken = (path) => /V2$|\/SandboxGetCommandRouterAccess$/.test(path);

function checkAuthToken({ path, headers }) {
	const token = headers["x-modal-auth-token"];
	if (token === undefined && needsAuthToken(path))
		throw refused("x-modal-auth-token is missing");
	if (token !== undefined && readToken(token)?.use !== "auth")
		throw refused("x-modal-auth-token is not valid");
}

function checkRetries(headers) {
	const key = headers["x-idempotency-key"];
	if (key !== undefined && !UUID.test(key))
		throw new GrpcError(Status.INVALID_ARGUMENT, "x-idempotency-key is not a UUID");
	if (headers["x-retry-attempt"] !== undefined && !RETRY_ATTEMPT.test(headers["x-retry-attempt"]))
		throw new GrpcError(Status.INVALID_ARGUMENT, "x-retry-attempt is not a number");
}

export function checkCall(context, call) {
	checkClient(call.headers);
	checkCredentials(context, call.headers);
	checkAuthToken(call);
	checkRetries(call.headers);
}
