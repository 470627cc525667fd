#include "providers/server_clock.h"

#include <time.h>

static int64_t seconds_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec;
}

void server_clock_note(struct server_clock *c, int64_t date_s)
{
	if (date_s)
		atomic_store(&c->ahead_s, date_s - seconds_of(CLOCK_BOOTTIME));
}

int64_t server_clock_now_s(const struct server_clock *c)
{
	int64_t ahead_s = atomic_load(&c->ahead_s);

	return ahead_s ? seconds_of(CLOCK_BOOTTIME) + ahead_s : seconds_of(CLOCK_REALTIME);
}
