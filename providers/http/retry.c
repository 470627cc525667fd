#include "providers/http/retry.h"

#include "providers/http/http.h"

#include <stdlib.h>
#include <strings.h>
#include <sys/random.h>

#define FIRST_PAUSE_MS 250
#define LOCK_PAUSE_MS  1000
/* Longer than any deadline; a server may ask for any number. */
#define RETRY_AFTER_MAX_MS ((int64_t)24 * 60 * 60 * 1000)

enum retry_wish retry_wish_of(unsigned flags, const char *value)
{
	if (!value || !(flags & HTTP_SHOULD_RETRY))
		return RETRY_UNSAID;
	if (!strcasecmp(value, "false"))
		return RETRY_NEVER;
	return strcasecmp(value, "true") ? RETRY_UNSAID : RETRY_AGAIN;
}

bool retry_wants_status(unsigned flags, int status, enum retry_wish wish)
{
	if (wish == RETRY_NEVER)
		return false;
	if (wish == RETRY_AGAIN && flags & HTTP_REPEATABLE && status >= 400 && status != 408)
		return true;
	switch (status) {
	case 408: return retry_is_lock(flags, status);
	case 409: return retry_is_lock(flags, status) || flags & HTTP_CONFLICT_PASSES;
	case 429: return true;
	case 502: return flags & HTTP_REPEATABLE && !(flags & HTTP_BAD_GATEWAY_IS_FINAL);
	case 500: return flags & HTTP_REPEATABLE && !(flags & HTTP_INTERNAL_ERROR_IS_FINAL);
	case 503:
	case 504: return flags & HTTP_REPEATABLE;
	default: return false;
	}
}

bool retry_wants_redirect(unsigned flags, int status)
{
	return flags & HTTP_REPEATABLE && (status == 307 || status == 308);
}

bool retry_is_lock(unsigned flags, int status)
{
	if (status == 408)
		return flags & HTTP_LATENESS_PASSES && flags & HTTP_REPEATABLE;
	return status == 409 && flags & HTTP_LOCK_PASSES;
}

bool retry_is_lasting(unsigned flags, int status)
{
	return status == 409 && flags & HTTP_CONFLICT_PASSES;
}

bool retry_is_undone(unsigned flags, int status)
{
	return status == 429 || retry_is_lasting(flags, status) ||
		(status == 409 && retry_is_lock(flags, status));
}

/* A number from 0 to below `below`. Its quality does not matter. */
static int64_t random_ms(int64_t below)
{
	uint32_t dice = 0;

	if (getrandom(&dice, sizeof dice, GRND_NONBLOCK) != sizeof dice)
		return below / 2;
	return dice % below;
}

int64_t retry_after_ms_of(const char *value)
{
	char *end;
	double ms = value ? strtod(value, &end) : -1;

	if (!value || end == value || !(ms >= 0))
		return -1;
	return ms < (double)RETRY_AFTER_MAX_MS ? (int64_t)ms : RETRY_AFTER_MAX_MS;
}

int64_t retry_pause_ms(unsigned repetition, bool is_lock, int64_t retry_after_ms)
{
	const unsigned most = is_lock ? RETRY_LOCK_MAX : RETRY_MAX;
	int64_t pause_ms = (is_lock ? LOCK_PAUSE_MS : FIRST_PAUSE_MS)
		<< (repetition < most ? repetition : most - 1);

	if (retry_after_ms > RETRY_AFTER_MAX_MS)
		retry_after_ms = RETRY_AFTER_MAX_MS;
	if (retry_after_ms >= 0)
		return retry_after_ms + random_ms(FIRST_PAUSE_MS);
	return pause_ms * 3 / 4 + random_ms(pause_ms / 2);
}
