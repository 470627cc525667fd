#include "providers/server_clock.h"

#include "providers/base/time.h"

void server_clock_note(struct server_clock *c, int64_t date_s)
{
	if (date_s)
		atomic_store(&c->ahead_s, date_s - boottime_ms() / 1000);
}

int64_t server_clock_now_s(const struct server_clock *c)
{
	int64_t ahead_s = atomic_load(&c->ahead_s);

	return ahead_s ? boottime_ms() / 1000 + ahead_s : time(NULL);
}
