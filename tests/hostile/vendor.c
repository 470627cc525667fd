/*
 * vendor - asks a vendor's service all that sandboxfs and sandboxctl ask, while the service lies.
 *
 *	vendor VENDOR ID SECONDS SEED
 *
 * Some threads list sandboxes, attach, look, run commands, read and change files, ask for URLs,
 * make sandboxes and delete them again. Whatever comes back, each call ends, and a string that is
 * handed on is one. How many calls there were, and the slowest, is printed. Exit status 1: a call
 * took longer than three minutes.
 */
#include "providers/base/cleanup.h"
#include "providers/provider.h"
#include "tests/hostile/chance.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define THREADS     4
#define PROGRESS_MS 500
#define PATIENCE_MS 180000

static struct asker {
	struct chance chance;
	_Atomic int64_t since_ms; /* when the call under way began; 0: none is */
	const char *_Atomic doing;
	uint64_t calls, good;
	int64_t slowest_ms;
	const char *slowest;
} askers[THREADS];

static const struct provider_ops *ops;
static const char *sandbox;
static int64_t end_ms;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "WRONG: %s\n", what);
	abort();
}

static void begin(struct asker *a, const char *doing)
{
	a->doing = doing;
	a->since_ms = monotonic_ms();
	a->calls++;
}

static void done(struct asker *a, enum err kind, const struct error *e)
{
	int64_t took_ms = monotonic_ms() - a->since_ms;

	a->since_ms = 0;
	a->good += kind == ERR_OK;
	if (took_ms > a->slowest_ms) {
		a->slowest_ms = took_ms;
		a->slowest = a->doing;
	}
	must(kind == ERR_OK || strlen(e->text) < sizeof e->text, "an error without an end");
}

/* ---- Calls ---- */

static const struct call impatient = { .progress_ms = PROGRESS_MS };

static enum err take_entry(void *context, const struct sandbox_entry *entry, struct error *e)
{
	(void)e, (void)context;
	must(entry->unread || strlen(entry->id) < 128, "a sandbox without an ID");
	return ERR_OK;
}

static void list(struct asker *a)
{
	const struct provider_config cfg = { 0 };
	struct error e = { 0 };

	begin(a, "list_sandboxes");
	done(a, provider_list_sandboxes(ops, &cfg, &impatient, take_entry, NULL, &e), &e);
}

static void make(struct asker *a)
{
	struct provider_config cfg = { 0 };
	struct error e = { 0 };
	char id[128] = "";

	begin(a, "create");
	enum err kind = provider_create(ops, &cfg, &impatient, id, &e);

	done(a, kind, &e);
	if (kind)
		return;
	must(memchr(id, 0, sizeof id) != NULL, "an ID without an end");
	cfg.id = id;
	begin(a, "delete");
	done(a, provider_delete(ops, &cfg, &impatient, &e), &e);
}

static enum err take_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	uint64_t sum = 0;

	(void)e, (void)context;
	for (size_t n = 0; n < len; n++)
		sum += ((const unsigned char *)bytes)[n];
	must(sum <= 255 * len && (stream == STREAM_OUT || stream == STREAM_ERR), "a stream");
	return ERR_OK;
}

static enum err take_item(void *context, const struct list_item *item, struct error *e)
{
	(void)e;
	*(size_t *)context += item->kind == LIST_ENTRY ? strlen(item->name) : 0;
	return ERR_OK;
}

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	(void)e;
	*(size_t *)context += piece->kind == FETCH_DATA ? piece->len : 0;
	return ERR_OK;
}

static void use_files(struct asker *a, struct provider *p)
{
	static const char *const starts[] = { "" };
	static const struct list_request all = { .starts = starts, .starts_count = 1, .depth = 3 };
	static const struct fetch_item item = {
		.kind = FETCH_BYTES, .path = "f", .length = UINT64_MAX
	};
	static const struct change change = { .op = CHANGE_CREATE,
		.path = "f",
		.mode = 0644,
		.uid = CHANGE_NO_OWNER,
		.gid = CHANGE_NO_OWNER };
	const struct apply_request request = {
		.is_plain = true, .changes = &change, .changes_count = 1
	};
	struct change_result result;
	struct error e = { 0 };
	size_t sum = 0;

	begin(a, "list");
	done(a, provider_list(p, &impatient, &all, take_item, &sum, &e), &e);
	begin(a, "apply");
	done(a, provider_apply(p, &impatient, &request, &result, &e), &e);
	begin(a, "fetch");
	done(a, provider_fetch(p, &impatient, &item, 1, take_piece, &sum, &e), &e);
}

