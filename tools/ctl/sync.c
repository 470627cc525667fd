/*
 * sync.c - sandboxctl sync: makes mounts send their pending changes.
 */
#include "providers/base/call.h"
#include "tools/apart.h"
#include "tools/ctl/command.h"
#include "tools/ctl/mounts.h"
#include "tools/say.h"

#include <stdio.h>

struct sync_options {
	char **dirs;
	size_t dirs_count;
	int64_t limit_ms; /* APART_NO_LIMIT: as long as there is progress */
};

/*
 * A failure does not keep other mounts from being sent. The last one is the command's, earlier ones
 * are printed here.
 */
static void note_failure(struct error *last, const struct error *e)
{
	if (last->kind)
		say(stderr, "sandboxctl: %s", last->text);
	*last = *e;
}

/* The rest of the command's time. */
static int64_t left_ms(int64_t end_ms)
{
	int64_t left = end_ms - monotonic_ms();

	if (end_ms == INT64_MAX)
		return APART_NO_LIMIT;
	return left < 0 ? 0 : left;
}

static enum err sync_all(struct mounts *mounts, int64_t end_ms, struct error *last, struct error *e)
{
	struct mount_answer *answers;

	mounts_keep_own(mounts);
	if (mounts_ask(mounts, left_ms(end_ms), &answers, e))
		return e->kind;
	for (size_t i = 0; i < mounts->count; i++) {
		const struct mounted *m = &mounts->list[i];
		struct error why = { 0 };

		if (mounts_explain(m, answers[i].state, &why) ||
			mounts_send(m, left_ms(end_ms), &why))
			note_failure(last, &why);
	}
	mounts_answers_free(answers, mounts);
	return ERR_OK;
}

static void sync_named(const struct mounts *mounts, const struct sync_options *r, int64_t end_ms,
	struct error *last)
{
	for (size_t i = 0; i < r->dirs_count; i++) {
		const struct mounted *m;
		struct error e = { 0 };

		if (mounts_at(mounts, r->dirs[i], &m, &e) || mounts_sync(m, left_ms(end_ms), &e))
			note_failure(last, &e);
	}
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	static const struct ctl_value values[] = {
		{ 't', "--timeout=", "SECONDS", option_set_seconds,
			offsetof(struct sync_options, limit_ms) },
		{ 0 },
	};
	struct sync_options *r = state->input;

	switch (key) {
	case ARGP_KEY_ARGS:
		r->dirs = state->argv + state->next;
		r->dirs_count = (size_t)(state->argc - state->next);
		return 0;
	default: return ctl_take_value(values, key, value, state);
	}
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct sync_options request = { .limit_ms = APART_NO_LIMIT };
	AUTO_MOUNTS struct mounts mounts = { 0 };
	struct ctl_common common;
	struct error last = { 0 };
	enum err kind = ctl_parse(run, &request, &common, e);

	if (!kind)
		kind = mounts_find(&mounts, e);
	if (kind)
		return kind;
	int64_t end_ms = request.limit_ms < 0 ? INT64_MAX : monotonic_ms() + request.limit_ms;

	if (request.dirs_count)
		sync_named(&mounts, &request, end_ms, &last);
	else if (sync_all(&mounts, end_ms, &last, e))
		return e->kind;
	return last.kind ? error_set(e, last.kind, "%s", last.text) : ERR_OK;
}

const struct ctl_command ctl_sync = {
	.name = "sync",
	.arguments = "[MOUNT...]",
	.summary = "Wait until the sandboxes have what was changed on mounts",
	.details = "Without a MOUNT all of your own. It waits as long as the sandbox takes it, "
		   "and shows "
		   "on a terminal how much is left; what it cannot send stays where it is.",
	.argp =
		&(const struct argp){
			.options =
				(const struct argp_option[]){
					{ "timeout", 't', "SECONDS", 0,
						"give up after so long, all mounts together", 0 },
					{ 0 },
				},
			.parser = take_word,
		},
	.run = run,
};
