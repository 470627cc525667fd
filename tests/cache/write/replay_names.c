/* The ops of an earlier mount that are found by name are the ones that a look at all ops finds. */
#include "cache/write/writeback_inside.h"
#include "cache/session/session.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

TestSuite(named, .timeout = 300);

#define COUNT  40
#define ROUNDS 400
/* The sandbox's files by number; number 0 is none. */
#define FILES 4

static const char *const paths[] = { "", "/a", "/a/b", "/a/b/c", "/ab", "/a/c", "/b", "/b/a" };
#define PATHS (sizeof paths / sizeof *paths)

static uint32_t random_below(uint32_t most)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223;
	return (state >> 16) % most;
}

static const char *random_path(void)
{
	return paths[random_below(PATHS)];
}

/* No change is of a name to itself. */
static const char *other_path(const char *path)
{
	const char *other;

	do
		other = random_path();
	while (!strcmp(other, path));
	return other;
}

static struct op *random_change(void)
{
	static const enum change_op ops[] = { CHANGE_CREATE, CHANGE_MKDIR, CHANGE_LINK,
		CHANGE_UNLINK, CHANGE_RMDIR, CHANGE_RENAME, CHANGE_PLACE, CHANGE_SETATTR,
		CHANGE_WRITE, CHANGE_COPY, CHANGE_SYNC };
	struct change c = { .op = ops[random_below(sizeof ops / sizeof *ops)],
		.path = random_path() };

	if (c.op == CHANGE_LINK || c.op == CHANGE_RENAME || c.op == CHANGE_PLACE ||
		c.op == CHANGE_COPY)
		c.path2 = other_path(c.path);
	if (c.op == CHANGE_RENAME && random_below(3) == 0)
		c.flags = CHANGE_EXCHANGE;
	if (c.op == CHANGE_SETATTR) {
		c.set = random_below(2) ? SET_MODE : SET_SIZE;
		c.version.ctime.tv_sec = (time_t)random_below(2);
	}
	if (c.op != CHANGE_SYNC) {
		c.target = (struct expect){ .dev = 1, .ino = random_below(FILES) };
		c.target2 = (struct expect){ .dev = 1, .ino = random_below(FILES) };
	}
	struct op *q = op_new(&c);

	cr_assert(ne(ptr, q, NULL));
	q->is_recovered = true;
	return q;
}

static bool leads_to(const struct op *before, const struct op *q)
{
	bool exchanges = before->change.flags & CHANGE_EXCHANGE;

	return op_leads_to_from(before, q, op_makes(before)) ||
		(exchanges && op_leads_to_from(before, q, before->change.path));
}

static size_t last_that_leads_to(struct op *const *all, size_t count, const struct op *q)
{
	while (count && !leads_to(all[count - 1], q))
		count--;
	return count;
}

static bool is_about(const struct op *q, const char *path)
{
	char *before = op_carry_back(q, strdup(path));
	bool is = !before || strcmp(before, path) != 0 || op_tells_file_at(q, path);

	free(before);
	return is;
}

static size_t last_about(struct op *const *all, size_t count, const char *path)
{
	while (count && !is_about(all[count - 1], path))
		count--;
	return count;
}

static void expect_about(const struct steps *steps, struct op *const *all, size_t count)
{
	for (size_t p = 0; p < PATHS; p++)
		for (size_t n = 0; n <= count; n++)
			cr_assert(eq(
				sz, steps_about(steps, paths[p], n), last_about(all, n, paths[p])));
}

static void free_all(struct op *const *all)
{
	for (size_t n = 0; n < COUNT; n++)
		op_free(all[n]);
}

Test(named, the_step_that_a_change_needs_is_the_last_one_that_leads_to_it)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t looked_at = 0;
		struct steps steps = { .looked_at = &looked_at };
		struct op *all[COUNT];

		for (size_t n = 0; n < COUNT; n++) {
			all[n] = random_change();
			cr_assert(eq(sz, steps_needed(&steps, all[n]),
				last_that_leads_to(all, n, all[n])));
			expect_about(&steps, all, n);
			cr_assert(steps_reserve(&steps));
			steps_note(&steps, all[n], n + 1);
		}
		steps_release(&steps);
		free_all(all);
	}
}

