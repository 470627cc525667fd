/* The facts about the shown root as a whole. */
#include "providers/helper/root.h"

#include <errno.h>
#include <sys/statvfs.h>

enum err root_space(const struct root *r, struct space *out, struct error *e)
{
	struct statvfs s;

	/* Staging is on the same disk where possible. */
	if (fstatvfs(r->dir_fd < 0 ? r->staging_fd : r->dir_fd, &s))
		return error_errno(e, errno, "statvfs");
	*out = (struct space){
		.block_size = s.f_frsize ? s.f_frsize : s.f_bsize,
		.blocks = s.f_blocks,
		.free = s.f_bfree,
		.available = s.f_bavail,
		.files = s.f_files,
		.files_free = s.f_ffree,
		.name_max = (uint32_t)s.f_namemax,
		.is_read_only = s.f_flag & ST_RDONLY,
	};
	return ERR_OK;
}

enum err root_learn(const struct root *r, struct root_facts *out, struct error *e)
{
	enum err k = root_check(r, e);

	if (k == ERR_OK)
		k = attr_of_fd(r->dir_fd, &out->attr, e);
	if (k == ERR_OK)
		k = root_space(r, &out->space, e);
	out->now = time_of_day();
	return k;
}
