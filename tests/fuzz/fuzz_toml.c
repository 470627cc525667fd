/* ~/.modal.toml, or any other file in its place. */
#include "providers/modal/toml.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* A table and a key are of this file, each with its end. */
static void count(void *context, const char *table, const char *key, const char *value)
{
	size_t *left = context;
	size_t len = strlen(key) + strlen(value);

	must(strlen(table) < 4096);
	must(len <= *left);
	*left -= len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* An escape may stand for as many bytes as it has. */
	size_t left = size;
	struct error e = { 0 };
	char *text = malloc(size ? size : 1);

	must(text);
	memcpy(text, data, size);
	enum err kind = toml_read(text, size, count, &left, &e);

	must(kind == ERR_OK || (kind == ERR_INVALID && e.kind == kind && *e.text));
	free(text);
	return 0;
}
