#include "providers/base/error.h"

#include "providers/base/harmless.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Two paths and a reason. */
#define WHOLE_MAX (2 * PATH_MAX + 400)

enum err error_set(struct error *e, enum err kind, const char *format, ...)
{
	if (e) {
		char whole[WHOLE_MAX];
		va_list args;

		va_start(args, format);
		vsnprintf(whole, sizeof whole, format, args);
		va_end(args);
		harmless_fit(e->text, sizeof e->text, whole);
		e->kind = kind;
	}
	return kind;
}

enum err error_errno(struct error *e, int number, const char *format, ...)
{
	enum err kind = error_from_errno(number);
	char sentence[WHOLE_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof sentence, format, args);
	va_end(args);
	return error_set(
		e, kind, "%s: %s", sentence, kind == ERR_IO ? strerror(number) : error_words(kind));
}

enum err error_from_errno(int number)
{
	switch (number) {
	case 0: return ERR_OK;
	case ENOENT: return ERR_NOT_FOUND;
	case EEXIST: return ERR_EXISTS;
	case EACCES: return ERR_DENIED;
	case EPERM: return ERR_NOT_OWNER;
	case ENOTDIR: return ERR_NOT_DIR;
	case EISDIR: return ERR_IS_DIR;
	case ENOTEMPTY: return ERR_NOT_EMPTY;
	case EINVAL: return ERR_INVALID;
	case ENAMETOOLONG: return ERR_NAME_TOO_LONG;
	case ELOOP: return ERR_LOOP;
	case EXDEV: return ERR_CROSS_DEVICE;
	case EMLINK: return ERR_TOO_MANY_LINKS;
	case EFBIG: return ERR_TOO_LARGE;
	case ENOSPC: return ERR_NO_SPACE;
	case EDQUOT: return ERR_QUOTA;
	case EROFS: return ERR_READ_ONLY;
	case ETXTBSY: return ERR_TEXT_BUSY;
	case EBUSY: return ERR_BUSY;
	case ENODATA: return ERR_NO_XATTR;
	case ERANGE: return ERR_RANGE;
	case ENXIO: return ERR_NO_DATA;
	case ENOSYS:
	case EOPNOTSUPP: return ERR_UNSUPPORTED;
	case ESTALE: return ERR_STALE;
	case ENOMEM: return ERR_NO_MEMORY;
	case ETIMEDOUT: return ERR_TIMEOUT;
	case EINTR: return ERR_INTERRUPTED;
	case E2BIG: return ERR_TOO_BIG_XATTR;
	case EMFILE:
	case ENFILE: return ERR_FILES_LIMIT;
	case EOVERFLOW: return ERR_OVERFLOW;
	default: return ERR_IO;
	}
}

const char *error_words(enum err kind)
{
	switch (kind) {
#define X(name, number, words)                                                                     \
	case ERR_##name: return words;
		ERR_KINDS(X)
#undef X
	}
	return "the answer makes no sense";
}

const char *error_name(enum err kind)
{
	switch (kind) {
#define X(name, number, words)                                                                     \
	case ERR_##name: return #name;
		ERR_KINDS(X)
#undef X
	}
	return "PROTOCOL";
}

enum err error_named(const char *name, size_t len)
{
#define X(kind, number, words)                                                                     \
	if (len == sizeof #kind - 1 && !memcmp(name, #kind, len))                                  \
		return ERR_##kind;
	ERR_KINDS(X)
#undef X
	return ERR_PROTOCOL;
}

int error_is_kind(unsigned number)
{
#define X(name, value, words) || number == (value)
	return 0 ERR_KINDS(X);
#undef X
}
