#include "providers/rest/rest.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* "Z", "+02:00", "-05:30"; behind a fraction of any length. */
static bool take_zone(const char *text, int64_t *offset_s)
{
	int hours, minutes, used = 0;

	if (*text == '.')
		text += 1 + strspn(text + 1, "0123456789");
	*offset_s = 0;
	if (!strcmp(text, "Z") || !strcmp(text, "z"))
		return true;
	if (*text != '+' && *text != '-')
		return false;
	if (sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || text[1 + used])
		return false;
	*offset_s = (*text == '-' ? -60 : 60) * (int64_t)(hours * 60 + minutes);
	return true;
}

int64_t rest_now_s(const struct rest *r)
{
	return server_clock_now_s(r->clock);
}

int64_t rest_seconds_until(const char *time, int64_t now_s)
{
	struct tm tm = { 0 };
	const char *rest = strptime(time, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t offset_s, left_s;

	if (!rest || !take_zone(rest, &offset_s))
		return -1;
	left_s = (int64_t)timegm(&tm) - offset_s - now_s;
	return left_s > 0 ? left_s : 0;
}
