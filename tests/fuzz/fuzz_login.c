/*
 * The file of a vendor's own program, or any other in its place. The input's first byte says which
 * vendor's.
 */
#include "providers/daytona/account.h"
#include "providers/e2b/account.h"
#include "providers/langsmith/account.h"
#include "providers/modal/account.h"

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

static void check(const struct login *login, size_t size)
{
	const char *const texts[] = { login->key, login->url, login->tenant };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		must(!texts[i] || strlen(texts[i]) <= size);
	must(!login->path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct login_format *const formats[] = { &e2b_login, &daytona_login,
		&langsmith_login, &modal_login };
	struct login login = { 0 };
	struct error e = { 0 };
	char *text = malloc(size ? size : 1);

	must(text);
	if (!size || size > LOGIN_FILE_MAX) {
		free(text);
		return 0;
	}
	memcpy(text, data + 1, size - 1);
	enum err kind = formats[*data % 4]->read(&login, text, size - 1, &e);

	must(kind == ERR_OK || kind == ERR_INVALID || kind == ERR_AUTH);
	must(kind == ERR_OK || (e.kind == kind && *e.text));
	check(&login, size);
	login_release(&login);
	free(text);
	return 0;
}
