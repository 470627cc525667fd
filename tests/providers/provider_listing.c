/* A list of sandboxes, some of which the vendor's part could not read. */
#include "providers/provider.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(provider_listing, .timeout = 300);

static enum err list_with_two_unread(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	static const struct sandbox_entry entries[] = { { .unread = "the first" }, { .id = "a" },
		{ .unread = "the second" }, { .id = "b" } };
	enum err kind = ERR_OK;

	(void)cfg, (void)call;
	for (size_t i = 0; !kind && i < sizeof entries / sizeof *entries; i++)
		kind = sink(context, &entries[i], e);
	return kind;
}

static const struct provider_ops vendor = { .name = "vendor",
	.list_sandboxes = list_with_two_unread };

static enum err note(void *context, const struct sandbox_entry *entry, struct error *e)
{
	(void)e;
	strcat(context, entry->id);
	return ERR_OK;
}

static enum err stop(void *context, const struct sandbox_entry *entry, struct error *e)
{
	note(context, entry, e);
	return error_set(e, ERR_INTERRUPTED, "enough");
}

Test(provider_listing, unreadable_sandboxes_are_reported_behind_all_others)
{
	char ids[10] = "";
	struct error e = { 0 };

	cr_expect(
		eq(int, provider_list_sandboxes(&vendor, NULL, NULL, note, ids, &e), ERR_PROTOCOL));
	cr_expect(eq(str, ids, "ab"));
	cr_expect(eq(str, e.text, "the first; so 2 in the list cannot be shown"));
}

Test(provider_listing, a_caller_who_wants_no_more_is_given_the_callers_own_error)
{
	char ids[10] = "";
	struct error e = { 0 };

	cr_expect(eq(
		int, provider_list_sandboxes(&vendor, NULL, NULL, stop, ids, &e), ERR_INTERRUPTED));
	cr_expect(eq(str, ids, "a"));
	cr_expect(eq(str, e.text, "enough"));
}

static enum err list_without_end(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	static const struct sandbox_entry entries[] = { { .id = "a" }, { .unread = "b" } };
	enum err kind = ERR_OK;

	(void)cfg, (void)call;
	for (size_t n = 0; !kind; n++)
		kind = sink(context, &entries[n % 2], e);
	return kind;
}

static enum err count(void *context, const struct sandbox_entry *entry, struct error *e)
{
	(void)entry, (void)e;
	++*(int *)context;
	return ERR_OK;
}

Test(provider_listing, a_list_without_an_end_is_given_up)
{
	static const struct provider_ops endless = { .name = "vendor",
		.list_sandboxes = list_without_end };
	int listed = 0;
	struct error e = { 0 };

	cr_expect(eq(int, provider_list_sandboxes(&endless, NULL, NULL, count, &listed, &e),
		ERR_TOO_LARGE));
	cr_expect(eq(int, listed, 50000));
	cr_expect(eq(str, e.text, "more than 100000 sandboxes came: the list has no end"));
}
