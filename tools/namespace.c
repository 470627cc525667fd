#include "tools/namespace.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <sched.h>

enum err namespace_enter(const char *path, struct error *e)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(e, errno, "-N %s: cannot open the namespace", path);
	if (setns(fd, CLONE_NEWNS))
		return error_errno(e, errno, "-N %s: cannot enter the namespace", path);
	return ERR_OK;
}
