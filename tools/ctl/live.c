/*
 * live.c - the steps of `sandboxctl doctor --live` in a sandbox: a row of `steps` each, in this
 * order.
 *
 * A step reports its finding, and the next one is tried after any finding. The link is cut by
 * shutting down the sockets of this process, whichever code holds them.
 */
#include "tools/ctl/live.h"

#include "providers/base/cleanup.h"
#include "providers/base/condition.h"
#include "providers/base/hex.h"
#include "providers/base/thread.h"
#include "tools/ctl/new_sandbox.h"

#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define LARGE       ((size_t)10 * 1000 * 1000)
#define ROUND_TRIPS 10
/* Number of pieces of a request: 4 MB. */
#define PIECES 4
/*
 * The time from a change in the sandbox to its event: the slowest vendor's output comes some
 * seconds late.
 */
#define EVENT_MS 60000
/* A cancelled call ends the wait for an event so soon. */
#define SLICE_MS   200
#define NAME       "sandboxfs-doctor-"
#define NAME_BYTES ((size_t)8)
#define NAME_SIZE  (sizeof NAME + 2 * NAME_BYTES)
#define URL_PORT   8080

struct live {
	struct target *t;
	struct provider *p;
	unsigned char *bytes; /* LARGE random ones, which nothing makes smaller on the way */
	/* Random too: a sandbox that was there before has none of these names. */
	char file[NAME_SIZE], event[NAME_SIZE];
};

typedef enum err (*step_try)(struct live *l, struct finding *f, struct error *e);

static double ms_since(int64_t since_ms)
{
	return (double)(monotonic_ms() - since_ms);
}

static double mb_per_s(int64_t since_ms)
{
	double ms = ms_since(since_ms);

	return LARGE / 1000.0 / (ms > 0 ? ms : 1);
}

static enum err say_unlike(struct error *e, const char *what)
{
	return error_set(e, ERR_PROTOCOL, "%s", what);
}

/* ---- Facts ---- */

static enum err try_attach(struct live *l, struct finding *f, struct error *e)
{
	int64_t since_ms = monotonic_ms();
	enum err kind = target_connect(l->t, e);

	l->p = l->t->provider;
	finding_set(f, FINDING_OK, "%.0f ms", ms_since(since_ms));
	return kind;
}

static enum err try_info(struct live *l, struct finding *f, struct error *e)
{
	struct sandbox_info info = { 0 };
	enum err kind = provider_info(l->p, &l->t->call, &info, e);

	if (info.expires_s < 0)
		finding_set(f, FINDING_OK, "shows %s, has no end", info.root);
	else
		finding_set(f, FINDING_OK, "shows %s, ends in %lld s", info.root,
			(long long)info.expires_s);
	return kind;
}

struct sought {
	const char *id;
	bool is_found;
};

static enum err compare(void *context, const struct sandbox_entry *entry, struct error *e)
{
	struct sought *s = context;

	(void)e;
	s->is_found |= entry->id && !strcmp(entry->id, s->id);
	return ERR_OK;
}

static enum err try_list(struct live *l, struct finding *f, struct error *e)
{
	struct sought s = { l->t->source.id, false };
	enum err kind = provider_list_sandboxes(
		l->t->source.ops, &l->t->config, &l->t->call, compare, &s, e);

	finding_set(f, FINDING_OK, "the sandbox is listed");
	return kind || s.is_found ? kind : say_unlike(e, "the sandbox is not in the list");
}

static enum err try_extend(struct live *l, struct finding *f, struct error *e)
{
	finding_set(f, FINDING_OK, "60 s at least");
	return provider_extend(l->p, &l->t->call, 60, e);
}

static enum err try_url(struct live *l, struct finding *f, struct error *e)
{
	AUTO_BUF struct buf url = BUF_INIT(65536);
	struct error why = { 0 };
	enum err kind = provider_url(l->p, &l->t->call, URL_PORT, &url, &why);

