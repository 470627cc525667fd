/*
 * The text behind the colon of a source, as the providers with IDs of their own form read it: an ID
 * is a part of it from its beginning, and is followed by nothing or a colon.
 */
#include "providers/provider.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check(const struct provider_ops *ops, const char *text)
{
	struct error e = { 0 };
	size_t len;
	enum err kind = ops->take_id(text, &len, &e);

	must(kind == ERR_OK || (kind == ERR_INVALID && *e.text));
	if (kind)
		return;
	must(len <= strlen(text) && (!text[len] || text[len] == ':'));
	must(!len || *text != '-' || strcmp(ops->name, "ssh"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct provider_ops *ops;
	char *text = malloc(size + 1);

	must(text);
	memcpy(text, data, size);
	text[size] = 0;
	for (size_t i = 0; (ops = provider_at(i)); i++)
		if (ops->take_id)
			check(ops, text);
	free(text);
	return 0;
}
