// Errors of system calls in the words of the language that the vendor's daemon is written in.

const TEXTS = {
	ENOENT: "no such file or directory",
	ENOTDIR: "not a directory",
	EISDIR: "is a directory",
	EEXIST: "file exists",
	ENOTEMPTY: "directory not empty",
	EACCES: "permission denied",
	EPERM: "operation not permitted",
	EXDEV: "invalid cross-device link",
	ENOSPC: "no space left on device",
	EROFS: "read-only file system",
	ELOOP: "too many levels of symbolic links",
	ENAMETOOLONG: "file name too long",
	ETXTBSY: "text file busy",
	EINVAL: "invalid argument",
	E2BIG: "argument list too long",
	EPIPE: "broken pipe",
	ENXIO: "no such device or address",
	EBUSY: "device or resource busy",
};

export const reason = (error) => TEXTS[error.code] ?? error.message;
export const describe = (call, path, error) => `${call} ${path}: ${reason(error)}`;
