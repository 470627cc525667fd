#include "tools/ctl/destination.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

TestSuite(ctl_destination, .timeout = 300);

/* `there`: the directories that exist, separated by spaces. `opened`: the one that was opened. */
static struct {
	const char *there;
	char opened[100];
} disk;

static void let_go(struct provider *p)
{
	free(p);
}

static enum err open_dir(void *context, const char *path, struct provider **out, struct error *e)
{
	static const struct provider_ops ops = { .name = "test", .release = let_go };
	char word[100];

	(void)context;
	snprintf(word, sizeof word, " %s ", path ? path : "-");
	if (!strstr(disk.there, word))
		return error_set(e, ERR_NOT_FOUND, "%s", word);
	snprintf(disk.opened, sizeof disk.opened, "%s", path ? path : "-");
	*out = calloc(1, sizeof **out);
	(*out)->ops = &ops;
	return ERR_OK;
}

/* "DIRECTORY opened: the target of `name` in it". */
static const char *lands(const char *path, bool is_single, const char *name)
{
	static char text[400];
	AUTO_DESTINATION struct destination d;
	AUTO_FREE char *target = NULL;
	struct error e = { 0 };

	if (destination_find(&d, path, is_single, open_dir, NULL, &e)) {
		snprintf(text, sizeof text, "%s", e.text);
		return text;
	}
	target = destination_target(&d, name);
	snprintf(text, sizeof text, "%s: %s", disk.opened, target);
	return text;
}

Test(ctl_destination, what_is_copied_goes_where_cp_would_put_it)
{
	static const struct {
		const char *path;
		bool is_single;
		const char *name, *wanted;
	} rows[] = {
		{ NULL, true, "f", "-: f" },
		{ "a", true, "f", "a: f" },
		{ "a", true, "", "a: " },
		{ "/", true, "f", "/: f" },
		{ "new", true, "f", "-: new" },
		{ "new", true, "", "-: new" },
		{ "new", false, "f", "-: new/f" },
		{ "new/", true, "f", "-: new/f" },
		{ "a/new", true, "f", "a: new" },
		{ "a//new/er", true, "f", "a: new/er" },
		{ "a/new/er", false, "f", "a: new/er/f" },
		{ "/new", true, "f", "/: new" },
		{ "/x/new", true, "f", "/: x/new" },
	};

	disk.there = " - a / ";
	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
		cr_expect(eq(str, (char *)lands(rows[n].path, rows[n].is_single, rows[n].name),
				  (char *)rows[n].wanted),
			"row %zu", n);
}

Test(ctl_destination, where_nothing_is_there_at_all_the_last_failure_counts)
{
	disk.there = " ";
	cr_expect(eq(str, (char *)lands("a/b", true, "f"), " - "));
	cr_expect(eq(str, (char *)lands("/a/b", true, "f"), " / "));
}

Test(ctl_destination, a_name_that_leads_up_is_refused)
{
	disk.there = " - a / ";
	cr_expect(eq(str, (char *)lands("a/../b", true, "f"), "'../b': not a path of the tree"));
	cr_expect(eq(
		str, (char *)lands("new/../b", true, "f"), "'new/../b': not a path of the tree"));
}

Test(ctl_destination, sources_are_taken_apart)
{
	static const struct {
		const char *path, *dir, *name;
	} rows[] = {
		{ NULL, NULL, "" },
		{ "f", NULL, "f" },
		{ "d/f", "d", "f" },
		{ "d/f//", "d", "f" },
		{ "/f", "/", "f" },
		{ "/", "/", "" },
		{ ".", ".", "" },
		{ "..", "..", "" },
		{ "d/.", "d/.", "" },
		{ "d/../", "d/..", "" },
		{ ".f", NULL, ".f" },
		{ "..f", NULL, "..f" },
	};

	for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
		struct whereabouts w;

		cr_assert(eq(int, whereabouts_of(rows[n].path, &w, NULL), ERR_OK));
		cr_expect(eq(str, w.dir ? w.dir : (char *)"none",
				  (char *)(rows[n].dir ? rows[n].dir : "none")),
			"row %zu", n);
		cr_expect(eq(str, w.name, (char *)rows[n].name), "row %zu", n);
		whereabouts_release(&w);
	}
}
