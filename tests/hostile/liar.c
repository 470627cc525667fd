/*
 * liar - a helper program that lies: it stands between sandboxfs and an honest helper.
 *
 *	liar SEED HELPER ROOT STAGING SECRET COUNTS
 *
 * Requests on standard input go to HELPER, which serves ROOT; its answers come back on standard
 * output as the seed decides: as they are, with lies in the records (lies.h), late, under another
 * number, twice, in part or never. Events come in storms, and some lists have no end. What was sent
 * is counted in the file COUNTS (chance.h), which has its size.
 *
 * Three threads: requests; answers; storms and what is late.
 */
#include "tests/hostile/lies.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define IDS          4096 /* the latest requests, by number */
#define HELD_MAX     64
#define HELD_IDS     4
#define RING_MS      100    /* from the answer that a name is gone to the release of a ring */
#define ENDLESS_MAX  100000 /* LIST_ENTRIES_MAX are more than MEMORY_MB holds */
#define STORM_EVENTS 500    /* a frame of a storm, each 5 ms: 100,000 a second */

extern char **environ;

struct held {
	struct frame frame;
	unsigned char *bytes;
};

/* guarded by the liar's lock, except for the fields that one thread alone uses */
static struct lies lies;

static struct liar {
	int to_helper, from_helper;
	_Atomic uint64_t *counts;
	pthread_mutex_t lock; /* guards all below, and standard output */
	struct {
		uint32_t id;
		enum frame_type type;
		char *asked; /* the first path of a list; NULL: unknown */
	} ids[IDS];
	uint32_t last_id, watch_id;
	uint32_t ring_id; /* the last request before a directory was removed */
	/* the numbers of the requests whose answers are kept back; 0: none */
	uint32_t held_ids[HELD_IDS];
	struct held held[HELD_MAX];
	unsigned held_count, held_ms;
	struct lies storm;
	pthread_mutex_t to_lock; /* guards the stream to the helper */
	/* what the client sent and the helper did not get, less what only the helper got */
	_Atomic int64_t unreceived;
} liar = { .to_lock = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER };

static _Noreturn void stop(void)
{
	_exit(0);
}

static void count(enum counted what, uint64_t number)
{
	atomic_fetch_add(&liar.counts[what], number);
}

static void must_read(int fd, void *bytes, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = read(fd, (char *)bytes + done, len - done);

		if (n <= 0 && !(n < 0 && errno == EINTR))
			stop();
		done += n > 0 ? (size_t)n : 0;
	}
}

static void must_write(int fd, const void *bytes, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, (const char *)bytes + done, len - done);

		if (n < 0 && errno != EINTR)
			stop();
		done += n > 0 ? (size_t)n : 0;
	}
}

