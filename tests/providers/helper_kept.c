#include "providers/base/cleanup.h"
#include "providers/helper/serve.h"
#include "providers/client/client.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <sys/stat.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>

#define HELPERS_MAX 8
#define LONG_MS     600000

/* The starter of helpers; each helper serves in a thread of its own. */
static struct scene {
	struct helper_client *client;
	struct root root;
	struct scratch scratch;
	pthread_t threads[HELPERS_MAX];
	int fds[HELPERS_MAX];
	unsigned started, mended;
	unsigned stillborn; /* how many of the next helpers hang up at once */
	unsigned deaf;      /* how many of the next helpers answer nothing */
	sem_t begun;
	bool is_beyond_help, costs_requests;
	sem_t ended;
} scene;

struct helper {
	int fd;
	bool is_stillborn, is_deaf;
};

static void *run_helper(void *context)
{
	AUTO_FREE struct helper *h = context;

	if (h->is_deaf)
		poll(&(struct pollfd){ .fd = h->fd }, 1, -1);
	else if (!h->is_stillborn)
		serve(
			&(struct serve_options){
				.root = &scene.root, .in_fd = h->fd, .out_fd = h->fd },
			NULL);
	shutdown(h->fd, SHUT_RDWR);
	sem_post(&scene.ended);
	return NULL;
}

static enum err start(void *context, const struct call *call, int *fd, struct error *e)
{
	struct helper *h = malloc(sizeof *h);
	int ends[2];

