// Paths as the daemon takes them: byte strings, absolute.
import { raw, toText } from "../../lib/bytes.mjs";
import { reason } from "../../lib/oserror.mjs";
import { invalid, typed } from "../failure.mjs";

export function queryPath(query) {
	const file = query.get("path");
	if (!file)
		throw invalid(["query", "path"], "Field required", "missing");
	if (!file.startsWith("/"))
		throw typed(400, "InvalidPath", `path must be absolute: ${toText(file)}`);
	return raw(file);
}

// What a system call said of a file.
export function fileFailure(type, call, file, error) {
	if (error.code === "ENOENT" && type === "ReadError")
		return typed(404, "FileNotFound", `${toText(file.toString("latin1"))}: ${reason(error)}`);
	if (error.code === "EACCES" || error.code === "EPERM")
		return typed(403, "PermissionDenied", `${call} ${file}: ${reason(error)}`);
	return typed(500, type, `${call} ${file}: ${reason(error)}`);
}
