/*
 * oracle.c - replays one random trace of system calls on a mount (A) and on a plain directory (B)
 * and compares.
 *
 *	oracle [--seed=N] [--ops=N] A B
 *
 * Exit status: 0 no difference, 1 a difference (printed with the calls that led to it), 2 it could
 * not be tried, 3 a call did not return.
 */
#include "tests/oracle/lockstep.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHOWN_BEFORE 30

struct options {
	uint64_t seed;
	unsigned long ops, from, sabotage_step;
	unsigned tree_every, times_every, limit_s;
	bool as_users, plain_modes, minimize, no_atime, no_nanos, quiet, changes_follow;
	unsigned second_writer;
	const char *without, *behind, *sync, *a, *b;
	enum sabotage sabotage;
};

enum option_key {
	KEY_FROM = 256,
	KEY_MINIMIZE,
	KEY_USERS,
	KEY_NO_ATIME,
	KEY_NS,
	KEY_WITHOUT,
	KEY_TREE,
	KEY_TIMES,
	KEY_BEHIND,
	KEY_SABOTAGE,
	KEY_SABOTAGE_STEP,
	KEY_PATIENCE,
	KEY_CHANGES_FOLLOW,
	KEY_PLAIN_MODES,
	KEY_SECOND_WRITER,
	KEY_SYNC,
};

static const struct argp_option option_table[] = {
	{ "seed", 's', "N", 0, "Which trace (1)", 0 },
	{ "ops", 'n', "N", 0, "How many calls (20000)", 0 },
	{ "from-step", KEY_FROM, "N", 0, "Leave out the calls before this one", 0 },
	{ "as-users", KEY_USERS, NULL, 0, "Make some calls as ordinary users (needs root)", 0 },
	{ "plain-modes", KEY_PLAIN_MODES, NULL, 0,
		"Only modes that are not set-id and leave the owner everything", 0 },
	{ "minimize", KEY_MINIMIZE, NULL, 0,
		"On a difference, look for the fewest calls that lead to one", 0 },
	{ "without", KEY_WITHOUT, "CALL,...", 0,
		"Leave these calls out: open_tmpfile, exchange, btime...", 0 },
	{ "no-atime", KEY_NO_ATIME, NULL, 0, "Compare access times only right after they were set",
		0 },
	{ "ns", KEY_NS, "on|off", 0, "Whether times are exact to the nanosecond (on)", 0 },
	{ "tree-every", KEY_TREE, "N", 0,
		"Compare the whole trees every N calls (500); 0: only at the end", 0 },
	{ "times-every", KEY_TIMES, "N", 0,
		"Compare stat and the moves of times around every Nth call (3)", 0 },
	{ "behind", KEY_BEHIND, "DIR", 0,
		"The directory on disk that A shows: compared with the whole tree too", 0 },
	{ "changes-follow", KEY_CHANGES_FOLLOW, NULL, 0,
		"A has a change at the next fsync: one comes before times are compared, and FILE "
		"of --sync before the whole trees",
		0 },
	{ "second-writer", KEY_SECOND_WRITER, "N", 0,
		"Make about every Nth call behind A, where it is one on paths (needs --behind, "
		"--sync)",
		0 },
	{ "sync", KEY_SYNC, "FILE", 0,
		"What is written to it makes A send what it owes and check what it knows", 0 },
	{ "patience", KEY_PATIENCE, "S", 0, "A call that takes so many seconds hangs (300)", 0 },
	{ "quiet", 'q', NULL, 0, "No counts at the end", 0 },
	{ "sabotage", KEY_SABOTAGE, "KIND", 0, "Spoil A on purpose: result, drop or content", 0 },
	{ "sabotage-step", KEY_SABOTAGE_STEP, "N", 0, "From this step on (1000)", 0 },
	{ 0 },
};

static unsigned long number(const char *text, struct argp_state *state)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end)
		argp_error(state, "%s: not a number", text);
	return n;
}

static enum sabotage sabotage_kind(const char *word, struct argp_state *state)
{
	if (!strcmp(word, "result"))
		return SABOTAGE_RESULT;
	if (!strcmp(word, "drop"))
		return SABOTAGE_DROP;
	if (strcmp(word, "content"))
		argp_error(state, "%s: use result, drop or content", word);
	return SABOTAGE_CONTENT;
}

