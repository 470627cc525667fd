#include "providers/remote/opening.h"

#include "providers/base/cleanup.h"
#include "providers/remote/watch.h"
#include "tests/support/host_remote.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(remote_opening, .timeout = 300);

static const char *const start = "";
static const struct list_request whole = {
	.starts = &start, .starts_count = 1, .depth = LIST_DEPTH_ALL
};
static const struct watch_request request = { .first = &whole };

struct scene {
	struct scratch scratch;
	struct host_remote host;
	struct remote_ops ops;
	struct provider_config cfg;
	struct remote remote;
};

static void write_file(const struct scene *s, const char *name)
{
	AUTO_FREE char *path = NULL;

	cr_assert(asprintf(&path, "%s/work/%s", s->host.home, name) > 0);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert(ge(int, fd, 0));
}

static void scene_open(struct scene *s)
{
	AUTO_FREE char *work = NULL;

	*s = (struct scene){ .cfg = { .path = "work", .opening = &request } };
	scratch_make(&s->scratch);
	host_remote_init(&s->host, s->scratch.path);
	s->ops = host_remote_ops(&s->host);
	cr_assert(asprintf(&work, "%s/work", s->host.home) > 0);
	cr_assert(eq(int, mkdir(work, 0755), 0));
	write_file(s, "old");
}

static void attach(struct scene *s)
{
	struct error e = { 0 };

	remote_attach(&s->remote, &s->ops, &s->cfg, NULL, NULL, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
	cr_assert(ne(ptr, s->remote.helper, NULL));
}

static void scene_close(struct scene *s)
{
	remote_release(&s->remote);
	scratch_remove(&s->scratch);
}

/* ---- Listening ---- */

struct received {
	struct scene *scene;
	size_t entries;
	bool is_ready, is_listed, has_new;
	char made[40];
};

/* Makes a file once the list is complete, and ends the watch with the file's event. */
static enum err receive(void *context, const struct watch_event *event, struct error *e)
{
	struct received *h = context;

	h->is_ready = h->is_ready || event->kind == WATCH_READY;
	if (event->kind == WATCH_ITEM && event->item->kind == LIST_ENTRY)
		h->entries++;
	if (event->kind == WATCH_ITEM && event->item->kind == LIST_END) {
		h->is_listed = true;
		snprintf(h->made, sizeof h->made, "new-%zu", h->entries);
		write_file(h->scene, h->made);
	}
	h->has_new = event->kind == WATCH_CREATED && !strcmp(event->path, h->made);
	return h->has_new ? error_set(e, ERR_INTERRUPTED, "enough") : ERR_OK;
}

static struct received watch(struct scene *s, const struct watch_request *what)
{
	struct received h = { .scene = s };
	struct error e = { 0 };

	remote_watch(&s->remote, "host", NULL, what, receive, &h, &e);
	cr_expect(eq(int, e.kind, ERR_INTERRUPTED), "%s", e.text);
	return h;
}

static void expect_whole(const struct received *h)
{
	cr_expect(h->is_ready && h->is_listed && h->has_new);
	cr_expect(eq(sz, h->entries, 1));
}

Test(remote_opening, a_watch_that_began_with_the_attach_costs_no_run)
{
	struct scene s;
	struct received h;

	scene_open(&s);
	attach(&s);
	remote_release(&s.remote);
	s.host.runs = 0;
	attach(&s);
	h = watch(&s, &request);
	expect_whole(&h);
	cr_expect(eq(sz, s.host.runs, 1));
	scene_close(&s);
}

Test(remote_opening, the_first_attach_ever_stores_the_helper_and_then_watches)
{
	struct scene s;
	struct received h;

	scene_open(&s);
	attach(&s);
	h = watch(&s, &request);
	expect_whole(&h);
	cr_expect(eq(sz, s.host.runs, 2));
	cr_expect(eq(sz, s.host.uploads, 1));
	scene_close(&s);
}

Test(remote_opening, an_opening_is_taken_once)
{
	struct scene s;

	scene_open(&s);
	attach(&s);
	watch(&s, &request);
	s.host.runs = 0;
	cr_expect(eq(sz, watch(&s, &request).entries, 2));
	cr_expect(eq(sz, s.host.runs, 1));
	scene_close(&s);
}

static enum err stop_at_ready(void *context, const struct watch_event *event, struct error *e)
{
	*(bool *)context = event->kind == WATCH_READY && !event->lists;
	return error_set(e, ERR_INTERRUPTED, "enough");
}

Test(remote_opening, another_watch_is_not_the_one_that_began)
{
	static const struct watch_request nothing = { .first = NULL };
	struct scene s;
	bool is_ready = false;
	struct error e = { 0 };

	scene_open(&s);
	attach(&s);
	s.host.runs = 0;
	remote_watch(&s.remote, "host", NULL, &nothing, stop_at_ready, &is_ready, &e);
	cr_expect(is_ready, "%s", e.text);
	cr_expect(eq(sz, s.host.runs, 1));
	scene_close(&s);
}

/* The opening's thread and program are gone when the release returns. */
Test(remote_opening, an_opening_that_nobody_takes_ends_with_the_release)
{
	struct scene s;

	scene_open(&s);
	attach(&s);
	scene_close(&s);
}

Test(remote_opening, a_missing_directory_is_reported_as_ever)
{
	struct scene s;
	struct error e = { 0 };

	scene_open(&s);
	s.cfg.path = "nowhere";
	cr_expect(eq(int, remote_attach(&s.remote, &s.ops, &s.cfg, NULL, NULL, &e), ERR_NOT_FOUND),
		"%s", e.text);
	scratch_remove(&s.scratch);
}

Test(remote_opening, an_attach_cut_at_any_byte_is_an_error_or_whole)
{
	struct scene s;
	bool has_failed = false, has_attached = false;

	scene_open(&s);
	attach(&s);
	remote_release(&s.remote);
	for (size_t cut = 1; cut < 1200; cut += 13) {
		struct error e = { 0 };

		s.host.cut_after = cut;
		remote_attach(&s.remote, &s.ops, &s.cfg, NULL, NULL, &e);
		has_failed = has_failed || e.kind == ERR_UNREACHABLE;
		has_attached = has_attached || e.kind == ERR_OK;
		if (e.kind == ERR_OK)
			remote_release(&s.remote);
	}
	cr_expect(has_failed && has_attached);
	s.host.cut_after = 0;
	scratch_remove(&s.scratch);
}
