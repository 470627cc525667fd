#include "tools/build_news.h"

#include "providers/base/call.h"
#include "providers/base/cleanup.h"
#include "tools/duration_text.h"
#include "tools/say.h"

#include <string.h>

static char **place_of(struct build_news *n, size_t number)
{
	return &n->kept[number % BUILD_NEWS_KEPT];
}

/* A state is reported again and again. */
static void keep(struct build_news *n, const char *text)
{
	char **place = place_of(n, n->count);

	if (n->count && !strcmp(*place_of(n, n->count - 1), text))
		return;
	free(*place);
	*place = strdup(text);
	n->count += *place != NULL;
}

static void show(struct build_news *n, const char *doing, const char *text)
{
	char elapsed[DURATION_TEXT_SIZE];

	if (!n->is_terminal)
		return;
	duration_text((monotonic_ms() - n->began_ms) / 1000, elapsed);
	say_over("%s, %s: %.60s", doing, elapsed, text);
	n->is_shown = true;
}

static void line(struct build_log *log, const char *text)
{
	struct build_news *n = (struct build_news *)log;

	keep(n, text);
	show(n, "building the image", text);
}

static void state(struct build_log *log, const char *text)
{
	show((struct build_news *)log, "waiting for the sandbox", text);
}

void build_news_begin(struct build_news *n)
{
	*n = (struct build_news){ .log = { line, state },
		.began_ms = monotonic_ms(),
		.is_terminal = isatty(STDERR_FILENO) };
}

void build_news_end(struct build_news *n, bool failed)
{
	size_t first = n->count > BUILD_NEWS_KEPT ? n->count - BUILD_NEWS_KEPT : 0;

	if (n->is_shown)
		say_over("%s", "");
	for (size_t i = first; failed && i < n->count; i++)
		say(stderr, "%s", *place_of(n, i));
	for (size_t i = 0; i < BUILD_NEWS_KEPT; i++)
		free(n->kept[i]);
	n->count = 0;
}
