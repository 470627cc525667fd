#include "tools/describe/describe.h"

#include "providers/provider.h"
#include "tools/creation_options.h"
#include "tools/ctl/option_name.h"
#include "tools/reuse.h"

#include <stdio.h>

#define ROW(bit, letter, field, setter, name, word, argument, help)                                \
	{                                                                                          \
		bit, word                                                                          \
	}

static const struct {
	unsigned option;
	const char *word;
} rows[] = { CREATION_OPTIONS(ROW, ROW), { OPTION_ENV, "env" }, { OPTION_LIFETIME, "timeout" } };

static void describe_row(const struct provider_ops *ops, const char *word, const struct error *why)
{
	printf("new\t%s\t%s\t%s\n", ops->name, word, why->kind ? why->text : "");
}

static void describe_provider(const struct provider_ops *ops)
{
	static const char *const labels[] = { "a=b", NULL };
	const struct provider_config cfg = { .labels = labels, .option_name = ctl_option_name };
	struct error why = { 0 };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		why = (struct error){ 0 };
		provider_check_options(ops, &cfg, rows[i].option, &why);
		describe_row(ops, rows[i].word, &why);
	}
	why = (struct error){ 0 };
	reuse_check(ops, &cfg, &why);
	describe_row(ops, "reuse", &why);
}

void describe_new(void)
{
	const struct provider_ops *ops;

	for (size_t i = 0; (ops = provider_at(i)); i++)
		describe_provider(ops);
}
