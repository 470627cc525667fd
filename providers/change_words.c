#include "providers/change_words.h"

#include <string.h>

const char *change_word(enum change_op op)
{
	switch (op) {
	case CHANGE_MKDIR: return "mkdir";
	case CHANGE_CREATE: return "create";
	case CHANGE_MKNOD: return "mknod";
	case CHANGE_SYMLINK: return "symlink";
	case CHANGE_LINK: return "link";
	case CHANGE_UNLINK: return "unlink";
	case CHANGE_RMDIR: return "rmdir";
	case CHANGE_RENAME: return "rename";
	case CHANGE_SETATTR: return "setattr";
	case CHANGE_WRITE: return "write";
	case CHANGE_APPEND: return "append";
	case CHANGE_FALLOCATE: return "fallocate";
	case CHANGE_COPY: return "copy";
	case CHANGE_PLACE: return "place";
	case CHANGE_SETXATTR: return "setxattr";
	case CHANGE_REMOVEXATTR: return "removexattr";
	case CHANGE_SYNC: return "fsync";
	case CHANGE_OP_END: break;
	}
	return "unknown";
}

const char *change_shown_path(const struct change *c)
{
	return c->op == CHANGE_PLACE ? c->path2 : c->path;
}

bool change_is_in_staging(const struct change *c)
{
	static const char staged[] = "/" STAGED_NEW;

	return !strncmp(change_shown_path(c), staged, strlen(staged));
}
