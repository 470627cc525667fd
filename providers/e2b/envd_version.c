#include "providers/e2b/envd_version.h"

#include <stddef.h>
#include <stdio.h>

struct version {
	unsigned major, minor, patch;
};

static const struct {
	enum envd_feature feature;
	struct version since;
	bool is_presumed; /* a daemon of an unknown version counts as having the feature */
} features[] = {
	{ ENVD_HAS_DEFAULT_USER, { 0, 4, 0 }, true },
	{ ENVD_TAKES_RAW_FILES, { 0, 5, 7 }, false },
};

/* The last number of "0.6" is 0. False: the version is unknown. */
static bool read_version(struct version *out, const char *text)
{
	*out = (struct version){ 0 };
	return sscanf(text + (*text == 'v'), "%9u.%9u.%9u", &out->major, &out->minor,
		       &out->patch) >= 2;
}

static bool is_before(const struct version *one, const struct version *other)
{
	if (one->major != other->major)
		return one->major < other->major;
	if (one->minor != other->minor)
		return one->minor < other->minor;
	return one->patch < other->patch;
}

unsigned envd_features(const char *version)
{
	struct version parsed;
	bool is_known = read_version(&parsed, version);
	unsigned found = 0;

	for (size_t i = 0; i < sizeof features / sizeof *features; i++)
		if (is_known ? !is_before(&parsed, &features[i].since) : features[i].is_presumed)
			found |= features[i].feature;
	return found;
}

bool envd_is_too_old(const char *version)
{
	static const struct version least = { 0, 1, 0 };
	struct version parsed;

	return read_version(&parsed, version) && is_before(&parsed, &least);
}
