#include "providers/helper/birth.h"

#include "providers/helper/sys.h"

#include <fcntl.h>
#include <sys/stat.h>

/* Written once, before there are threads. */
static struct birth_since here;

__attribute__((constructor)) static void note_beginning(void)
{
	struct timespec now = time_of_day();
	struct attr root;

	if (sys_stat(AT_FDCWD, "/", &root))
		return;
	here.began_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	here.dev = root.dev;
}

void birth_keep_since(const struct birth_since *since, struct attr *a)
{
	bool lasts = S_ISREG(a->mode) && a->dev == since->dev && a->btime_ns >= since->began_ns;

	a->btime_ns = lasts ? a->btime_ns | BIRTH_PASSES : 0;
}

void birth_keep_since_start(struct attr *a)
{
	birth_keep_since(&here, a);
}
