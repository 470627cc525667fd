// How the service answers: an envelope round its data, FastAPI's `detail` beside a status, and files' failures inside 200.
import os from "node:os";

import { sendJson } from "../../lib/http.mjs";

// A status with { detail }.
export class HttpError extends Error {
	constructor(status, detail) {
		super(typeof detail === "string" ? detail : "invalid");
		this.status = status;
		this.detail = detail;
	}
}

export const succeeded = (data, message = "Operation successful") => ({ success: true, message, data, hint: null });

const ERROR_TYPES = {
	ENOENT: ["not_found", "FileNotFoundError", "No such file or directory"],
	EACCES: ["permission_denied", "PermissionError", "Permission denied"],
	EPERM: ["permission_denied", "PermissionError", "Operation not permitted"],
	EISDIR: ["invalid_target", "IsADirectoryError", "Is a directory"],
	ENOTDIR: ["invalid_target", "NotADirectoryError", "Not a directory"],
	EEXIST: ["already_exists", "FileExistsError", "File exists"],
	ENAMETOOLONG: ["invalid_path", "OSError", "File name too long"],
	EROFS: ["read_only_filesystem", "OSError", "Read-only file system"],
	ENOSPC: ["no_space_left", "OSError", "No space left on device"],
};

export function fileFailed(operation, path, error) {
	const [error_type, exception_type, words] = ERROR_TYPES[error.code] ?? ["io_error", "OSError", error.message];
	const errno = os.constants.errno[error.code] ?? null;
	const message = `Failed to ${operation} file: [Errno ${errno}] ${words}: '${path}'`;
	const data = {
		path, operation, message, error_type,
		retryable: false,
		errno,
		errno_name: error.code ?? null,
		exception_type,
	};
	return { success: false, message, data, hint: null };
}

// A file with text that is no text.
export function notText(operation, path) {
	const message = `Failed to ${operation} file: 'utf-8' codec can't decode bytes in '${path}'`;
	const data = {
		path, operation, message,
		error_type: "decode_error",
		retryable: false,
		errno: null,
		errno_name: null,
		exception_type: "UnicodeDecodeError",
	};
	return { success: false, message, data, hint: null };
}

export function sendError(res, error) {
	if (error instanceof HttpError)
		return sendJson(res, error.status, { detail: error.detail });
	return sendJson(res, 500, { detail: error.message });
}
