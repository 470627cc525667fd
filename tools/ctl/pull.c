/*
 * pull.c - sandboxctl pull: files and trees of sandboxes onto this machine.
 */
#include "providers/base/cleanup.h"
#include "tools/ctl/alive.h"
#include "tools/ctl/directory.h"
#include "tools/ctl/tarred.h"
#include "tools/ctl/target.h"
#include "tools/ctl/transfer.h"

static enum err open_here(void *context, const char *path, struct provider **out, struct error *e)
{
	(void)context;
	return directory_open(path ? path : ".", out, e);
}

/* Without a helper, by way of a directory here. */
static enum err pull_whole(struct transfer *t, struct target *source, const struct whereabouts *w,
	const struct destination *to, struct error *e)
{
	AUTO_TARRED struct tarred here = { 0 };
	struct provider *from = source->provider;
	enum err kind = from->no_helper ? tarred_open(&here, e) : ERR_OK;

	if (!kind && here.at)
		kind = tarred_fetch(&here, &source->call, from, w->name, e);
	return kind ? kind
		    : transfer_copy(t, &source->call, here.at ? here.at : from, w->dir,
			      &(char *){ w->name }, 1, to, e);
}

static enum err pull_from(
	struct transfer *t, struct target *source, const struct destination *to, struct error *e)
{
	AUTO_ALIVE struct alive alive = { 0 };
	struct whereabouts w;
	enum err kind = whereabouts_of(source->source.path, &w, e);

	if (kind)
		return kind;
	source->config.path = w.dir;
	kind = target_connect(source, e);
	if (!kind)
		kind = alive_begin(&alive, source->provider, &source->call, e);
	if (!kind)
		kind = pull_whole(t, source, &w, to, e);
	whereabouts_release(&w);
	return kind;
}

static enum err pull_word(struct transfer *t, const struct destination *to, struct error *e)
{
	AUTO_TARGET struct target source = { 0 };
	enum err kind = target_parse(&source, t->word, &t->common, e);

	return kind ? kind : pull_from(t, &source, to, e);
}

static enum err pull(struct transfer *t, struct error *e)
{
	AUTO_DESTINATION struct destination to = { 0 };
	enum err kind;

	t->word = t->words[0];
	kind = destination_find(&to, t->words[t->count], t->count == 1, open_here, NULL, e);
	for (size_t n = 0; !kind && n < t->count; n++) {
		t->word = t->words[n];
		kind = pull_word(t, &to, e);
	}
	return kind;
}

static enum err run(struct ctl_run *run, struct error *e)
{
	/* The sandbox must not choose what runs here as another user. */
	struct transfer t = { .run = run,
		.mode_mask = 01777,
		.base_mask = run->file_mask,
		.example = "local:demo:result ." };

	return transfer_run(&t, pull, e);
}

const struct ctl_command ctl_pull = {
	.name = "pull",
	.arguments = "PROVIDER:ID[:PATH]... LOCAL",
	.summary = "Copy files and directories out of a sandbox",
	.details = "They go into the directory LOCAL; one alone becomes LOCAL where that is no "
		   "directory yet. "
		   "Without PATH, or with DIRECTORY/., it is what is in the directory.",
	.flags = CTL_JSON | CTL_ACCOUNT | CTL_USER,
	.argp = &transfer_argp,
	.run = run,
};
