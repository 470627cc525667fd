/*
 * sync.c - sandboxctl sync: has mounts send what is pending.
 */
#include "tools/apart.h"
#include "tools/ctl/command.h"
#include "tools/ctl/mounts.h"
#include "tools/ctl/values.h"

#include <stdio.h>

struct request {
	char **dirs;
	size_t dirs_count;
	int64_t limit_ms; /* APART_NO_LIMIT: as long as it goes on */
};

/* One that fails keeps no other from being sent; the last failure is the command's, those before it are told here. */
static void note_failure(struct error *last, const struct error *e)
{
	if (last->kind)
		fprintf(stderr, "sandboxctl: %s\n", last->text);
	*last = *e;
}

static void sync_all(const struct mounts *mounts, const struct request *r, struct error *last)
{
	for (size_t i = 0; i < mounts->count; i++) {
		struct error e = { 0 };

		if (mounts_sync(&mounts->list[i], r->limit_ms, &e))
			note_failure(last, &e);
	}
}

static void sync_named(const struct mounts *mounts, const struct request *r, struct error *last)
{
	for (size_t i = 0; i < r->dirs_count; i++) {
		const struct mounted *m;
		struct error e = { 0 };

		if (mounts_at(mounts, r->dirs[i], &m, &e) || mounts_sync(m, r->limit_ms, &e))
			note_failure(last, &e);
	}
}

static error_t take_word(int key, char *value, struct argp_state *state)
{
	static const struct value values[] = {
		{ 't', "--timeout=", VALUE_SECONDS, offsetof(struct request, limit_ms) },
		{ 0 },
	};
	struct request *r = state->input;

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
	struct request request = { .limit_ms = APART_NO_LIMIT };
	AUTO_MOUNTS struct mounts mounts = { 0 };
	struct ctl_common common;
	struct error last = { 0 };
	enum err kind = ctl_parse(run, &request, &common, e);

	if (!kind)
		kind = mounts_find(&mounts, e);
	if (kind)
		return kind;
	if (request.dirs_count)
		sync_named(&mounts, &request, &last);
	else
		sync_all(&mounts, &request, &last);
	return last.kind ? error_set(e, last.kind, "%s", last.text) : ERR_OK;
}

const struct ctl_command ctl_sync = {
	.name = "sync",
	.arguments = "[MOUNT...]",
	.summary = "Wait until the sandboxes have what was changed on mounts",
	.details = "Without a MOUNT all of yours. It waits as long as the sandbox takes it, "
		   "and shows "
		   "on a terminal how much is left; what it cannot send stays where it is.",
	.argp =
		&(const struct argp){
			.options =
				(const struct argp_option[]){
					{ "timeout", 't', "SECONDS", 0,
						"give up after so long for each mount", 0 },
					{ 0 },
				},
			.parser = take_word,
		},
	.run = run,
};
