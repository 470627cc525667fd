#include "tools/ctl/transfer.h"

#include "providers/base/cleanup.h"
#include "tools/ctl/output.h"
#include "tools/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ERRORS_MAX ((size_t)64 * 1024 * 1024)

/* ---- The words ---- */

static error_t take_word(int key, char *value, struct argp_state *state)
{
	struct transfer *t = state->input;

	(void)value;
	switch (key) {
	case ARGP_KEY_ARGS:
		t->words = state->argv + state->next;
		t->count = (size_t)(state->argc - state->next) - 1;
		return 0;
	case ARGP_KEY_END:
		if (!t->count)
			return ctl_usage(state,
				"a source and a destination are needed, as in %s %s",
				t->run->argv[0], t->example);
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp transfer_argp = { .parser = take_word };

/* ---- A single copy ---- */

/* "DIR/PATH". Allocated; NULL without memory. */
static char *path_below(const char *dir, const char *path)
{
	const char *slash = dir && dir[strlen(dir) - 1] != '/' ? "/" : "";
	char *whole;

	return asprintf(&whole, "%s%s%s", dir ? dir : "", slash, path) < 0 ? NULL : whole;
}

/* The code of the agents' protocol; NULL: none for that kind. */
static const char *protocol_code(enum err kind)
{
	switch (kind) {
	case ERR_NOT_FOUND: return "file_not_found";
	case ERR_DENIED:
	case ERR_NOT_OWNER:
	case ERR_READ_ONLY: return "permission_denied";
	case ERR_IS_DIR: return "is_directory";
	case ERR_INVALID:
	case ERR_EXISTS:
	case ERR_NOT_DIR:
	case ERR_NAME_TOO_LONG: return "invalid_path";
	default: return NULL;
	}
}

static void put_failure(struct transfer *t, const char *name, enum err kind, const char *text)
{
	json_put_open(&t->errors_writer, NULL);
	json_put_path(&t->errors_writer, name);
	json_put_text(&t->errors_writer, "error", text);
	if (protocol_code(kind))
		json_put_text(&t->errors_writer, "code", protocol_code(kind));
	json_put_close(&t->errors_writer);
}

/* A name may have any byte: the printed name is cut, and has no control characters. */
static void tell_failure(void *context, const char *path, enum err kind, const char *text)
{
	struct transfer *t = context;
	AUTO_FREE char *whole = path_below(t->dir, path);
	const char *name = whole ? whole : path;
	struct error shown;

	error_set(&shown, ERR_IO, "%.250s: %s", name, text);
	progress_clear(&t->progress);
	say(stderr, "sandboxctl: %s", shown.text);
	put_failure(t, name, kind, text);
}

static void tell_progress(void *context, uint64_t bytes, uint64_t bytes_total)
{
	struct transfer *t = context;

	progress_tell(&t->progress, bytes, bytes_total);
}

static void add_counts(struct copy_counts *sum, const struct copy_counts *more)
{
	sum->files += more->files;
	sum->links += more->links;
	sum->directories += more->directories;
	sum->bytes += more->bytes;
	sum->failed += more->failed;
}

struct names {
	struct copy_source *sources;
	char **targets; /* owned, with its strings */
	size_t count;
};

static void names_release(struct names *n)
{
	for (size_t i = 0; n->targets && i < n->count; i++)
		free(n->targets[i]);
	free(n->targets);
	free(n->sources);
}
#define AUTO_NAMES __attribute__((cleanup(names_release)))

static bool names_find(struct names *n, char *const *names, const struct destination *to)
{
	n->targets = calloc(n->count, sizeof *n->targets);
	n->sources = calloc(n->count, sizeof *n->sources);
	for (size_t i = 0; n->targets && n->sources && i < n->count; i++) {
		n->targets[i] = destination_target(to, names[i]);
		n->sources[i] = (struct copy_source){ .path = names[i], .target = n->targets[i] };
		if (!n->targets[i])
			return false;
	}
	return n->targets && n->sources;
}

enum err transfer_copy(struct transfer *t, const struct call *call, struct provider *from,
	const char *dir, char *const *names, size_t count, const struct destination *to,
	struct error *e)
{
	AUTO_NAMES struct names n = { .count = count };
	struct copy_counts counts;
	const struct copy copy = { .from = from,
		.to = to->at,
		.call = call,
		.mode_mask = t->mode_mask,
		.base = to->base,
		.base_mask = t->base_mask,
		.failed = tell_failure,
		.progress = tell_progress,
		.context = t };
	enum err kind;

	if (!names_find(&n, names, to))
		return error_set(e, ERR_NO_MEMORY, "copying: out of memory");
	t->dir = dir;
	kind = copy_run(&copy, n.sources, count, &counts, e);
	add_counts(&t->counts, &counts);
	return kind;
}

/* ---- The command ---- */

static enum err print_result(const struct transfer *t, struct error *e)
{
	AUTO_BUF struct buf json = BUF_INIT(2 * ERRORS_MAX);
	struct json_writer w = { .out = &json };

	json_put_open(&w, NULL);
	json_put_integer(&w, "files", (int64_t)t->counts.files);
	json_put_integer(&w, "links", (int64_t)t->counts.links);
	json_put_integer(&w, "directories", (int64_t)t->counts.directories);
	json_put_integer(&w, "bytes", (int64_t)t->counts.bytes);
	json_put_integer(&w, "duration_ms", monotonic_ms() - t->progress.began_ms);
	json_put_raw(&w, "errors", buf_text(&t->errors));
	json_put_close(&w);
	return print_json(&json, stdout, e);
}

static enum err tell_end(struct transfer *t, enum err kind, struct error *e)
{
	struct error unprinted;

	progress_clear(&t->progress);
	if (kind)
		put_failure(t, t->word, kind, e->text);
	json_put_close_list(&t->errors_writer);
	if (t->common.json && print_result(t, &unprinted))
		return error_set(e, unprinted.kind, "%s", unprinted.text);
	if (!kind && t->counts.failed)
		return error_set(e, ERR_IO, "%s: %" PRIu64 " could not be copied",
			t->run->command->name, t->counts.failed);
	return kind;
}

enum err transfer_run(
	struct transfer *t, enum err (*copy)(struct transfer *t, struct error *e), struct error *e)
{
	enum err kind = ctl_parse(t->run, t, &t->common, e);

	if (kind)
		return kind;
	t->errors = (struct buf)BUF_INIT(ERRORS_MAX);
	t->errors_writer = (struct json_writer){ .out = &t->errors };
	json_put_open_list(&t->errors_writer, NULL);
	progress_begin(&t->progress, t->run->command->name);
	kind = tell_end(t, copy(t, e), e);
	buf_release(&t->errors);
	return kind;
}