	(void)context, (void)call;
	if (!h || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return error_errno(e, errno, "a helper");
	*h = (struct helper){ ends[1], scene.stillborn > 0, scene.deaf > 0 };
	scene.stillborn -= h->is_stillborn;
	scene.deaf -= h->is_deaf;
	sem_post(&scene.begun);
	scene.fds[scene.started] = ends[1];
	cr_assert(eq(int, pthread_create(&scene.threads[scene.started++], NULL, run_helper, h), 0));
	*fd = ends[0];
	return ERR_OK;
}

static enum err mend(void *context, const struct call *call, struct error *e)
{
	(void)context, (void)call;
	scene.mended++;
	return scene.is_beyond_help ? error_set(e, ERR_GONE, "there is nothing to mend") : ERR_OK;
}

static void scene_open(int64_t idle_ms)
{
	const struct helper_keeper keeper = { .start = start,
		.mend = mend,
		.idle_ms = idle_ms,
		.costs_requests = scene.costs_requests };
	const struct hello hello = { .version = WIRE_VERSION,
		.root = { { .ino = 2, .mode = S_IFDIR | 0755 }, { .block_size = 4096 }, { 0 } } };
	struct error e = { 0 };

	scratch_make(&scene.scratch);
	root_open(&scene.root, scene.scratch.path, NULL, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
	sem_init(&scene.ended, 0, 0);
	sem_init(&scene.begun, 0, 0);
	helper_client_new_kept(&scene.client, &keeper, &hello, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
}

static void scene_close(void)
{
	helper_client_free(scene.client);
	for (unsigned i = 0; i < scene.started; i++) {
		pthread_join(scene.threads[i], NULL);
		close(scene.fds[i]);
	}
	root_close(&scene.root);
	scratch_remove(&scene.scratch);
}

TestSuite(helper_kept, .fini = scene_close, .timeout = 300);

static enum err ignore(void *context, const struct list_item *item, struct error *e)
{
	(void)context, (void)item, (void)e;
	return ERR_OK;
}

static enum err list_within(const struct call *call, struct error *e)
{
	const char *const starts[] = { "" };
	const struct list_request request = { .starts = starts, .starts_count = 1, .depth = 1 };

	return helper_client_list(scene.client, call, &request, ignore, NULL, e);
}

static enum err list(struct error *e)
{
	return list_within(NULL, e);
}

static void expect_list(void)
{
	struct error e = { 0 };

	cr_expect(eq(int, list(&e), ERR_OK), "%s", e.text);
}

/* Waits until one more helper has hung up. */
static void wait_for_end(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	cr_assert(eq(int, sem_timedwait(&scene.ended, &end), 0), "none ended");
}

Test(helper_kept, nothing_is_started_before_it_is_asked)
{
	scene_open(LONG_MS);
	cr_expect(eq(uint, scene.started, 0));
}

Test(helper_kept, all_requests_share_one)
{
	scene_open(LONG_MS);
	expect_list();
	expect_list();
	cr_expect(eq(uint, scene.started, 1));
}

Test(helper_kept, a_helper_that_nobody_asks_is_let_go_and_another_one_started)
{
	scene_open(1);
	expect_list();
	wait_for_end();
	expect_list();
	cr_expect(eq(uint, scene.started, 2));
}

Test(helper_kept, where_the_stream_broke_the_next_request_starts_another)
{
	struct error e = { 0 };

	scene_open(LONG_MS);
	expect_list();
	shutdown(scene.fds[0], SHUT_RDWR);
	wait_for_end();
	/* The client may see the hang-up before its request or after. */
	if (list(&e) != ERR_OK) {
		cr_expect(eq(int, e.kind, ERR_UNREACHABLE), "%s", e.text);
		expect_list();
	}
	cr_expect(eq(uint, scene.started, 2));
}

/* A helper whose answers go nowhere, while its stream stays open. To be closed by unmute(). */
struct muted {
	int kept, nowhere[2];
};

static struct muted mute(unsigned helper)
{
	struct muted m = { .kept = dup(scene.fds[helper]) };

	cr_assert(ge(int, m.kept, 0));
	cr_assert(eq(int, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, m.nowhere), 0));
	cr_assert(ge(int, dup2(m.nowhere[0], scene.fds[helper]), 0));
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
	struct error e = { 0 };
	struct muted first;

	scene_open(LONG_MS);
	expect_list();
	first = mute(0);
	cr_expect(eq(int, list_within(&impatient, &e), ERR_TIMEOUT), "%s", e.text);
	expect_list();
	cr_expect(eq(uint, scene.started, 2));
	unmute(&first);
}

static void *apply_much(void *cancel)
{
	static unsigned char bytes[1024 * 1024];
	const struct call call = { .progress_ms = -1, .cancel = cancel };
	struct change change = {
		.op = CHANGE_WRITE, .path = "f", .data = bytes, .data_len = sizeof bytes
	};
	const struct apply_request request = { .changes = &change, .changes_count = 1 };
	struct change_result result;

	helper_client_apply(scene.client, &call, &request, &result, NULL);
	return NULL;
}

Test(helper_kept, where_a_large_request_takes_long_small_ones_have_another)
{
	struct cancel cancel;
	struct muted first;
	pthread_t thread;

	scene.costs_requests = true;
	scene_open(LONG_MS);
	expect_list();
	cancel_init(&cancel, NULL);
	first = mute(0);
	cr_assert(eq(int, pthread_create(&thread, NULL, apply_much, &cancel), 0));
	cr_assert(eq(int, poll(&(struct pollfd){ .fd = first.kept, .events = POLLIN }, 1, -1), 1));
	expect_list();
	expect_list();
	cr_expect(eq(uint, scene.started, 2));
	cancel_throw(&cancel);
	pthread_join(thread, NULL);
	cancel_release(&cancel);
	unmute(&first);
}

Test(helper_kept, where_there_cannot_be_a_second_helper_the_first_is_asked)
{
	const struct call impatient = { .progress_ms = 5000 };
	struct error e = { 0 };
	struct cancel cancel;
	struct muted first;
	pthread_t thread;

	scene.costs_requests = true;
	scene_open(LONG_MS);
	expect_list();
	cancel_init(&cancel, NULL);
	first = mute(0);
	scene.stillborn = 1;
	scene.is_beyond_help = true;
	cr_assert(eq(int, pthread_create(&thread, NULL, apply_much, &cancel), 0));
	cr_assert(eq(int, poll(&(struct pollfd){ .fd = first.kept, .events = POLLIN }, 1, -1), 1));
	cr_expect(eq(int, list_within(&impatient, &e), ERR_TIMEOUT), "%s", e.text);
	cr_expect(eq(uint, scene.mended, 1));
	cancel_throw(&cancel);
	pthread_join(thread, NULL);
	cancel_release(&cancel);
	unmute(&first);
}

static atomic_bool is_enough;
static atomic_uint large_ones;

/* One large request after another, each of which is over sooner than small ones wait. */
static void *apply_much_often(void *context)
{
	struct cancel cancel;
	pthread_t thread;

	for (; !is_enough; large_ones++) {
		cancel_init(&cancel, NULL);
		cr_assert(eq(int, pthread_create(&thread, NULL, apply_much, &cancel), 0));
		usleep(600000);
		cancel_throw(&cancel);
		pthread_join(thread, NULL);
		cancel_release(&cancel);
	}
	return context;
}

/* A request may come between two, go to the first helper, and have no answer from that. */
static enum err list_patiently(void)
{
	const struct call call = { .progress_ms = 5000 };
	enum err kind;

	do
		kind = list_within(&call, NULL);
	while (kind == ERR_TIMEOUT);
	return kind;
}

Test(helper_kept, large_requests_one_after_another_hold_no_small_one_up)
{
	struct muted first;
	pthread_t thread;

	scene.costs_requests = true;
	scene_open(LONG_MS);
	expect_list();
	first = mute(0);
	cr_assert(eq(int, pthread_create(&thread, NULL, apply_much_often, NULL), 0));
	cr_assert(eq(int, poll(&(struct pollfd){ .fd = first.kept, .events = POLLIN }, 1, -1), 1));
	cr_expect(eq(int, list_patiently(), ERR_OK));
	cr_expect(lt(uint, large_ones, 8));
	is_enough = true;
	pthread_join(thread, NULL);
	unmute(&first);
}

Test(helper_kept, a_helper_that_does_not_come_up_is_mended_and_started_once_more)
{
	scene.stillborn = 1;
	scene_open(LONG_MS);
	expect_list();
	cr_expect(eq(uint, scene.mended, 1));
	cr_expect(eq(uint, scene.started, 2));
}

static void *list_hastily(void *kind)
{
	const struct call hasty = { .progress_ms = 500 };

	*(enum err *)kind = list_within(&hasty, NULL);
	return NULL;
}

Test(helper_kept, who_waited_for_the_start_of_a_call_with_less_time_starts_one)
{
	struct progress progress = progress_now();
	const struct call patient = { .progress_ms = LONG_MS, .progress = &progress };
	enum err kind = ERR_OK;
	struct error e = { 0 };
	pthread_t thread;

	scene.deaf = 1;
	scene_open(LONG_MS);
	cr_assert(eq(int, pthread_create(&thread, NULL, list_hastily, &kind), 0));
	sem_wait(&scene.begun);
	cr_expect(eq(int, list_within(&patient, &e), ERR_OK), "%s", e.text);
	pthread_join(thread, NULL);
	cr_expect(eq(int, kind, ERR_TIMEOUT));
	cr_expect(eq(uint, scene.started, 2));
}

Test(helper_kept, what_cannot_be_mended_says_why)
{
	struct error e = { 0 };

	scene.stillborn = 1;
	scene.is_beyond_help = true;
	scene_open(LONG_MS);
	cr_expect(eq(int, list(&e), ERR_GONE), "%s", e.text);
	cr_expect(eq(uint, scene.started, 1));
}
