#include "tools/ctl/each.h"

#include "tools/say.h"

#include <stdio.h>

static error_t take_word(int key, char *value, struct argp_state *state)
{
	char ***words = state->input;

	(void)value;
	switch (key) {
	case ARGP_KEY_ARGS: *words = state->argv + state->next; return 0;
	case ARGP_KEY_NO_ARGS:
		return ctl_usage(
			state, "the sandbox is missing, as in %s local:demo", state->argv[0]);
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp each_argp = { .parser = take_word };

static enum err do_to(const char *word, const struct ctl_common *common, each_act act,
	void *context, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	enum err kind = target_parse(&t, word, common, e);

	return kind ? kind : target_explain(&t, act(&t, context, e), e);
}

enum err each_do(
	char **words, const struct ctl_common *common, each_act act, void *context, struct error *e)
{
	enum err failure = ERR_OK;

	for (; *words && failure != ERR_INTERRUPTED; words++) {
		struct error why = { 0 };
		enum err kind = do_to(*words, common, act, context, &why);

		if (!kind)
			continue;
		if (failure)
			say(stderr, "sandboxctl: %s", e->text);
		failure = error_set(e, kind, "%s", why.text);
	}
	return failure;
}

enum err each_run(struct ctl_run *run, each_act act, struct error *e)
{
	struct ctl_common common;
	char **words = NULL;
	enum err kind = ctl_parse(run, &words, &common, e);

	return kind ? kind : each_do(words, &common, act, NULL, e);
}
