#include "providers/helper/version_text.h"

#include <inttypes.h>
#include <stdio.h>

void version_write(const struct version *v, char out[VERSION_TEXT_MAX])
{
	snprintf(out, VERSION_TEXT_MAX, "=%" PRIu64 " %lld.%09ld %lld.%09ld", v->size,
		(long long)v->mtime.tv_sec, v->mtime.tv_nsec, (long long)v->ctime.tv_sec,
		v->ctime.tv_nsec);
}

const char *version_read(const char *text, struct version *out)
{
	long long mtime, ctime;
	int end = -1;

	*out = (struct version){ 0 };
	if (sscanf(text, "=%" SCNu64 " %lld.%9ld %lld.%9ld%n", &out->size, &mtime,
		    &out->mtime.tv_nsec, &ctime, &out->ctime.tv_nsec, &end) != 5 ||
		(text[end] && text[end] != ' ')) {
		*out = (struct version){ 0 };
		return NULL;
	}
	out->mtime.tv_sec = (time_t)mtime;
	out->ctime.tv_sec = (time_t)ctime;
	return text + end;
}
