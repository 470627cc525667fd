#include "providers/variables.h"

#include "providers/base/buf.h"
#include "providers/provider.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(variables, .timeout = 300);

/* Its variables of keys, ", " between. */
static void put_key_names(struct buf *out, const char *provider)
{
	const struct variable *v;

	for (size_t i = 0; (v = variable_of(provider, VARIABLE_KEY, i)); i++)
		buf_printf(out, "%s%s", i ? ", " : "", v->name);
}

Test(variables, of_keys_are_those_that_the_providers_tell)
{
	const struct provider_ops *ops;

	for (size_t i = 0; (ops = provider_at(i)); i++) {
		AUTO_BUF struct buf names = BUF_INIT(1000);

		put_key_names(&names, ops->name);
		cr_expect(eq(str, (char *)buf_text(&names), (char *)ops->key_names));
	}
}

Test(variables, belong_to_a_provider_or_to_all_and_are_told_once)
{
	const struct variable *v;

	for (size_t i = 0; (v = variable_at(i)); i++) {
		if (*v->provider)
			cr_expect(not(zero(ptr,
					  (void *)provider_find(v->provider, strlen(v->provider)))),
				"%s: of %s", v->name, v->provider);
		for (size_t before = 0; before < i; before++)
			cr_expect(ne(str, (char *)variable_at(before)->name, (char *)v->name));
	}
}

Test(variables, that_are_empty_are_not_set)
{
	setenv("RUNLOOP_BASE_URL", "", 1);
	cr_expect(zero(ptr, (void *)variable_set("RUNLOOP_BASE_URL")));
	cr_expect(eq(str, (char *)variable("RUNLOOP_BASE_URL"), "https://api.runloop.ai"));
	cr_expect(
		eq(str, (char *)variable_first("runloop", VARIABLE_URL), "https://api.runloop.ai"));
}

Test(variables, of_an_older_name_count_behind_the_newer)
{
	unsetenv("DAYTONA_API_URL");
	setenv("DAYTONA_SERVER_URL", "https://older.example", 1);
	cr_expect(
		eq(str, (char *)variable_first("daytona", VARIABLE_URL), "https://older.example"));
	setenv("DAYTONA_API_URL", "https://newer.example", 1);
	cr_expect(
		eq(str, (char *)variable_first("daytona", VARIABLE_URL), "https://newer.example"));
}
