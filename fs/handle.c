#include "fs/handle.h"

#include "cache/contents.h"

#include <fcntl.h>

/*
 * A close of a handle for reading reports no error. Since Linux 5.16 the kernel can leave out the
 * flush.
 */
void handle_begins(struct cache *c, struct fuse_file_info *fi)
{
	fi->fh = (fi->flags & O_ACCMODE) == O_RDONLY ? HANDLE_READS : HANDLE_WRITES;
	fi->noflush = fi->fh == HANDLE_READS;
	if (fi->fh == HANDLE_WRITES)
		cache_hold(c);
}

void handle_ends(struct cache *c, struct inode *i, const struct fuse_file_info *fi)
{
	cache_close(c, i);
	if (fi->fh == HANDLE_WRITES)
		cache_let(c);
}

/* Pages of a mapping are written where they were read, and no caller waits for them. */
unsigned handle_write_flags(const struct fuse_file_info *fi)
{
	unsigned flags = 0;

	if (fi->flags & O_APPEND && !fi->writepage)
		flags |= WRITE_APPEND;
	if (fi->flags & (O_SYNC | O_DSYNC) && !fi->writepage)
		flags |= WRITE_THROUGH;
	return flags;
}