static error_t take_path(struct options *o, char *arg, struct argp_state *state)
{
	if (!o->a)
		o->a = arg;
	else if (!o->b)
		o->b = arg;
	else
		argp_usage(state);
	return 0;
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 's': o->seed = number(arg, state); break;
	case 'n': o->ops = number(arg, state); break;
	case 'q': o->quiet = true; break;
	case KEY_FROM: o->from = number(arg, state); break;
	case KEY_USERS: o->as_users = true; break;
	case KEY_MINIMIZE: o->minimize = true; break;
	case KEY_WITHOUT: o->without = arg; break;
	case KEY_NO_ATIME: o->no_atime = true; break;
	case KEY_NS: o->no_nanos = !strcmp(arg, "off"); break;
	case KEY_TREE: o->tree_every = (unsigned)number(arg, state); break;
	case KEY_TIMES: o->times_every = (unsigned)number(arg, state); break;
	case KEY_BEHIND: o->behind = arg; break;
	case KEY_PATIENCE: o->limit_s = (unsigned)number(arg, state); break;
	case KEY_PLAIN_MODES: o->plain_modes = true; break;
	case KEY_CHANGES_FOLLOW: o->changes_follow = true; break;
	case KEY_SECOND_WRITER: o->second_writer = (unsigned)number(arg, state); break;
	case KEY_SYNC: o->sync = arg; break;
	case KEY_SABOTAGE: o->sabotage = sabotage_kind(arg, state); break;
	case KEY_SABOTAGE_STEP: o->sabotage_step = number(arg, state); break;
	case ARGP_KEY_ARG: return take_path(o, arg, state);
	case ARGP_KEY_END:
		if (!o->b || (o->second_writer && (!o->behind || !o->sync)))
			argp_usage(state);
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- Setting up ---- */

static void take_without(struct lockstep *l, const char *list)
{
	char *words = strdup(list ? list : ""), *rest = words;

	for (char *word; (word = strsep(&rest, ","));) {
		const struct op *op = *word ? trace_find_op(&l->trace, word) : NULL;

		if (*word && !op) {
			fprintf(stderr, "--without: there is no call %s\n", word);
			exit(2);
		}
		if (op && l->without_count < OPS_MAX)
			l->without[l->without_count++] = op;
	}
	free(words);
}

/*
 * Newer kernels give two changes different times when someone looked in between, older ones only
 * every few ms.
 */
static bool has_coarse_times(int dir)
{
	static const char name[] = "oracle-clock";
	int fd = openat(dir, name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	struct stat before, after;
	bool coarse = false;

	for (int i = 0; i < 50 && !coarse; i++) {
		coarse = fd < 0 || fstat(fd, &before) || fchmod(fd, i % 2 ? 0600 : 0700) ||
			fstat(fd, &after) ||
			(before.st_ctim.tv_nsec == after.st_ctim.tv_nsec &&
				before.st_ctim.tv_sec == after.st_ctim.tv_sec);
	}
	if (fd >= 0)
		close(fd);
	unlinkat(dir, name, 0);
	return coarse;
}

static bool set_up(struct lockstep *l, const struct options *o)
{
	*l = (struct lockstep){
		.behind = -1,
		.behind_path = o->behind,
		.writer = { .every = o->second_writer, .sync_path = o->sync, .a.root = -1 },
		.rules = { .atime = !o->no_atime,
			.nanos = !o->no_nanos,
			.rdev = true,
			.nlink = true },
		.changes_follow = o->changes_follow,
		.tree_every = o->tree_every,
		.times_every = o->times_every,
		.first = o->from,
		.count = o->ops,
		.sabotage = o->sabotage,
		.sabotage_step = o->sabotage_step,
	};
	trace_init(&l->trace, o->seed, o->as_users);
	l->trace.plain_modes = o->plain_modes;
	take_without(l, o->without);
	if (!side_open(&l->a, "A", o->a) || !side_open(&l->b, "B", o->b))
		return false;
	if (o->behind && (l->behind = open(o->behind, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		perror(o->behind);
		return false;
	}
	l->times_are_coarse = has_coarse_times(l->b.top);
	return true;
}

/* ---- Reports ---- */

static void print_call(const struct lockstep *l, unsigned long step)
{
	static struct call c;
	struct text words = { 0 };

	trace_call(&l->trace, step, &c);
	call_describe(&c, &words);
	printf("  %s\n", words.bytes);
	text_release(&words);
}

/* The calls up to the one that differed; all that were kept after minimizing. */
static void print_difference(const struct lockstep *l)
{
	unsigned long from = l->first;

	if (!l->dropped && l->failed_step > l->first + SHOWN_BEFORE)
		from = l->failed_step - SHOWN_BEFORE;
	printf("DIFFERENCE: seed %ju, step %lu; the calls before it and itself:\n",
		(uintmax_t)l->trace.seed, l->failed_step);
	for (unsigned long n = from; n <= l->failed_step; n++)
		if (!l->dropped || !l->dropped[n])
			print_call(l, n);
	printf("%s", l->difference.bytes);
	fflush(stdout);
}

static void print_counts(const struct lockstep *l, double seconds)
{
	for (size_t i = 0; i < l->trace.ops_count; i++)
		printf("%-16s %8lu calls, %8lu refused\n", l->trace.ops[i]->name, l->done[i],
			l->failed[i]);
	printf("seed %ju: %lu calls on both sides, %.0f a second\n", (uintmax_t)l->trace.seed,
		l->steps_done, (double)l->steps_done / seconds);
}

/* ---- Minimizing: leave out ever smaller pieces as long as a difference remains ---- */

static bool still_differs(struct lockstep *l, const struct lockstep *original)
{
	l->sabotage = original->sabotage;
	return !lockstep_run(l);
}

static bool try_without(
	struct lockstep *l, const struct lockstep *original, unsigned long from, unsigned long to)
{
	bool *kept = malloc(to - from), anything = false, less;

	if (!kept)
		abort();
	memcpy(kept, l->dropped + from, to - from);
	for (unsigned long n = from; n < to; n++) {
		anything |= !l->dropped[n];
		l->dropped[n] = true;
	}
	less = anything && still_differs(l, original);
	if (!less)
		memcpy(l->dropped + from, kept, to - from);
	else if (l->failed_step + 1 < l->first + l->count)
		l->count = l->failed_step + 1 - l->first;
	free(kept);
	return less;
}

static void minimize(struct lockstep *l, const struct lockstep *original)
{
	l->count = l->failed_step + 1 - l->first;
	l->dropped = calloc(l->first + l->count, sizeof *l->dropped);
	if (!l->dropped)
		abort();
	for (unsigned long size = (l->count + 1) / 2; size; size = size == 1 ? 0 : (size + 1) / 2) {
		for (unsigned long back = 0; back < l->count; back += size) {
			unsigned long to = l->first + l->count - back;

			try_without(l, original, to > l->first + size ? to - size : l->first, to);
		}
		fprintf(stderr, "minimizing: pieces of %lu\n", size);
	}
	still_differs(l, original);
}

static int run_and_report(struct lockstep *l, const struct options *o)
{
	struct lockstep original = *l;
	struct timespec begin, end;
	bool same;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	same = lockstep_run(l);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (!same) {
		print_difference(l);
		if (o->minimize) {
			minimize(l, &original);
			print_difference(l);
		}
	}
	if (!o->quiet)
		print_counts(l,
			(double)(end.tv_sec - begin.tv_sec) +
				(double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	return same ? 0 : 1;
}

int main(int argc, char **argv)
{
	const struct argp argp = { option_table, take_option, "A B",
		"Replays one random trace of system calls on two empty directories and compares "
		"all they say.",
		NULL, NULL, NULL };
	struct options o = { .seed = 1,
		.ops = 20000,
		.tree_every = 500,
		.times_every = 3,
		.limit_s = 300,
		.sabotage_step = 1000 };
	static struct lockstep l;
	int status;

	argp_err_exit_status = 2;
	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return 2;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (o.as_users && geteuid() != 0) {
		fprintf(stderr, "--as-users needs root\n");
		return 2;
	}
	if (!set_up(&l, &o))
		return 2;
	lockstep_watch(&l, o.limit_s);
	status = run_and_report(&l, &o);
	side_close(&l.a);
	side_close(&l.b);
	text_release(&l.difference);
	free(l.dropped);
	return status;
}