static void use(struct asker *a, struct provider *p, bool account_only)
{
	static const struct execute_request command = { .command = "echo out; echo err >&2" };
	AUTO_BUF struct buf url = BUF_INIT(1 << 16);
	struct execute_result result;
	struct sandbox_info info = { 0 };
	struct error e = { 0 };

	begin(a, "info");
	done(a, provider_info(p, &impatient, &info, &e), &e);
	begin(a, "extend");
	done(a, provider_extend(p, &impatient, 100, &e), &e);
	if (account_only)
		return;
	begin(a, "url");
	done(a, provider_url(p, &impatient, 8080, &url, &e), &e);
	begin(a, "execute");
	done(a, provider_execute(p, &impatient, &command, take_output, NULL, &result, &e), &e);
	use_files(a, p);
}

static void attach(struct asker *a, bool account_only)
{
	const struct provider_config cfg = { .id = sandbox,
		.account_only = account_only,
		.may_lack_helper = chance_once_in(&a->chance, 2),
		.progress_ms = PROGRESS_MS };
	struct provider *p = NULL;
	struct error e = { 0 };

	begin(a, "connect");
	enum err kind = provider_connect(ops, &cfg, &impatient, &p, &e);

	done(a, kind, &e);
	if (kind)
		return;
	for (unsigned times = 1 + chance_below(&a->chance, 4); times; times--)
		use(a, p, account_only);
	begin(a, "release");
	provider_release(p);
	done(a, ERR_OK, &e);
}

static void *ask(void *context)
{
	struct asker *a = context;

	while (monotonic_ms() < end_ms) {
		uint64_t which = chance_below(&a->chance, 20);

		if (which < 8)
			list(a);
		else if (which == 8 && ops->create)
			make(a);
		else
			attach(a, which < 14);
	}
	return NULL;
}

/* ---- Progress ---- */

static void check(void)
{
	for (int n = 0; n < THREADS; n++) {
		int64_t since_ms = askers[n].since_ms;

		if (!since_ms || monotonic_ms() - since_ms <= PATIENCE_MS)
			continue;
		printf("# HANG: %s\n", askers[n].doing);
		fflush(stdout);
		_exit(1);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t calls = 0, good = 0;
	const struct asker *slowest = &askers[0];
	struct rusage usage;

	ops = argc == 5 ? provider_find(argv[1], strlen(argv[1])) : NULL;
	if (!ops) {
		fprintf(stderr, "usage: vendor VENDOR ID SECONDS SEED\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	sandbox = argv[2];
	end_ms = monotonic_ms() + strtoll(argv[3], NULL, 10) * 1000;
	for (int n = 0; n < THREADS; n++) {
		askers[n].chance = chance_of(strtoull(argv[4], NULL, 10) + (uint64_t)n);
		if (pthread_create(&threads[n], NULL, ask, &askers[n]))
			return 2;
	}
	for (bool goes_on = true; goes_on;) {
		nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
		check();
		goes_on = monotonic_ms() < end_ms;
		for (int n = 0; n < THREADS; n++)
			goes_on |= askers[n].since_ms != 0;
	}
	for (int n = 0; n < THREADS; n++) {
		pthread_join(threads[n], NULL);
		calls += askers[n].calls;
		good += askers[n].good;
		slowest = askers[n].slowest_ms > slowest->slowest_ms ? &askers[n] : slowest;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("# %s: %llu calls, %llu of them good, the slowest %.1f s (%s), %ld MB at most\n",
		argv[1], (unsigned long long)calls, (unsigned long long)good,
		(double)slowest->slowest_ms / 1000, slowest->slowest ? slowest->slowest : "none",
		usage.ru_maxrss / 1024);
	return 0;
}
