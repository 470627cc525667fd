/* Much at once over a link that lives, and what is noticed of one that does not. */
#include "providers/base/cleanup.h"
#include "tests/modal/modal_server.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <string.h>

static struct modal_server server;

static void set_up(void)
{
	modal_server_start(&server);
	modal_server_attach(&server);
}

static void tear_down(void)
{
	modal_server_stop(&server);
}

TestSuite(modal_link, .init = set_up, .fini = tear_down, .timeout = 300);

/* ---- Both ways at once ---- */

/* Several times what sockets and windows of flow control hold. */
#define MUCH ((size_t)24 * 1024 * 1024)

static enum err fill(void *context, uint64_t offset, void *dst, size_t len, struct error *e)
{
	(void)context, (void)offset, (void)e;
	memset(dst, 'x', len);
	return ERR_OK;
}

static void *store_much(void *context)
{
	const struct store_item item = {
		.path = "much", .mode = 0100644, .size = MUCH, .read = fill
	};
	struct store_result result = { 0 };
	struct error *e = context;

	if (!provider_store(server.p, NULL, &item, 1, &result, e) && result.err)
		error_set(e, result.err, "%s", result.why);
	return NULL;
}

Test(modal_link, what_goes_both_ways_at_once_arrives)
{
	struct error e = { 0 };
	pthread_t storing;

	cr_assert(eq(int, pthread_create(&storing, NULL, store_much, &e), 0));
	for (int i = 0; i < 3; i++) {
		AUTO_FREE char *said =
			modal_server_run(&server, "head -c 8388608 /dev/zero | tr '\\0' y");

		cr_expect(eq(sz, strspn(said, "y"), 8388608));
	}
	pthread_join(storing, NULL);
	cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
	AUTO_FREE char *size = modal_server_run(&server, "stat -c %s much");
	cr_expect(eq(str, size, "25165824\n"));
}
