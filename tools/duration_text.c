#include "tools/duration_text.h"

#include <stdio.h>

void duration_text(int64_t seconds, char out[DURATION_TEXT_SIZE])
{
	long long s = seconds;

	if (s < 0)
		snprintf(out, DURATION_TEXT_SIZE, "-");
	else if (s < 60)
		snprintf(out, DURATION_TEXT_SIZE, "%lld s", s);
	else if (s < 3600)
		snprintf(out, DURATION_TEXT_SIZE, "%lld min %lld s", s / 60, s % 60);
	else if (s < 86400)
		snprintf(out, DURATION_TEXT_SIZE, "%lld h %lld min", s / 3600, s / 60 % 60);
	else
		snprintf(out, DURATION_TEXT_SIZE, "%lld d %lld h", s / 86400, s / 3600 % 24);
}
