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

/* false: not as RFC 3339 has it. */
static bool read_time(const char *time, int64_t *out)
{
	struct tm tm = { 0 };
	const char *rest = strptime(time, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t offset_s;

	if (!rest || !take_zone(rest, &offset_s))
		return false;
	*out = (int64_t)timegm(&tm) - offset_s;
	return true;
}

int64_t rest_seconds_until(const char *time, int64_t now_s)
{
	int64_t then_s;

	if (!read_time(time, &then_s))
		return -1;
	return then_s > now_s ? then_s - now_s : 0;
}

int64_t rest_seconds_since(const char *time, int64_t now_s)
{
	int64_t then_s;

	if (!read_time(time, &then_s))
		return -1;
	return now_s > then_s ? now_s - then_s : 0;
}