	if (kind == ERR_UNSUPPORTED)
		finding_set(f, FINDING_UNUSED, "%s", why.text);
	else
		finding_set(f, FINDING_OK, "port %d has one", URL_PORT);
	return kind && kind != ERR_UNSUPPORTED ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* ---- Files ---- */

static enum err pass_item(void *context, const struct list_item *item, struct error *e)
{
	if (item->kind == LIST_SELF && item->err)
		return error_set(e, item->err, "the shown directory");
	*(bool *)context |= item->kind == LIST_SELF;
	return ERR_OK;
}

static enum err list_root(struct live *l, struct error *e)
{
	static const char *const starts[] = { "" };
	const struct list_request request = { .starts = starts, .starts_count = 1 };
	bool has_self = false;
	enum err kind = provider_list(l->p, &l->t->call, &request, pass_item, &has_self, e);

	return kind || has_self ? kind : say_unlike(e, "the shown directory is not listed");
}

static enum err try_round_trip(struct live *l, struct finding *f, struct error *e)
{
	double least = 1e9, most = 0;
	enum err kind = ERR_OK;

	for (int i = 0; !kind && i < ROUND_TRIPS; i++) {
		int64_t since_ms = monotonic_ms();

		kind = list_root(l, e);
		least = ms_since(since_ms) < least ? ms_since(since_ms) : least;
		most = ms_since(since_ms) > most ? ms_since(since_ms) : most;
	}
	finding_set(f, FINDING_OK, "%.0f to %.0f ms, of %d", least, most, ROUND_TRIPS);
	return kind;
}

/* The first that was refused, but not as `passes`, is the error. */
static enum err apply(struct live *l, const struct call *call, const struct change *changes,
	size_t count, enum err passes, struct error *e)
{
	struct change_result results[PIECES] = { 0 };
	const struct apply_request request = { .changes = changes, .changes_count = count };
	enum err kind = provider_apply(l->p, call, &request, results, e);

	for (size_t i = 0; !kind && i < count; i++)
		if (results[i].err && results[i].err != passes)
			kind = error_set(e, results[i].err, "%s", results[i].why);
	return kind;
}

/* Writes from `*at` on, and advances that. */
static enum err write_pieces(struct live *l, size_t *at, struct error *e)
{
	struct change changes[PIECES];
	size_t count = 0;

	for (; count < PIECES && *at < LARGE; *at += changes[count++].data_len)
		changes[count] = (struct change){ .op = CHANGE_WRITE,
			.path = l->file,
			.offset = *at,
			.data = l->bytes + *at,
			.data_len = LARGE - *at < VERB_DATA_MAX ? LARGE - *at : VERB_DATA_MAX };
	return apply(l, &l->t->call, changes, count, ERR_OK, e);
}

static enum err try_write(struct live *l, struct finding *f, struct error *e)
{
	const struct change create = { .op = CHANGE_CREATE, .path = l->file, .mode = 0600 };
	int64_t since_ms = monotonic_ms();
	enum err kind = apply(l, &l->t->call, &create, 1, ERR_OK, e);

	for (size_t at = 0; !kind && at < LARGE;)
		kind = write_pieces(l, &at, e);
	finding_set(f, FINDING_OK, "10 MB at %.1f MB/s", mb_per_s(since_ms));
	return kind;
}

struct reading {
	const struct live *l;
	uint64_t got;
	bool differs;
	bool cuts; /* cuts the link at the first piece */
	size_t cut;
};

/* Shuts down the sockets of this process that lead to a network, and returns their number. */
static size_t cut_link(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t cut = 0;

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		int fd = atoi(entry->d_name), domain = 0;
		socklen_t len = sizeof domain;

		if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) ||
			(domain != AF_INET && domain != AF_INET6))
			continue;
		cut += !shutdown(fd, SHUT_RDWR);
	}
	if (dir)
		closedir(dir);
	return cut;
}

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct reading *r = context;

	if (piece->kind == FETCH_DONE)
		return piece->err ? error_set(e, piece->err, "%s", piece->why) : ERR_OK;
	if (r->cuts)
		r->cut = cut_link();
	r->cuts = false;
	r->differs |= piece->offset + piece->len > LARGE ||
		memcmp(r->l->bytes + piece->offset, piece->bytes, piece->len);
	r->got += piece->len;
	return ERR_OK;
}

