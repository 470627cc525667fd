#include "cache/session/lifetime.h"
#include "providers/base/call.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 60000

TestSuite(lifetime, .timeout = 300);

/* ---- A vendor that counts ---- */

struct vendor {
	struct provider base;
	int64_t left_s; /* the seconds left that info reports after an extension */
	enum err answer;
	bool ends; /* the sandbox is gone after the next info */
	atomic_int extended, looks;
	_Atomic int64_t asked_s;
	int64_t first_ms, second_ms; /* when the first two extensions came */
	pthread_mutex_t lock;
	pthread_cond_t moved;
};

static enum err vendor_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e)
{
	struct vendor *v = (struct vendor *)p;

	cr_expect(call->is_background);
	pthread_mutex_lock(&v->lock);
	v->asked_s = seconds;
	switch (atomic_fetch_add(&v->extended, 1)) {
	case 0: v->first_ms = monotonic_ms(); break;
	case 1: v->second_ms = monotonic_ms(); break;
	}
	pthread_cond_broadcast(&v->moved);
	pthread_mutex_unlock(&v->lock);
	return v->answer ? error_set(e, v->answer, "no more time") : ERR_OK;
}

static enum err vendor_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	struct vendor *v = (struct vendor *)p;

	(void)call;
	atomic_fetch_add(&v->looks, 1);
	*out = (struct sandbox_info){ .expires_s = v->left_s };
	if (!v->ends)
		return ERR_OK;
	atomic_store(&p->is_gone, true);
	return error_set(e, ERR_GONE, "it is gone");
}

static const struct provider_ops vendor_ops = {
	.name = "vendor", .extend = vendor_extend, .info = vendor_info
};

static void vendor_init(struct vendor *v, int64_t left_s)
{
	*v = (struct vendor){ .base.ops = &vendor_ops, .left_s = left_s };
	pthread_mutex_init(&v->lock, NULL);
	pthread_cond_init(&v->moved, NULL);
}

/* Whether so many extensions came within the time. */
static bool vendor_saw(struct vendor *v, int count, int64_t within_ms)
{
	struct timespec until;
	bool seen;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += within_ms / 1000;
	until.tv_nsec += within_ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&v->lock);
	while (atomic_load(&v->extended) < count &&
		!pthread_cond_timedwait(&v->moved, &v->lock, &until))
		;
	seen = atomic_load(&v->extended) >= count;
	pthread_mutex_unlock(&v->lock);
	return seen;
}

static struct lifetime *start_with(struct vendor *v, struct lifetime_options options)
{
	struct lifetime *l = NULL;
	struct error e = { 0 };

	cr_assert(eq(int,
			  lifetime_new(&l, &(struct counted_provider){ .provider = &v->base },
				  &options, &e),
			  ERR_OK),
		"%s", e.text);
	return l;
}

static struct lifetime *start(struct vendor *v, int64_t left_s, int64_t wanted_s)
{
	return start_with(v, (struct lifetime_options){ .left_s = left_s, .wanted_s = wanted_s });
}

/* ---- The rules ---- */

static bool tell_pending(void *context)
{
	return atomic_load((atomic_bool *)context);
}

Test(lifetime, is_renewed_while_changes_are_pending)
{
	atomic_bool is_pending = true;
	struct vendor v;

	vendor_init(&v, 1);
	struct lifetime *l = start_with(&v,
		(struct lifetime_options){ .left_s = 0,
			.wanted_s = 1,
			.used_ms = 1,
			.is_pending = tell_pending,
			.context = &is_pending });

	cr_expect(vendor_saw(&v, 3, PATIENCE_MS));
	atomic_store(&is_pending, false);
	lifetime_free(l);
}

Test(lifetime, is_renewed_at_half_of_what_is_left)
{
	int64_t begun_ms = monotonic_ms();
	struct vendor v;

	vendor_init(&v, 1000);
	struct lifetime *l = start(&v, 2, 600);

	cr_expect(vendor_saw(&v, 1, PATIENCE_MS));
	cr_expect(ge(i64, monotonic_ms() - begun_ms, 1000));
	cr_expect(eq(i64, atomic_load(&v.asked_s), 600));
	lifetime_free(l);
	cr_expect(eq(int, atomic_load(&v.extended), 1));
}

