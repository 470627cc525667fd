/*
 * push.c - sandboxctl push: files and trees of this machine into a sandbox.
 */
#include "providers/base/cleanup.h"
#include "tools/ctl/alive.h"
#include "tools/ctl/directory.h"
#include "tools/ctl/tarred.h"
#include "tools/ctl/target.h"
#include "tools/ctl/transfer.h"

#include <string.h>

/* The sources, taken apart. */
struct sources {
	struct whereabouts *all;
	char **names; /* the names of `all` */
	size_t count;
};

static void sources_release(struct sources *s)
{
	for (size_t n = 0; s->all && n < s->count; n++)
		whereabouts_release(&s->all[n]);
	free(s->all);
	free(s->names);
}
#define AUTO_SOURCES __attribute__((cleanup(sources_release)))

static enum err sources_find(struct sources *s, char *const *words, size_t count, struct error *e)
{
	enum err kind = ERR_OK;

	*s = (struct sources){ .all = calloc(count, sizeof *s->all),
		.names = calloc(count, sizeof *s->names),
		.count = count };
	if (!s->all || !s->names)
		return error_set(e, ERR_NO_MEMORY, "push");
	for (size_t n = 0; !kind && n < count; n++) {
		kind = whereabouts_of(words[n], &s->all[n], e);
		s->names[n] = s->all[n].name;
	}
	return kind;
}

static bool is_same_dir(const struct whereabouts *a, const struct whereabouts *b)
{
	return !a->dir == !b->dir && (!a->dir || !strcmp(a->dir, b->dir));
}

/* The number of sources in a row that are in one directory and are copied together. */
static size_t count_together(const struct sources *s, size_t first)
{
	size_t n = first + 1;

	while (n < s->count && is_same_dir(&s->all[first], &s->all[n]))
		n++;
	return n - first;
}

static enum err push_together(struct transfer *t, const struct call *call, const struct sources *s,
	size_t first, size_t count, const struct destination *to, struct error *e)
{
	const char *dir = s->all[first].dir;
	struct provider *from;
	enum err kind = directory_open(dir ? dir : ".", &from, e);

	if (kind)
		return kind;
	kind = transfer_copy(t, call, from, dir, s->names + first, count, to, e);
	provider_release(from);
	return kind;
}

static enum err open_remote(void *context, const char *path, struct provider **out, struct error *e)
{
	const struct target *target = context;
	struct provider_config config = target->config;

	config.path = path;
	return provider_connect(target->source.ops, &config, &target->call, out, e);
}

static enum err push_each(struct transfer *t, const struct call *call, const struct sources *s,
	const struct destination *to, struct error *e)
{
	enum err kind = ERR_OK;

	for (size_t n = 0; !kind && n < s->count;) {
		size_t count = count_together(s, n);

		kind = push_together(t, call, s, n, count, to, e);
		n += count;
	}
	return kind;
}

/* Without a helper, by way of a directory here. */
static enum err push_tarred(struct transfer *t, const struct call *call, const struct sources *s,
	const struct destination *to, struct error *e)
{
	AUTO_TARRED struct tarred here = { 0 };
	struct destination there = *to;
	enum err kind = tarred_open(&here, e);

	there.at = here.at;
	if (!kind)
		kind = push_each(t, call, s, &there, e);
	return kind ? kind : tarred_send(&here, call, to->at, e);
}

static enum err push_all(struct transfer *t, struct target *target, struct error *e)
{
	AUTO_SOURCES struct sources s = { 0 };
	AUTO_DESTINATION struct destination to = { 0 };
	AUTO_ALIVE struct alive alive = { 0 };
	enum err kind = sources_find(&s, t->words, t->count, e);

	if (!kind)
		kind = destination_find(
			&to, target->source.path, t->count == 1, open_remote, target, e);
	if (!kind)
		kind = alive_begin(&alive, to.at, &target->call, e);
	if (kind)
		return kind;
	return (to.at->no_helper ? push_tarred : push_each)(t, &target->call, &s, &to, e);
}

static enum err push(struct transfer *t, struct error *e)
{
	AUTO_TARGET struct target target = { 0 };
	enum err kind;

	t->word = t->words[t->count];
	kind = target_parse(&target, t->word, &t->common, e);
	return kind ? kind : push_all(t, &target, e);
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct transfer t = { .run = run, .mode_mask = 07777, .example = "project local:demo" };

	return transfer_run(&t, push, e);
}

const struct ctl_command ctl_push = {
	.name = "push",
	.arguments = "LOCAL... PROVIDER:ID[:PATH]",
	.summary = "Copy files and directories into a sandbox",
	.details = "They go into the directory PATH, without one into the working directory; one "
		   "alone "
		   "becomes PATH where that is no directory yet. What is missing on the way is "
		   "made. DIRECTORY/. "
		   "means what is in the directory.",
	.flags = CTL_JSON | CTL_ACCOUNT | CTL_USER,
	.argp = &transfer_argp,
	.run = run,
};