static void sleep_ms(uint64_t ms)
{
	const struct timespec t = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

/* ---- Requests ---- */

static void read_frame(int fd, struct frame *f, struct buf *payload)
{
	unsigned char header[FRAME_HEADER_SIZE];

	must_read(fd, header, sizeof header);
	if (frame_decode(header, f, NULL))
		stop();
	buf_reset(payload);
	must_read(fd, buf_reserve(payload, f->len), f->len);
	buf_filled(payload, f->len);
}

static void write_frame(int fd, const struct frame *f, const void *bytes)
{
	unsigned char header[FRAME_HEADER_SIZE];

	frame_encode(header, f);
	must_write(fd, header, sizeof header);
	must_write(fd, bytes, f->len);
}

static void write_to_helper(const struct frame *f, const void *bytes)
{
	pthread_mutex_lock(&liar.to_lock);
	write_frame(liar.to_helper, f, bytes);
	pthread_mutex_unlock(&liar.to_lock);
}

/* ---- Reports of received bytes: one side does not know what the other sends ---- */

/* Tells the helper that this frame of an answer was received. */
static void report_to_helper(const struct frame *f)
{
	struct buf payload = BUF_INIT(100);

	wire_put_received(&payload, FRAME_HEADER_SIZE + f->len);
	write_to_helper(&(struct frame){ FRAME_RECEIVED, 0, (uint32_t)payload.len }, payload.bytes);
	liar.unreceived -= FRAME_HEADER_SIZE + (int64_t)payload.len;
	buf_release(&payload);
}

/* Makes the helper's report true for the client. */
static void correct_report(struct buf *payload)
{
	uint32_t bytes = 0;
	int64_t more = atomic_exchange(&liar.unreceived, 0);

	wire_get_received(payload, &bytes, NULL);
	more += bytes;
	if (more < 0)
		liar.unreceived += more;
	buf_reset(payload);
	wire_put_received(payload, more < 0 ? 0 : (uint32_t)more);
}

/* ---- Requests that pass ---- */

static char *first_asked(const struct frame *f, const struct buf *payload)
{
	struct list_request request;
	void *memory = NULL;
	char *path = NULL;

	if (f->type == FRAME_LIST && !wire_get_list(payload, &request, &memory, NULL) &&
		request.starts_count)
		path = strdup(request.starts[0]);
	free(memory);
	return path;
}

static void note_request(const struct frame *f, const struct buf *payload)
{
	char *asked = first_asked(f, payload);

	pthread_mutex_lock(&liar.lock);
	if (f->type == FRAME_CANCEL) {
		liar.ids[f->id % IDS].id = 0;
	} else if (f->type != FRAME_MORE) {
		liar.ids[f->id % IDS].id = f->id;
		liar.ids[f->id % IDS].type = f->type;
		free(liar.ids[f->id % IDS].asked);
		liar.ids[f->id % IDS].asked = asked;
		asked = NULL;
		liar.last_id = f->id;
		if (f->type == FRAME_WATCH)
			liar.watch_id = f->id;
	}
	pthread_mutex_unlock(&liar.lock);
	free(asked);
}

static void *take_requests(void *context)
{
	struct buf payload = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct frame f;

	(void)context;
	for (;;) {
		read_frame(STDIN_FILENO, &f, &payload);
		if (f.type == FRAME_RECEIVED) {
			liar.unreceived += FRAME_HEADER_SIZE + (int64_t)f.len;
			continue;
		}
		note_request(&f, &payload);
		write_to_helper(&f, payload.bytes);
	}
	return NULL;
}

/* ---- Answers ---- */

/* The type of the request `id`; FRAME_TYPE_END: no request has that number any more. */
static enum frame_type type_of_locked(uint32_t id)
{
	return liar.ids[id % IDS].id == id ? liar.ids[id % IDS].type : FRAME_TYPE_END;
}

static void say_locked(enum frame_type type, uint32_t id, const void *bytes, size_t len)
{
	const struct frame f = { type, id, (uint32_t)len };

	count(COUNT_FRAMES, 1);
	write_frame(STDOUT_FILENO, &f, bytes);
}

static void release_held_locked(void)
{
	for (unsigned n = 0; n < liar.held_count; n++) {
		const struct held *h = &liar.held[n];

		say_locked(h->frame.type, h->frame.id, h->bytes, h->frame.len);
		free(h->bytes);
	}
	liar.held_count = 0;
	liar.held_ms = 0;
	lies.hidden[0] = '\0';
	memset(liar.held_ids, 0, sizeof liar.held_ids);
}

/* The place of the answers to `id`, or for 0 a free place; NULL: there is none. */
static uint32_t *held_at_locked(uint32_t id)
{
	for (int n = 0; n < HELD_IDS; n++)
		if (liar.held_ids[n] == id)
			return &liar.held_ids[n];
	return NULL;
}

static void hold_locked(const struct frame *f, const struct buf *payload)
{
	struct held *h = &liar.held[liar.held_count++];

	*h = (struct held){ *f, malloc(payload->len + 1) };
	h->frame.len = (uint32_t)payload->len;
	memcpy(h->bytes, buf_text(payload), payload->len);
	if (liar.held_count == HELD_MAX)
		release_held_locked();
}

/* Ends the stream, after bytes that are no frame. */
static _Noreturn void break_stream(struct lies *l)
{
	unsigned char garbage[64];

	for (size_t n = 0; n < sizeof garbage; n++)
		garbage[n] = (unsigned char)chance_any(&l->chance);
	if (chance_once_in(&l->chance, 2))
		memcpy(garbage, "SbX", 3);
	count(COUNT_BROKEN, 1);
	if (!chance_once_in(&l->chance, 3))
		must_write(STDOUT_FILENO, garbage, chance_below(&l->chance, sizeof garbage));
	stop();
}

/* Sends entries of the directory that is being listed, until the request is over. */
static void go_on_without_end_locked(struct lies *l, uint32_t id)
{
	struct buf entries = BUF_INIT(FRAME_PAYLOAD_MAX);

	for (unsigned sent = 0; sent < ENDLESS_MAX && type_of_locked(id) == FRAME_LIST;
		sent += 500) {
		buf_reset(&entries);
		for (int n = 0; n < 500; n++)
			lies_entry(l, &entries);
		say_locked(FRAME_ITEMS, id, entries.bytes, entries.len);
		count(COUNT_ENDLESS, 500);
		pthread_mutex_unlock(&liar.lock);
		sched_yield();
		pthread_mutex_lock(&liar.lock);
	}
	buf_release(&entries);
}

/* Whether the caller must not send the frame: it is sent late, or never. */
static bool keep_back_locked(struct lies *l, struct frame *f, const struct buf *payload)
{
	struct chance *c = &l->chance;
	uint32_t *free_place = held_at_locked(0);
	/* A request from before the removal of a directory is answered after the removal. */
	bool is_late = l->is_earlier && lies_is_hidden(l, l->asked);
	bool begins = l->is_ring || is_late || chance_once_in(c, l->is_wild ? 60 : 10);

	if (f->id && held_at_locked(f->id)) {
		hold_locked(f, payload);
		return true;
	}
	if (begins && free_place && f->id != liar.watch_id) {
		if (!liar.held_ms)
			liar.held_ms = (unsigned)chance_below(c, l->is_ring ? 800 : 250);
		*free_place = f->id;
		hold_locked(f, payload);
		return true;
	}
	return chance_once_in(c, 1500);
}

static void say_something_locked(struct lies *l, struct frame *f, struct buf *payload)
{
	struct chance *c = &l->chance;
	uint32_t id = f->id;
	bool is_endless = l->is_endless;

	l->is_endless = false;
	if (keep_back_locked(l, f, payload))
		return;
	if (chance_once_in(c, 3000))
		break_stream(l);
	if (chance_once_in(c, 200))
		id = liar.last_id - (uint32_t)chance_below(c, 4);
	if (chance_once_in(c, 500))
		id = (uint32_t)chance_any(c);
	if (chance_once_in(c, 300))
		f->type = chance_once_in(c, 2) ? FRAME_END : FRAME_ITEMS;
	if (chance_once_in(c, 500))
		buf_consume(payload, chance_below(c, payload->len + 1));
	say_locked(f->type, id, buf_text(payload), payload->len);
	if (is_endless && id == f->id)
		go_on_without_end_locked(l, id);
	if (chance_once_in(c, 300))
		say_locked(f->type, id, buf_text(payload), payload->len);
}

/* Replaces the frame by an error that the helper never had. */
static void be_refused(struct lies *l, struct frame *f, struct buf *payload)
{
	buf_reset(payload);
	f->type = FRAME_END;
	wire_put_end(payload, (enum err)chance_below(&l->chance, ERR_OVERFLOW + 1),
		"a lie\n\xc2\x9b with an end");
}

/*
 * The share of lies for some time. A small share leads further, where lies build on honest answers.
 */
static unsigned any_share(struct lies *l)
{
	static const unsigned shares[] = { 0, 1, 1, 2, 5, 10, 30, 70 };

	return shares[chance_below(&l->chance, l->is_wild ? 8 : 5)];
}

static void answer(struct lies *l)
{
	struct buf payload = BUF_INIT(FRAME_PAYLOAD_MAX), changed = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct frame f;

	for (;;) {
		uint64_t records = l->records, answered_before = l->changed;

		read_frame(liar.from_helper, &f, &payload);
		report_to_helper(&f);
		if (f.type == FRAME_RECEIVED)
			correct_report(&payload);
		if (chance_once_in(&l->chance, 100))
			l->share = any_share(l);
		buf_reset(&changed);
		l->is_ring = false;
		pthread_mutex_lock(&liar.lock);
		l->asked = type_of_locked(f.id) == FRAME_LIST ? liar.ids[f.id % IDS].asked : NULL;
		l->is_earlier = f.id <= liar.ring_id;
		if (f.type == FRAME_ITEMS)
			lies_retell(l, type_of_locked(f.id), &payload, &changed);
		else
			buf_add(&changed, payload.bytes, payload.len);
		if (l->events.len && liar.watch_id)
			say_locked(FRAME_ITEMS, liar.watch_id, l->events.bytes, l->events.len);
		buf_reset(&l->events);
		if (l->share && f.type == FRAME_END && chance_once_in(&l->chance, 60))
			be_refused(l, &f, &changed);
		count(COUNT_RECORDS, l->records - records);
		count(COUNT_LIES, l->changed - answered_before);
		count(COUNT_RINGS, l->is_ring);
		if (l->is_ring)
			liar.ring_id = liar.last_id;
		if (l->has_hidden && liar.held_ms > RING_MS)
			liar.held_ms = RING_MS;
		l->has_hidden = false;
		if (changed.failed)
			say_locked(f.type, f.id, payload.bytes, payload.len);
		else if (l->share && f.type != FRAME_RECEIVED)
			say_something_locked(l, &f, &changed);
		else
			say_locked(f.type, f.id, buf_text(&changed), changed.len);
		pthread_mutex_unlock(&liar.lock);
	}
}

/* ---- Storms, and late frames ---- */

/* Events are about the names and attributes that were sent so far. */
static void learn_locked(struct lies *storm, const struct lies *l)
{
	for (int n = 0; n < POOL_SIZE; n++) {
		free(storm->dirs[n]);
		free(storm->names[n]);
		storm->dirs[n] = l->dirs[n] ? strdup(l->dirs[n]) : NULL;
		storm->names[n] = l->names[n] ? strdup(l->names[n]) : NULL;
		storm->attrs[n] = l->attrs[n];
		storm->dir_attrs[n] = l->dir_attrs[n];
	}
}

static void storm_locked(unsigned events)
{
	struct buf frame = BUF_INIT(FRAME_PAYLOAD_MAX);

	for (unsigned n = 0; n < events; n++)
		lies_event(&liar.storm, &frame);
	say_locked(FRAME_ITEMS, liar.watch_id, frame.bytes, frame.len);
	count(COUNT_EVENTS, events);
	buf_release(&frame);
}

static void *make_weather(void *context)
{
	const struct lies *l = context;
	struct chance *c = &liar.storm.chance;
	unsigned left = 0;

	for (;;) {
		sleep_ms(5);
		pthread_mutex_lock(&liar.lock);
		if (liar.held_count && liar.held_ms < 5)
			release_held_locked();
		liar.held_ms -= liar.held_ms < 5 ? 0 : 5;
		if (l->is_wild && !left && chance_once_in(c, 400)) {
			left = (unsigned)chance_below(c, 200);
			learn_locked(&liar.storm, l);
		}
		if (liar.watch_id && l->share && (left || chance_once_in(c, 10)))
			storm_locked(left ? STORM_EVENTS : 1);
		left -= left ? 1 : 0;
		pthread_mutex_unlock(&liar.lock);
	}
	return NULL;
}

/* ---- The liar's life ---- */

static void start_helper(char *helper, char *root, char *staging)
{
	char *const argv[] = { helper, "serve", root, staging, NULL };
	posix_spawn_file_actions_t actions;
	int in[2], out[2];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		stop();
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	if (posix_spawn(&pid, helper, &actions, NULL, argv, environ)) {
		perror(helper);
		stop();
	}
	liar.to_helper = in[1];
	liar.from_helper = out[0];
	close(in[0]);
	close(out[1]);
}

int main(int argc, char **argv)
{
	pthread_t requests, weather;
	int fd;

	if (argc != 7) {
		fprintf(stderr, "usage: liar SEED HELPER ROOT STAGING SECRET COUNTS\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	fd = open(argv[6], O_RDWR | O_CLOEXEC);
	liar.counts =
		mmap(NULL, COUNTS * sizeof *liar.counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || liar.counts == MAP_FAILED) {
		perror(argv[6]);
		return 2;
	}
	count(COUNT_STARTS, 1);
	lies_init(&lies, strtoull(argv[1], NULL, 0), argv[5]);
	lies_init(&liar.storm, strtoull(argv[1], NULL, 0) + 1000003, argv[5]);
	start_helper(argv[2], argv[3], argv[4]);
	/* Only half of the runs have storms and long lists, which delay the events behind them. */
	lies.is_wild = chance_once_in(&lies.chance, 2);
	lies.share = any_share(&lies);
	if (pthread_create(&requests, NULL, take_requests, NULL) ||
		pthread_create(&weather, NULL, make_weather, &lies))
		return 1;
	answer(&lies);
}