Test(lifetime, goes_on_being_renewed)
{
	struct vendor v;

	vendor_init(&v, 1);
	struct lifetime *l = start(&v, 0, 1);

	cr_expect(vendor_saw(&v, 3, PATIENCE_MS));
	lifetime_free(l);
}

/* A machine that stands still meanwhile may see a second one, but none so soon. */
static void expect_a_pause(struct vendor *v)
{
	cr_expect(vendor_saw(v, 1, PATIENCE_MS));
	if (vendor_saw(v, 2, 500))
		cr_expect(ge(i64, v->second_ms - v->first_ms, 500));
}

Test(lifetime, a_vendor_that_gives_nothing_is_not_asked_all_the_time)
{
	struct vendor v;

	vendor_init(&v, 0);
	struct lifetime *l = start(&v, 0, 300);

	expect_a_pause(&v);
	lifetime_free(l);
}

Test(lifetime, a_refusal_is_tried_again_after_a_pause)
{
	struct vendor v;

	vendor_init(&v, 300);
	v.answer = ERR_BUSY;
	struct lifetime *l = start(&v, 0, 300);

	expect_a_pause(&v);
	lifetime_free(l);
}

Test(lifetime, what_is_left_is_known_without_asking)
{
	struct vendor v;

	vendor_init(&v, 300);
	struct lifetime *l = start(&v, 100, 300);
	int64_t left_s = lifetime_left_s(l);

	cr_expect(all(ge(i64, left_s, 40), le(i64, left_s, 100)));
	cr_expect(eq(int, atomic_load(&v.extended), 0));
	lifetime_free(l);
}

Test(lifetime, a_sandbox_without_end_needs_none)
{
	lifetime_used(NULL);
	lifetime_hold(NULL);
	lifetime_let(NULL);
	lifetime_free(NULL);
	cr_expect(eq(i64, lifetime_left_s(NULL), -1));
}

static void await_no_end(struct lifetime *l)
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;

	while (lifetime_left_s(l) != -1) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "it still has an end");
		usleep(1000);
	}
}

Test(lifetime, a_sandbox_that_lost_its_end_is_left_alone)
{
	struct vendor v;

	vendor_init(&v, -1);
	struct lifetime *l = start(&v, 0, 300);

	cr_expect(vendor_saw(&v, 1, PATIENCE_MS));
	await_no_end(l);
	cr_expect(not(vendor_saw(&v, 2, 300)));
	lifetime_free(l);
}

Test(lifetime, an_idle_mount_asks_for_nothing_until_it_is_used)
{
	struct vendor v;

	vendor_init(&v, 300);
	struct lifetime *l =
		start_with(&v, (struct lifetime_options){ .left_s = 1, .used_ms = 100 });

	cr_expect(not(vendor_saw(&v, 1, 1200)));
	/* A use counts for 100 ms. The thread may have missed it in that time. */
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;

	do {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "it stays idle");
		lifetime_used(l);
	} while (!vendor_saw(&v, 1, 10));
	lifetime_free(l);
}

Test(lifetime, at_its_end_an_idle_mount_looks_whether_the_sandbox_is_gone)
{
	struct vendor v;

	vendor_init(&v, 0);
	v.ends = true;
	struct lifetime *l =
		start_with(&v, (struct lifetime_options){ .left_s = 1, .used_ms = 100 });

	await_no_end(l);
	cr_expect(provider_is_gone(&v.base));
	lifetime_free(l);
	cr_expect(eq(int, atomic_load(&v.looks), 1));
	cr_expect(eq(int, atomic_load(&v.extended), 0));
}

Test(lifetime, an_idle_mount_looks_once_where_the_sandbox_goes_on)
{
	struct vendor v;

	vendor_init(&v, 0);
	struct lifetime *l =
		start_with(&v, (struct lifetime_options){ .left_s = 1, .used_ms = 100 });

	cr_expect(not(vendor_saw(&v, 1, 1500)));
	lifetime_free(l);
	cr_expect(le(int, atomic_load(&v.looks), 1));
}

Test(lifetime, a_mount_that_is_held_is_in_use)
{
	struct vendor v;

	vendor_init(&v, 300);
	struct lifetime *l =
		start_with(&v, (struct lifetime_options){ .left_s = 1, .used_ms = 100 });

	lifetime_hold(l);
	cr_expect(vendor_saw(&v, 1, PATIENCE_MS));
	lifetime_let(l);
	lifetime_free(l);
}