static enum err read_large(struct live *l, struct reading *r, struct error *e)
{
	uint64_t most = provider_fetch_max(l->p);
	enum err kind = ERR_OK;

	for (uint64_t at = 0; !kind && at < LARGE;) {
		const struct fetch_item item = { .kind = FETCH_BYTES,
			.path = l->file,
			.offset = at,
			.length = LARGE - at < most ? LARGE - at : most };

		kind = provider_fetch(l->p, &l->t->call, &item, 1, take_piece, r, e);
		at += item.length;
	}
	if (!kind && (r->differs || r->got != LARGE))
		kind = say_unlike(e, "the file came back with other bytes");
	return kind;
}

static enum err try_read(struct live *l, struct finding *f, struct error *e)
{
	struct reading r = { .l = l };
	int64_t since_ms = monotonic_ms();
	enum err kind = read_large(l, &r, e);

	finding_set(f, FINDING_OK, "10 MB at %.1f MB/s", mb_per_s(since_ms));
	return kind;
}

/* As a mount does after a cut: reads once more. */
static enum err try_cut(struct live *l, struct finding *f, struct error *e)
{
	struct reading first = { .l = l, .cuts = true }, again = { .l = l };
	int64_t since_ms = monotonic_ms();
	bool is_whole = read_large(l, &first, NULL) == ERR_OK;
	enum err kind = is_whole ? ERR_OK : read_large(l, &again, e);

	if (!first.cut)
		finding_set(f, FINDING_UNUSED, "the file was read over no network");
	else
		finding_set(f, FINDING_OK, "in a download: the file was whole after %.0f ms",
			ms_since(since_ms));
	return kind;
}

/* ---- Commands ---- */

struct said {
	char out[64], err[64];
};

static enum err receive(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct said *s = context;
	char *to = stream == STREAM_OUT ? s->out : s->err;
	size_t used = strlen(to), room = sizeof s->out - 1 - used;

	(void)e;
	memcpy(to + used, bytes, len < room ? len : room);
	return ERR_OK;
}

static enum err execute(struct live *l, const struct execute_request *request, struct said *said,
	int *exit_code, struct error *e)
{
	struct execute_result result = { 0 };
	enum err kind = provider_execute(l->p, &l->t->call, request, receive, said, &result, e);

	*exit_code = result.has_exit_code ? result.exit_code : -1;
	return kind;
}

static enum err try_execute(struct live *l, struct finding *f, struct error *e)
{
	const struct execute_request request = {
		.command = "cat; echo err >&2; exit 7", .input = "out\n", .input_len = 4
	};
	struct said said = { "", "" };
	int64_t since_ms = monotonic_ms();
	int code;
	enum err kind = execute(l, &request, &said, &code, e);

	finding_set(f, FINDING_OK, "%.0f ms", ms_since(since_ms));
	if (kind || (code == 7 && !strcmp(said.out, "out\n") && !strcmp(said.err, "err\n")))
		return kind;
	return say_unlike(e, "a command's input, outputs or exit code were lost");
}

/* ---- The stream of changes ---- */

struct following {
	struct live *l;
	struct cancel cancel;
	pthread_mutex_t lock;
	pthread_cond_t moved; /* signalled when one of these becomes true; lock */
	bool is_ready, has_seen, is_over;
	struct error why; /* set with is_over */
};

static void note(struct following *s, bool *what)
{
	pthread_mutex_lock(&s->lock);
	*what = true;
	pthread_cond_signal(&s->moved);
	pthread_mutex_unlock(&s->lock);
}

static enum err take_event(void *context, const struct watch_event *event, struct error *e)
{
	struct following *s = context;

