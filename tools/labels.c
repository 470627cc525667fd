#include "tools/labels.h"

#include <string.h>

static bool is_label(const char *label, const char *wanted)
{
	size_t len = strlen(wanted);

	return !strncmp(label, wanted, len) &&
		(!label[len] || (label[len] == '=' && !strchr(wanted, '=')));
}

static bool has_label(const struct sandbox_entry *entry, const char *wanted)
{
	for (const char *const *label = entry->labels; *label; label++)
		if (is_label(*label, wanted))
			return true;
	return false;
}

bool labels_match(const struct sandbox_entry *entry, const char *const *wanted)
{
	for (; wanted && *wanted; wanted++)
		if (!has_label(entry, *wanted))
			return false;
	return true;
}

enum err labels_check(const char *provider, const struct sandbox_entry *entry,
	const char *const *wanted, struct error *e)
{
	if (!wanted || entry->labels)
		return ERR_OK;
	return error_set(e, ERR_UNSUPPORTED,
		"%s does not say which labels its sandboxes have; leave --label out", provider);
}
