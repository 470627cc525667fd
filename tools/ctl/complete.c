#include "tools/ctl/complete.h"

#include "providers/base/harmless.h"
#include "providers/base/path.h"
#include "providers/provider.h"
#include "tools/ctl/mounts.h"
#include "tools/say.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* The part of a completion's time in which a program that did not answer is ended. */
#define ENDING_MS 500

/* A word with a character replaced would name something else. */
static bool is_offered(const struct completion *c, const struct buf *candidate)
{
	return !strncmp(buf_text(candidate), c->word, strlen(c->word)) &&
		harmless_run(candidate->bytes, candidate->len) == candidate->len;
}

void offer(const struct completion *c, const char *before, const char *text, size_t len,
	const char *help)
{
	AUTO_BUF struct buf candidate = BUF_INIT(4096);

	buf_printf(&candidate, "%s%.*s", before, (int)len, text);
	if (!is_offered(c, &candidate))
		return;
	say_part(c->to, "%s", buf_text(&candidate));
	fputc('\t', c->to);
	say(c->to, "%s", help ? help : "");
}

/* ---- Sandboxes ---- */

static void offer_providers(const struct completion *c, const char *after)
{
	const struct provider_ops *ops;

	for (size_t i = 0; (ops = provider_at(i)); i++) {
		char name[64];
		int len = snprintf(name, sizeof name, "%s%s", ops->name, after);

		offer(c, "", name, (size_t)len, ops->title);
	}
}

struct listing {
	const struct completion *completion;
	const struct provider_ops *ops;
};

static void offer_sandbox(void *context, const char *id)
{
	const struct listing *l = context;
	char source[256];
	int len = snprintf(source, sizeof source, "%s:%s", l->ops->name, id);

	if ((size_t)len < sizeof source)
		offer(l->completion, "", source, (size_t)len, l->ops->title);
}

/* The last means, where the end of a program takes too long as well. */
static void give_up(int signal)
{
	(void)signal;
	_exit(0);
}

static void offer_ids(const struct completion *c, const struct provider_ops *ops)
{
	const struct call call = { .progress_ms = COMPLETE_SECONDS * 1000 - ENDING_MS };
	struct listing l = { c, ops };

	signal(SIGALRM, give_up);
	alarm(COMPLETE_SECONDS);
	provider_offer_ids(ops, &call, offer_sandbox, &l);
}

static void offer_sources(const struct completion *c)
{
	size_t len = strcspn(c->word, ":");
	const struct provider_ops *ops = c->word[len] ? provider_find(c->word, len) : NULL;

	if (ops)
		offer_ids(c, ops);
	else
		offer_providers(c, ":");
}

/* ---- Mounts ---- */

static void offer_mounts(const struct completion *c)
{
	AUTO_MOUNTS struct mounts mounts = { 0 };

	if (!mounts_find(&mounts, NULL))
		for (size_t i = 0; i < mounts.count; i++)
			offer(c, "", mounts.list[i].dir, strlen(mounts.list[i].dir),
				mounts.list[i].source);
}

/* ---- By the name in --help ---- */

static void offer_choices(const struct completion *c, const char *before, const char *choices)
{
	while (*choices && *choices != ' ') {
		size_t len = strcspn(choices, "| ");

		if (islower((unsigned char)*choices))
			offer(c, before, choices, len, NULL);
		choices += len + (choices[len] == '|');
	}
}

static bool is_file(const char *argument)
{
	static const char *const names[] = { "FILE", "SCRIPT", "PATH", "LOCAL" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(argument, names[i], strlen(names[i])))
			return true;
	return false;
}

void offer_argument(const struct completion *c, const char *before, const char *argument)
{
	argument += strspn(argument, "[");
	if (!strncmp(argument, "PROVIDER:", 9))
		offer_sources(c);
	else if (!strncmp(argument, "PROVIDER", 8))
		offer_providers(c, "");
	else if (!strncmp(argument, "MOUNT", 5))
		offer_mounts(c);
	else if (!strncmp(argument, "DIR", 3))
		say(c->to, ":directories");
	else if (is_file(argument))
		say(c->to, ":files");
	offer_choices(c, before, argument);
}

void complete(int argc, char **argv, FILE *to)
{
	const struct completion c = { argc > 1 ? argv[argc - 1] : "", to };
	char **words = argv + 1;
	size_t count = argc > 2 ? (size_t)argc - 2 : 0;
	const char *program = argc ? path_name(argv[0]) : "";

	if (!strcmp(program, "sandboxctl"))
		complete_command(&c, words, count);
	else if (!strcmp(program, "sandboxfs") || !strncmp(program, "mount.", 6))
		complete_mount(&c, words, count);
	else if (!strncmp(program, "umount.", 7))
		complete_unmount(&c, words, count);
}