	(void)e;
	if (event->kind == WATCH_READY)
		note(s, &s->is_ready);
	else if (event->path && !strcmp(event->path, s->l->event))
		note(s, &s->has_seen);
	return ERR_OK;
}

static void *watch(void *context)
{
	struct following *s = context;
	const struct call call = { .cancel = &s->cancel, .progress_ms = s->l->t->call.progress_ms };
	const struct watch_request request = { .watcher = "sandboxctl" };

	provider_watch(s->l->p, &call, &request, take_event, s, &s->why);
	note(s, &s->is_over);
	return NULL;
}

static bool is_cancelled(const struct live *l)
{
	return l->t->call.cancel && cancel_thrown(l->t->call.cancel);
}

/* False: the stream ended, too much time passed, or the call was cancelled. */
static bool wait_for(struct following *s, const bool *what)
{
	int64_t now_ms = monotonic_ms(), end_ms = now_ms + EVENT_MS;
	bool is_so;

	pthread_mutex_lock(&s->lock);
	for (; !*what && !s->is_over && now_ms < end_ms && !is_cancelled(s->l);
		now_ms = monotonic_ms())
		condition_wait_until(&s->moved, &s->lock, now_ms + SLICE_MS);
	is_so = *what;
	pthread_mutex_unlock(&s->lock);
	return is_so;
}

/* Why no event came. */
static enum err say_silent(const struct following *s, struct error *e)
{
	if (is_cancelled(s->l))
		return error_set(e, ERR_INTERRUPTED, "interrupted");
	if (!s->is_over)
		return error_set(e, ERR_TIMEOUT, "no event in %d s", EVENT_MS / 1000);
	return s->why.kind ? error_set(e, s->why.kind, "%s", s->why.text)
			   : say_unlike(e, "the stream ended by itself");
}

static enum err follow(struct following *s, double *late_ms, struct error *e)
{
	char command[sizeof ": >" + NAME_SIZE];
	const struct execute_request make = { .command = command };
	struct said said = { "", "" };
	int64_t since_ms;
	int code;
	enum err kind;

	if (!wait_for(s, &s->is_ready))
		return say_silent(s, e);
	snprintf(command, sizeof command, ": >%s", s->l->event);
	kind = execute(s->l, &make, &said, &code, e);
	since_ms = monotonic_ms();
	if (kind)
		return kind;
	if (!wait_for(s, &s->has_seen))
		return say_silent(s, e);
	*late_ms = ms_since(since_ms);
	return ERR_OK;
}

static enum err try_stream(struct live *l, struct finding *f, struct error *e)
{
	struct following s = { .l = l, .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t thread;
	double late_ms = 0;
	enum err kind = cancel_init(&s.cancel, e);
	int failure;

	if (kind)
		return kind;
	condition_init(&s.moved);
	failure = thread_start(&thread, watch, &s);
	kind = failure ? error_errno(e, failure, "a thread") : follow(&s, &late_ms, e);
	cancel_throw(&s.cancel);
	if (!failure)
		pthread_join(thread, NULL);
	cancel_release(&s.cancel);
	pthread_cond_destroy(&s.moved);
	finding_set(f, FINDING_OK, "an event %.0f ms after its command", late_ms);
	return kind;
}

/* ---- Pause, and the end ---- */

static enum err try_pause(struct live *l, struct finding *f, struct error *e)
{
	int64_t since_ms = monotonic_ms();
	enum err kind;

	if (!l->t->source.ops->pause) {
		finding_set(f, FINDING_UNUSED, "the provider has none");
		return ERR_OK;
	}
	kind = provider_pause(l->p, &l->t->call, e);
	if (!kind)
		kind = provider_resume(l->p, &l->t->call, e);
	if (!kind)
		kind = list_root(l, e);
	finding_set(f, FINDING_OK, "paused and resumed in %.0f ms", ms_since(since_ms));
	return kind;
}

/* Removes both files, also when earlier steps failed or were cancelled. */
static enum err try_remove(struct live *l, struct finding *f, struct error *e)
{
	const struct change changes[] = { { .op = CHANGE_UNLINK, .path = l->file },
		{ .op = CHANGE_UNLINK, .path = l->event } };
	const struct call own = { .progress_ms = l->t->call.progress_ms };

