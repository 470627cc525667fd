/*
 * ops_names.c - calls that make, move and remove names.
 */
#include "tests/oracle/ops.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void run_mkdir(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, mkdirat(AT(0), c->mode));
}

static void run_rmdir(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, unlinkat(AT(0), AT_REMOVEDIR));
}

static void run_unlink(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, unlinkat(AT(0), 0));
}

static void run_rename(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, renameat(AT(0), AT(1)));
}

/* The bare call: additions of the C library are not tested. */
static void run_renameat2(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, syscall(SYS_renameat2, AT(0), AT(1), (unsigned)c->choice));
}

static void run_link(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, linkat(AT(0), AT(1), c->flags));
}

/*
 * Gives a name to an open file: also to one that has none left, and to one that never had a name.
 */
static void run_link_fd(struct side *s, const struct call *c, struct outcome *o)
{
	char from[64];

	snprintf(from, sizeof from, "/proc/self/fd/%d", SLOT(0));
	outcome_take(o, linkat(AT_FDCWD, from, AT(1), AT_SYMLINK_FOLLOW));
}

static void run_symlink(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, symlinkat(c->text, AT(0)));
}

static void run_readlink(struct side *s, const struct call *c, struct outcome *o)
{
	char target[5000];
	size_t room = c->length % 5 ? sizeof target : c->length % 32;
	long len = outcome_take(o, readlinkat(AT(0), target, room));

	if (len >= 0)
		text_add_data(&o->facts, target, (size_t)len);
}

static void run_mknod(struct side *s, const struct call *c, struct outcome *o)
{
	outcome_take(o, mknodat(AT(0), (mode_t)c->choice | c->mode, 0));
}

static void run_remove_tree(struct side *s, const struct call *c, struct outcome *o)
{
	become(0);
	outcome_take(o, remove_tree(AT(0)));
}

static void run_umask(struct side *s, const struct call *c, struct outcome *o)
{
	(void)s;
	(void)o;
	umask((mode_t)c->choice);
}

static const struct flag rename_choices[] = { { "0", 0, 1 }, { "RENAME_NOREPLACE", 1, 6 },
	{ "RENAME_NOREPLACE|RENAME_EXCHANGE", 3, 1 }, { "0x80", 0x80, 1 }, { 0 } };
static const struct flag exchange_choices[] = { { "RENAME_EXCHANGE", 2, 1 }, { 0 } };
static const struct flag link_flags[] = { { "AT_SYMLINK_FOLLOW", AT_SYMLINK_FOLLOW, 25 }, { 0 } };
static const struct flag mknod_choices[] = { { "S_IFIFO", S_IFIFO, 4 }, { "S_IFREG", S_IFREG, 3 },
	{ "S_IFDIR", S_IFDIR, 1 }, { 0 } };
static const struct flag socket_choices[] = { { "S_IFSOCK", S_IFSOCK, 1 }, { 0 } };
static const struct flag umask_choices[] = { { "022", 022, 4 }, { "0", 0, 2 }, { "077", 077, 1 },
	{ "027", 027, 1 }, { "0777", 0777, 1 }, { 0 } };

const struct op ops_names[] = {
	{ "mkdir", 50, WANTS_FOLDER | USES_PATH | USES_MODE, NULL, NULL, run_mkdir },
	{ "rmdir", 12, WANTS_FOLDER | USES_PATH, NULL, NULL, run_rmdir },
	{ "unlink", 35, USES_PATH, NULL, NULL, run_unlink },
	{ "rename", 60, USES_PATH | USES_PATH2, NULL, NULL, run_rename },
	{ "renameat2", 15, USES_PATH | USES_PATH2, rename_choices, NULL, run_renameat2 },
	{ "exchange", 15, USES_PATH | USES_PATH2, exchange_choices, NULL, run_renameat2 },
	{ "link", 30, USES_PATH | USES_PATH2, NULL, link_flags, run_link },
	{ "link_fd", 8, USES_SLOT | USES_PATH2, NULL, NULL, run_link_fd },
	{ "symlink", 30, USES_PATH | USES_LINK_TEXT, NULL, NULL, run_symlink },
	{ "readlink", 20, USES_PATH | USES_LENGTH, NULL, NULL, run_readlink },
	{ "mknod", 15, USES_PATH | USES_MODE, mknod_choices, NULL, run_mknod },
	{ "mksock", 3, USES_PATH | USES_MODE, socket_choices, NULL, run_mknod },
	{ "remove_tree", 2, USES_PATH, NULL, NULL, run_remove_tree },
	{ "umask", 2, 0, umask_choices, NULL, run_umask },
	{ 0 },
};