/* Without the names (NULL) all steps are looked at. */
static void expect_same_file(const struct batch *b, const struct op *q, const struct steps *steps)
{
	cr_assert(eq(int, batch_tells_file_of(b, q, steps), batch_tells_file_of(b, q, NULL)));
	cr_assert(eq(int, batch_moves_file_of(b, q, steps), batch_moves_file_of(b, q, NULL)));
}

static void add(struct batch *b, const struct op *q, size_t needs, const struct steps *steps)
{
	b->changes[b->count] = q->change;
	b->changes[b->count++].needs = (uint32_t)needs;
	batch_needs_file(b, b->count, steps);
}

/* Some of the ops are not of an earlier mount: they were queued again, for another name. */
Test(named, the_step_that_is_about_the_file_is_found_through_directories_that_move)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t looked_at = 0;
		struct steps steps = { .looked_at = &looked_at };
		struct op *all[COUNT];
		struct change found[COUNT], all_looked_at[COUNT];
		struct batch by_name = { .ops = all, .changes = found, .renames = true };
		struct batch by_look = { .ops = all, .changes = all_looked_at };

		for (size_t n = 0; n < COUNT; n++) {
			all[n] = random_change();
			all[n]->is_recovered = random_below(8) > 0;
			expect_same_file(&by_name, all[n], &steps);
			size_t needs = steps_needed(&steps, all[n]);

			add(&by_name, all[n], needs, &steps);
			add(&by_look, all[n], needs, NULL);
			for (size_t m = 0; m <= n; m++)
				cr_assert(eq(u32, found[m].needs, all_looked_at[m].needs));
			cr_assert(steps_reserve(&steps));
			steps_note(&steps, all[n], n + 1);
		}
		steps_release(&steps);
		free_all(all);
	}
}

static bool has_name(const struct change *c, const char *path)
{
	return !strcmp(c->path, path) || (c->path2 && !strcmp(c->path2, path));
}

/* A copy leaves its source as it is. */
static bool concerns(const struct op *q, const struct followed *f)
{
	const struct change *c = &q->change;
	bool is_named = f->path && c->op != CHANGE_SYNC &&
		(c->op == CHANGE_COPY ? !strcmp(c->path2, f->path) : has_name(c, f->path));

	return is_named || op_is_of(q, f->file) || op_is_over(q, f->file);
}

static const struct op *next_of_all(const struct op *before, struct followed *f)
{
	const struct op *q = TAILQ_NEXT(before, link);

	for (; q && !concerns(q, f); q = TAILQ_NEXT(q, link))
		if (f->path && op_moves_above(q, f->path))
			f->path = op_carry(q, f->path);
	return q;
}

static void expect_found(struct writeback *p)
{
	const struct op *q;

	TAILQ_FOREACH(q, &p->queue, link)
	for (size_t n = 0; n < PATHS; n++) {
		const struct expect file = { .dev = 1, .ino = n % FILES };
		struct followed f = { strdup(paths[n]), &file },
				of_all = { strdup(paths[n]), &file };
		const struct op *found = writeback_next_of_file_locked(p, q, &f);
		const struct op *wanted = next_of_all(q, &of_all);

		cr_assert(eq(ptr, (void *)found, (void *)wanted));
		if (found && f.path && of_all.path)
			cr_assert(eq(str, f.path, of_all.path));
		free(f.path);
		free(of_all.path);
	}
}

static void leave(struct writeback *p, struct op *q)
{
	TAILQ_REMOVE(&p->queue, q, link);
	writeback_leave_named_locked(q);
	op_free(q);
	p->changes--;
}

Test(named, the_next_change_of_a_file_is_found_through_directories_that_move)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct writeback p = { .changes = COUNT };
		struct op *q, *next;

		TAILQ_INIT(&p.queue);
		for (uint64_t n = 1; n <= COUNT; n++) {
			q = random_change();
			q->order = n;
			TAILQ_INSERT_TAIL(&p.queue, q, link);
		}
		cr_assert(eq(int, writeback_enter_named(&p, NULL), ERR_OK));
		expect_found(&p);
		for (q = TAILQ_FIRST(&p.queue); q; q = next) {
			next = TAILQ_NEXT(q, link);
			if (random_below(2))
				leave(&p, q);
		}
		expect_found(&p);
		while ((q = TAILQ_FIRST(&p.queue)))
			leave(&p, q);
		free(p.named);
	}
}