	finding_set(f, FINDING_OK, "both files");
	return apply(l, &own, changes, 2, ERR_NOT_FOUND, e);
}

static const struct {
	const char *name;
	step_try try;
} steps[] = {
	{ "attach", try_attach },
	{ "info", try_info },
	{ "list", try_list },
	{ "extend", try_extend },
	{ "url", try_url },
	{ "round trip", try_round_trip },
	{ "write", try_write },
	{ "read", try_read },
	{ "command", try_execute },
	{ "stream", try_stream },
	{ "cut", try_cut },
	{ "pause", try_pause },
	{ "remove", try_remove },
};

/* Without an attachment no other step can be tried. */
static void try_all(struct live *l, live_sink sink, void *context)
{
	for (size_t i = 0; i < sizeof steps / sizeof *steps && (!i || l->p); i++) {
		struct finding f = { 0 };
		struct error e = { 0 };

		if (steps[i].try(l, &f, &e))
			finding_set(&f, FINDING_FAIL, "%s", e.text);
		sink(context, steps[i].name, &f);
	}
}

static void end(struct target *t, live_sink sink, void *context)
{
	struct finding f;
	int64_t since_ms = monotonic_ms();

	provider_release(t->provider);
	t->provider = NULL;
	if (t->source.ops->caps & PROVIDER_SINGLE)
		finding_set(&f, FINDING_UNUSED, "the one that is there stays");
	else if (new_sandbox_undo(t))
		finding_set(&f, FINDING_OK, "%.0f ms", ms_since(since_ms));
	else
		finding_set(&f, FINDING_FAIL, "%s:%s is left behind", t->source.ops->name,
			t->source.id);
	sink(context, "delete", &f);
}

/* The names are made of the first random bytes. */
static void name_files(struct live *l)
{
	char *const names[] = { l->file, l->event };

	for (size_t i = 0; i < 2; i++) {
		strcpy(names[i], NAME);
		hex_encode(names[i] + sizeof NAME - 1, l->bytes + i * NAME_BYTES, NAME_BYTES);
	}
}

static enum err make_bytes(unsigned char **out, struct error *e)
{
	AUTO_FREE unsigned char *bytes = malloc(LARGE);

	if (!bytes)
		return error_set(e, ERR_NO_MEMORY, "10 MB");
	for (size_t got = 0; got < LARGE;) {
		ssize_t n = getrandom(bytes + got, LARGE - got, 0);

		if (n < 0 && errno != EINTR)
			return error_errno(e, errno, "getrandom");
		got += n > 0 ? (size_t)n : 0;
	}
	*out = take(bytes);
	return ERR_OK;
}

enum err live_try(const char *provider, const struct ctl_common *common, live_sink sink,
	void *context, struct error *e)
{
	AUTO_FREE unsigned char *bytes = NULL;
	const struct new_sandbox making = NEW_SANDBOX_INIT;
	AUTO_TARGET struct target t = { 0 };
	struct guard guard = GUARD_NONE;
	struct live live = { .t = &t };
	struct finding f;
	int64_t since_ms = monotonic_ms();
	enum err kind = make_bytes(&bytes, e);

	if (!kind)
		kind = new_sandbox_do(&making, provider, common, &t, &guard, e);
	if (kind)
		return kind;
	finding_set(&f, FINDING_OK, "%s:%s, %.0f ms", t.source.ops->name, t.source.id,
		ms_since(since_ms));
	sink(context, "make", &f);
	live.bytes = bytes;
	name_files(&live);
	try_all(&live, sink, context);
	end(&t, sink, context);
	guard_end(&guard);
	return ERR_OK;
}
