#include "fs/errmap.h"

#include <errno.h>

/* Without `default`: the compiler names a kind that has no errno. */
int errmap_errno(enum err kind)
{
	switch (kind) {
	case ERR_OK: return 0;
	case ERR_NOT_FOUND: return ENOENT;
	case ERR_EXISTS: return EEXIST;
	case ERR_DENIED: return EACCES;
	case ERR_NOT_OWNER: return EPERM;
	case ERR_NOT_DIR: return ENOTDIR;
	case ERR_IS_DIR: return EISDIR;
	case ERR_NOT_EMPTY: return ENOTEMPTY;
	case ERR_INVALID: return EINVAL;
	case ERR_NAME_TOO_LONG: return ENAMETOOLONG;
	case ERR_LOOP: return ELOOP;
	case ERR_CROSS_DEVICE: return EXDEV;
	case ERR_TOO_MANY_LINKS: return EMLINK;
	case ERR_TOO_LARGE: return EFBIG;
	case ERR_NO_SPACE: return ENOSPC;
	case ERR_QUOTA: return EDQUOT;
	case ERR_READ_ONLY: return EROFS;
	case ERR_TEXT_BUSY: return ETXTBSY;
	case ERR_BUSY: return EBUSY;
	case ERR_NO_XATTR: return ENODATA;
	case ERR_RANGE: return ERANGE;
	case ERR_NO_DATA: return ENXIO;
	case ERR_UNSUPPORTED: return EOPNOTSUPP;
	case ERR_STALE: return ESTALE;
	case ERR_CONFLICT: return ESTALE; /* the inode or name of the change is no longer there */
	case ERR_SKIPPED: return EIO;
	case ERR_IO: return EIO;
	case ERR_NO_MEMORY: return ENOMEM;
	case ERR_TIMEOUT: return ETIMEDOUT;
	case ERR_INTERRUPTED: return EINTR;
	case ERR_UNREACHABLE: return EHOSTUNREACH;
	case ERR_GONE: return ENOTCONN;
	case ERR_AUTH: return EACCES;
	case ERR_PROTOCOL: return EPROTO;
	case ERR_TOO_BIG_XATTR: return E2BIG;
	case ERR_FILES_LIMIT: return EMFILE;
	case ERR_OVERFLOW: return EOVERFLOW;
	}
	return EIO;
}
