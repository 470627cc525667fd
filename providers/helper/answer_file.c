#include "providers/helper/answer_file.h"

#include "providers/helper/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void answer_file_init(struct answer_file *f, int dir_fd, const char *name, size_t min)
{
	*f = (struct answer_file){
		.dir_fd = dir_fd, .name = name, .min = min, .held = BUF_INIT(min), .fd = -1
	};
}

void answer_file_release(struct answer_file *f)
{
	buf_release(&f->held);
	if (f->fd >= 0)
		close(f->fd);
}

/* A repeated request finds the file of the first one. */
static bool make(struct answer_file *f)
{
	unlinkat(f->dir_fd, f->name, 0);
	f->fd = openat(f->dir_fd, f->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return f->fd >= 0;
}

static bool move_to_file(struct answer_file *f)
{
	struct iovec parts[2] = { { .iov_base = f->held.bytes, .iov_len = f->held.len } };

	if (!make(f) || !stream_write(f->fd, parts))
		return false;
	buf_release(&f->held);
	return true;
}

static bool fail(struct answer_file *f)
{
	error_errno(&f->why, errno, "an answer in %s", f->name);
	unlinkat(f->dir_fd, f->name, 0);
	return false;
}

bool answer_file_add(struct answer_file *f, struct iovec parts[2])
{
	size_t len = parts[0].iov_len + parts[1].iov_len;

	if (f->fd < 0 && len <= f->min - f->held.len) {
		buf_add(&f->held, parts[0].iov_base, parts[0].iov_len);
		if (parts[1].iov_len)
			buf_add(&f->held, parts[1].iov_base, parts[1].iov_len);
		return buf_check(&f->held, "an answer", &f->why) == ERR_OK;
	}
	if (f->fd < 0 && !move_to_file(f))
		return fail(f);
	return stream_write(f->fd, parts) || fail(f);
}
