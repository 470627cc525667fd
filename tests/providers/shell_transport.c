#include "tests/providers/shell_pair.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <stdio.h>
#include <sys/stat.h>

TestSuite(shell_transport, .timeout = 300);

/* ---- A transport that is unkind ---- */

static enum err take_item(void *context, const struct list_item *item, struct error *e)
{
	size_t *items = context;

	(void)item, (void)e;
	++*items;
	return ERR_OK;
}

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	size_t *bytes = context;

	(void)e;
	*bytes += piece->len;
	return ERR_OK;
}

/* Each verb once; the first failure counts. */
static enum err use_everything(struct pair *w, size_t *bytes)
{
	const struct fetch_item items[] = { { .kind = FETCH_BYTES, .path = "f", .length = 9 },
		{ .kind = FETCH_HASHES, .path = "f", .length = 10, .block_size = 4 } };
	const struct change change = {
		.op = CHANGE_SETATTR, .path = "f", .set = SET_MODE, .mode = 0600
	};
	const struct apply_request apply = { .changes = &change, .changes_count = 1 };
	const char *const starts[] = { "", "f" };
	const struct list_request list = {
		.starts = starts, .starts_count = 2, .depth = LIST_DEPTH_ALL
	};
	struct provider *p = &w->host.base;
	struct change_result r;
	size_t heard = 0;
	const enum err ends[] = { shell_fetch(p, NULL, items, 2, take_piece, bytes, NULL),
		shell_list(p, NULL, &list, take_item, &heard, NULL),
		shell_apply(p, NULL, &apply, &r, NULL) };

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (ends[i] != ERR_OK)
			return ends[i];
	return ERR_OK;
}

OVER_SHELLS(shell_transport, a_greeting_is_not_an_answer)
{
	size_t bytes = 0;

	pair_make_fixtures(w);
	w->host.greeting = "Welcome!\nR0";
	cr_expect(use_everything(w, &bytes) == ERR_OK, "%s", w->shell);
}

Test(shell_transport, an_answer_that_breaks_off_is_an_error)
{
	struct pair w;

	pair_make(&w, "sh");
	pair_make_fixtures(&w);
	for (size_t at = 1; at < 200; at += 7) {
		size_t bytes = 0;

		w.host.cut_after = at;
		cr_expect(use_everything(&w, &bytes) == ERR_PROTOCOL, "after %zu bytes", at);
	}
	pair_remove(&w);
}

/* Nothing is believed: whatever single byte is another, nothing bad happens here. */
Test(shell_transport, an_answer_that_is_garbled_does_no_harm)
{
	struct pair w;

	pair_make(&w, "sh");
	pair_make_fixtures(&w);
	for (size_t at = 1; at < 1500; at += 13) {
		size_t bytes = 0;

		w.host.garble_at = at;
		use_everything(&w, &bytes);
		/* As many as were asked for, and the hashes of three blocks. */
		cr_expect(bytes <= 9 + 3 * 16, "%zu bytes", bytes);
	}
	pair_remove(&w);
}

OVER_SHELLS(shell_transport, a_shell_that_is_not_there_is_an_error)
{
	const char *starts[] = { "" };
	const struct list_request list = { .starts = starts, .starts_count = 1, .depth = 1 };
	struct error e = { 0 };
	size_t heard = 0;

	w->host.base.shell = "no-such-shell";
	cr_expect(shell_list(&w->host.base, NULL, &list, take_item, &heard, &e) == ERR_PROTOCOL);
	cr_expect(strstr(e.text, "no-such-shell") != NULL, "%s", e.text);
}
