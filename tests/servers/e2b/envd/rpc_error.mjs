// An RPC's failure: one of Connect's codes and a sentence.

const HTTP_STATUS = {
	canceled: 499,
	unknown: 500,
	invalid_argument: 400,
	deadline_exceeded: 504,
	not_found: 404,
	already_exists: 409,
	permission_denied: 403,
	resource_exhausted: 429,
	failed_precondition: 400,
	aborted: 409,
	out_of_range: 400,
	unimplemented: 501,
	internal: 500,
	unavailable: 503,
	data_loss: 500,
	unauthenticated: 401,
};

export class RpcError extends Error {
	constructor(code, message) {
		super(message);
		this.code = code;
	}

	get httpStatus() {
		return HTTP_STATUS[this.code];
	}

	toJson() {
		return { code: this.code, message: this.message };
	}
}

export const asRpcError = (error) =>
	error instanceof RpcError ? error : new RpcError("internal", error.message);
