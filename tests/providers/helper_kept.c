#include "providers/base/cleanup.h"
#include "providers/helper/serve.h"
#include "providers/helper_client.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <time.h>

TestSuite(helper_kept, .timeout = 300);

#define HELPERS_MAX 8
#define LONG_MS     600000

/* Whoever starts helpers: each serves in a thread of its own. */
struct scene {
	struct helper_client *client;
	struct root root;
	struct scratch scratch;
	pthread_t threads[HELPERS_MAX];
	int fds[HELPERS_MAX];
	unsigned started, mended;
	unsigned stillborn; /* so many of the next ones hang up at once */
	bool is_beyond_help;
	sem_t ended;
};

struct helper {
	struct scene *scene;
	int fd;
	bool is_stillborn;
};

static void *run_helper(void *context)
{
	AUTO_FREE struct helper *h = context;

	if (!h->is_stillborn)
		serve(
			&(struct serve_options){
				.root = &h->scene->root, .in_fd = h->fd, .out_fd = h->fd },
			NULL);
	shutdown(h->fd, SHUT_RDWR);
	sem_post(&h->scene->ended);
	return NULL;
}

static enum err start(void *context, const struct call *call, int *fd, struct error *e)
{
	struct scene *s = context;
	struct helper *h = malloc(sizeof *h);
	int ends[2];

	(void)call;
	if (!h || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return error_errno(e, errno, "a helper");
	*h = (struct helper){ s, ends[1], s->stillborn > 0 };
	s->stillborn -= h->is_stillborn;
	s->fds[s->started] = ends[1];
	cr_assert(eq(int, pthread_create(&s->threads[s->started++], NULL, run_helper, h), 0));
	*fd = ends[0];
	return ERR_OK;
}

static enum err mend(void *context, const struct call *call, struct error *e)
{
	struct scene *s = context;

	(void)call;
	s->mended++;
	return s->is_beyond_help ? error_set(e, ERR_GONE, "there is nothing to mend") : ERR_OK;
}

static void scene_open(struct scene *s, int64_t idle_ms)
{
	const struct helper_keeper keeper = {
		.start = start, .mend = mend, .idle_ms = idle_ms, .context = s
	};
	const struct hello hello = { .version = WIRE_VERSION };
	struct error e = { 0 };

	scratch_make(&s->scratch);
	root_open(&s->root, s->scratch.path, NULL, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
	sem_init(&s->ended, 0, 0);
	helper_client_new_kept(&s->client, &keeper, &hello, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
}

static void scene_close(struct scene *s)
{
	helper_client_free(s->client);
	for (unsigned i = 0; i < s->started; i++) {
		pthread_join(s->threads[i], NULL);
		close(s->fds[i]);
	}
	root_close(&s->root);
	scratch_remove(&s->scratch);
}

static enum err ignore(void *context, const struct list_item *item, struct error *e)
{
	(void)context, (void)item, (void)e;
	return ERR_OK;
}

static enum err list_within(struct scene *s, const struct call *call, struct error *e)
{
	const char *const starts[] = { "" };
	const struct list_request request = { .starts = starts, .starts_count = 1, .depth = 1 };

	return helper_client_list(s->client, call, &request, ignore, NULL, e);
}

static enum err list(struct scene *s, struct error *e)
{
	return list_within(s, NULL, e);
}

static void expect_list(struct scene *s)
{
	struct error e = { 0 };

	cr_expect(eq(int, list(s, &e), ERR_OK), "%s", e.text);
}

/* One more of them has hung up. */
static void wait_for_end(struct scene *s)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	cr_assert(eq(int, sem_timedwait(&s->ended, &end), 0), "none ended");
}

Test(helper_kept, nothing_is_started_before_it_is_asked)
{
	struct scene s = { 0 };

	scene_open(&s, LONG_MS);
	cr_expect(eq(uint, s.started, 0));
	scene_close(&s);
}

Test(helper_kept, all_requests_share_one)
{
	struct scene s = { 0 };

	scene_open(&s, LONG_MS);
	expect_list(&s);
	expect_list(&s);
	cr_expect(eq(uint, s.started, 1));
	scene_close(&s);
}

Test(helper_kept, one_that_nobody_asks_is_let_go_and_another_one_started)
{
	struct scene s = { 0 };

	scene_open(&s, 1);
	expect_list(&s);
	wait_for_end(&s);
	expect_list(&s);
	cr_expect(eq(uint, s.started, 2));
	scene_close(&s);
}

Test(helper_kept, where_the_stream_broke_the_next_request_starts_another)
{
	struct scene s = { 0 };
	struct error e = { 0 };

	scene_open(&s, LONG_MS);
	expect_list(&s);
	shutdown(s.fds[0], SHUT_RDWR);
	wait_for_end(&s);
	/* Whether the hang-up was seen before or after it was asked. */
	if (list(&s, &e) != ERR_OK) {
		cr_expect(eq(int, e.kind, ERR_UNREACHABLE), "%s", e.text);
		expect_list(&s);
	}
	cr_expect(eq(uint, s.started, 2));
	scene_close(&s);
}

/* From now on what it says goes nowhere, and nobody hangs up; to be closed. */
struct muted {
	int kept, nowhere[2];
};

static struct muted mute(const struct scene *s, unsigned helper)
{
	struct muted m = { .kept = dup(s->fds[helper]) };

	cr_assert(ge(int, m.kept, 0));
	cr_assert(eq(int, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, m.nowhere), 0));
	cr_assert(ge(int, dup2(m.nowhere[0], s->fds[helper]), 0));
	return m;
}

static void unmute(const struct muted *m)
{
	close(m->kept);
	close(m->nowhere[0]);
	close(m->nowhere[1]);
}

Test(helper_kept, where_the_stream_is_dead_without_having_broken_the_next_request_starts_another)
{
	const struct call impatient = { .progress_ms = 500 };
	struct scene s = { 0 };
	struct error e = { 0 };
	struct muted first;

	scene_open(&s, LONG_MS);
	expect_list(&s);
	first = mute(&s, 0);
	cr_expect(eq(int, list_within(&s, &impatient, &e), ERR_TIMEOUT), "%s", e.text);
	expect_list(&s);
	cr_expect(eq(uint, s.started, 2));
	unmute(&first);
	scene_close(&s);
}

Test(helper_kept, one_that_does_not_come_up_is_mended_and_started_once_more)
{
	struct scene s = { .stillborn = 1 };

	scene_open(&s, LONG_MS);
	expect_list(&s);
	cr_expect(eq(uint, s.mended, 1));
	cr_expect(eq(uint, s.started, 2));
	scene_close(&s);
}

Test(helper_kept, what_cannot_be_mended_says_why)
{
	struct scene s = { .stillborn = 1, .is_beyond_help = true };
	struct error e = { 0 };

	scene_open(&s, LONG_MS);
	cr_expect(eq(int, list(&s, &e), ERR_GONE), "%s", e.text);
	cr_expect(eq(uint, s.started, 1));
	scene_close(&s);
}
