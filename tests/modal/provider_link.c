/* Large data over a link that lives, and how a dead link is found. */
#include "providers/base/cleanup.h"
#include "tests/modal/modal_server.h"
#include "tests/support/changes.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <stdlib.h>
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

/* ---- Data in both directions at once ---- */

/* Several times the capacity of sockets and of flow control's windows. */
#define MUCH ((size_t)24 * 1024 * 1024)

static void *write_much(void *context)
{
	AUTO_FREE char *bytes = calloc(1, VERB_DATA_MAX);
	struct change changes[MUCH / VERB_DATA_MAX];
	struct change_result results[MUCH / VERB_DATA_MAX] = { 0 };
	const struct apply_request request = { .changes = changes,
		.changes_count = MUCH / VERB_DATA_MAX };
	struct error *e = context;

	for (size_t n = 0; n < MUCH / VERB_DATA_MAX; n++)
		changes[n] = CHANGE(WRITE, "much", .offset = n * VERB_DATA_MAX, .data = bytes,
			.data_len = VERB_DATA_MAX);
	if (!provider_apply(server.p, NULL, &request, results, e))
		for (size_t n = 0; n < MUCH / VERB_DATA_MAX && !e->kind; n++)
			error_set(e, results[n].err, "%s", results[n].why);
	return NULL;
}

Test(modal_link, what_goes_both_ways_at_once_arrives)
{
	struct error e = { 0 };
	pthread_t writing;

	free(modal_server_run(&server, ": >much"));
	cr_assert(eq(int, pthread_create(&writing, NULL, write_much, &e), 0));
	for (int i = 0; i < 3; i++) {
		AUTO_FREE char *said =
			modal_server_run(&server, "head -c 8388608 /dev/zero | tr '\\0' y");

		cr_expect(eq(sz, strspn(said, "y"), 8388608));
	}
	pthread_join(writing, NULL);
	cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
	AUTO_FREE char *size = modal_server_run(&server, "stat -c %s much");
	cr_expect(eq(str, size, "25165824\n"));
}
