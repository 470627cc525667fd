#include "providers/errno_words.h"

#include <string.h>
#include <strings.h>

/*
 * Go's package syscall, zerrors_linux_amd64.go. The C libraries begin with a capital, and musl has
 * two words of its own.
 */
static const struct {
	const char *end;
	enum err kind;
} words[] = {
	{ ": no such file or directory", ERR_NOT_FOUND },
	{ ": not a directory", ERR_NOT_DIR },
	{ ": is a directory", ERR_IS_DIR },
	{ ": file exists", ERR_EXISTS },
	{ ": permission denied", ERR_DENIED },
	{ ": operation not permitted", ERR_NOT_OWNER },
	{ ": no space left on device", ERR_NO_SPACE },
	{ ": disk quota exceeded", ERR_QUOTA },
	{ ": read-only file system", ERR_READ_ONLY },
	{ ": too many levels of symbolic links", ERR_LOOP },
	{ ": symbolic link loop", ERR_LOOP },
	{ ": file name too long", ERR_NAME_TOO_LONG },
	{ ": filename too long", ERR_NAME_TOO_LONG },
	{ ": text file busy", ERR_TEXT_BUSY },
	{ ": too many open files", ERR_FILES_LIMIT },
	{ ": argument list too long", ERR_TOO_LARGE },
};

enum err errno_words_kind(const char *message, enum err otherwise)
{
	size_t len = strlen(message);

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t end_len = strlen(words[i].end);

		if (len >= end_len && !strcasecmp(message + len - end_len, words[i].end))
			return words[i].kind;
	}
	return otherwise;
}
