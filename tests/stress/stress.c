/*
 * stress.c - two processes hammer one directory from many threads for a while.
 *
 *	stress [--seconds=N] [--threads=N] [--pid=PID] DIRECTORY
 *
 * Exit status: 0 nothing lost, nothing stuck, nothing grown; 1 something was; 2 it could not be
 * tried.
 */
#include "tests/stress/stress.h"

#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAILURES_SHOWN 50
/* The most that the watched process may gain between a third of the time and the end. */
#define GROWTH_KB  (32 * 1024)
#define GROWTH_FDS 16

struct options {
	int64_t seconds, limit_s;
	unsigned threads;
	long connections;
	pid_t pid;
	const char *directory;
};

int64_t stress_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void stress_fail(struct shared *s, const char *format, ...)
{
	char line[400];
	va_list args;

	if (atomic_fetch_add(&s->failures, 1) >= FAILURES_SHOWN)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	fprintf(stderr, "stress: %s\n", line);
}

void stress_must(struct shared *s, bool holds, const char *what, const char *name)
{
	if (!holds)
		stress_fail(s, "%s %s: %s", what, name, strerror(errno));
}

uint64_t stress_chance(struct worker *w)
{
	w->chance ^= w->chance << 13;
	w->chance ^= w->chance >> 7;
	w->chance ^= w->chance << 17;
	return w->chance >> 11;
}

/* ---- Workers ---- */

struct start {
	struct shared *shared;
	struct worker *worker;
};

static void *worker_main(void *context)
{
	struct start *start = context;

	while (!atomic_load(&start->shared->stop)) {
		start->worker->role->round(start->shared, start->worker);
		atomic_fetch_add(&start->worker->rounds, 1);
	}
	return NULL;
}

static int run_process(struct shared *s, unsigned process)
{
	static struct start starts[PROCESSES * WORKERS_MAX];
	static pthread_t threads[PROCESSES * WORKERS_MAX];

	for (unsigned i = 0; i < s->workers_count; i++) {
		if (s->workers[i].process != process)
			continue;
		starts[i] = (struct start){ s, &s->workers[i] };
		if (pthread_create(&threads[i], NULL, worker_main, &starts[i]))
			return 2;
	}
	for (unsigned i = 0; i < s->workers_count; i++)
		if (s->workers[i].process == process)
			pthread_join(threads[i], NULL);
	return 0;
}

/* ---- Watching ---- */

struct size {
	long kb, fds;
};

/*
 * Descriptors of /dev/fuse are not counted: there is one for each of its threads, and those come
 * with the load.
 */
static long count_fds(pid_t pid)
{
	char path[64], target[64];
	long count = 0;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		ssize_t len = readlinkat(dirfd(dir), d->d_name, target, sizeof target - 1);

		target[len < 0 ? 0 : len] = '\0';
		count += len > 0 && strncmp(target, "/dev/fuse", strlen("/dev/fuse")) != 0;
	}
	if (dir)
		closedir(dir);
	return count;
}

static struct size size_of(pid_t pid)
{
	struct size size = { 0 };
	char path[64], line[256];
	FILE *status;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof line, status))
		if (sscanf(line, "VmRSS: %ld", &size.kb) == 1)
			break;
	if (status)
		fclose(status);
	size.fds = count_fds(pid);
	return size;
}

/* false: a call takes too long. */
static bool all_move(struct shared *s, const struct options *o)
{
	int64_t now = stress_now_ms();

	for (unsigned i = 0; i < s->workers_count; i++) {
		int64_t since = atomic_load(&s->workers[i].busy_since_ms);

		if (since && now - since > o->limit_s * 1000) {
			stress_fail(s, "worker %u (%s) is stuck for %jd s in %s", i,
				s->workers[i].role->name, (intmax_t)((now - since) / 1000),
				atomic_load(&s->workers[i].doing));
			return false;
		}
	}
	return true;
}

/* true: no worker process is left. */
static bool reap(struct shared *s, pid_t children[PROCESSES], bool wait_for_them)
{
	bool all_ended = true;

	for (int i = 0; i < PROCESSES; i++) {
		int status = 0;

		if (!children[i])
			continue;
		if (waitpid(children[i], &status, wait_for_them ? 0 : WNOHANG) != children[i]) {
			all_ended = false;
			continue;
		}
		children[i] = 0;
		if (status && !wait_for_them)
			stress_fail(s, "a worker process ended with status %x", (unsigned)status);
	}
	return all_ended;
}

static void wait_a_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
}

static void kill_all(struct shared *s, pid_t children[PROCESSES])
{
	for (int i = 0; i < PROCESSES; i++)
		if (children[i])
			kill(children[i], SIGKILL);
	reap(s, children, true);
}

/*
 * Returns when all workers ended, by themselves after the time is up or killed because one was
 * stuck.
 */
static bool watch(
	struct shared *s, const struct options *o, pid_t children[PROCESSES], struct size *early)
{
	int64_t begin = stress_now_ms(), length = o->seconds * 1000;

	while (!reap(s, children, false)) {
		int64_t now = stress_now_ms();

		if (o->pid && !early->kb && now - begin > length / 3)
			*early = size_of(o->pid);
		if (now - begin > length)
			atomic_store(&s->stop, true);
		if (!all_move(s, o)) {
			kill_all(s, children);
			return false;
		}
		wait_a_little();
	}
	return true;
}

/* Commands of processes that were killed may be running still: they are waited for. */
static struct size size_at_rest(const struct options *o, long fds_at_most)
{
	int64_t end_ms = stress_now_ms() + o->limit_s * 1000;
	struct size size = size_of(o->pid);

	while (size.fds > fds_at_most && stress_now_ms() < end_ms) {
		wait_a_little();
		size = size_of(o->pid);
	}
	return size;
}

static void compare_sizes(struct shared *s, const struct options *o, const struct size *idle,
	const struct size *early, const struct size *late)
{
	printf("process: %ld kB and %ld descriptors idle; %ld kB after a third; %ld kB and %ld at "
	       "the end\n",
		idle->kb, idle->fds, early->kb, late->kb, late->fds);
	if (!late->kb)
		stress_fail(s, "the file system's process is gone");
	if (early->kb && late->kb > early->kb + early->kb / 4 + GROWTH_KB)
		stress_fail(s, "memory grew from %ld to %ld kB", early->kb, late->kb);
	if (late->fds > idle->fds + GROWTH_FDS + o->connections)
		stress_fail(s, "descriptors grew from %ld to %ld", idle->fds, late->fds);
}

/* ---- Beginning and end ---- */

static unsigned count_kinds(bool has_control)
{
	unsigned kinds = 0;

	while (roles[kinds].name && (has_control || !roles[kinds].uses_control))
		kinds++;
	return kinds;
}

static struct shared *make_shared(unsigned threads, unsigned kinds)
{
	struct shared *s =
		mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		return NULL;
	s->workers_count = PROCESSES * threads;
	for (unsigned i = 0; i < s->workers_count; i++) {
		s->workers[i].number = i;
		s->workers[i].process = i % PROCESSES;
		s->workers[i].role = &roles[i / PROCESSES % kinds];
		s->workers[i].chance = 0x9e3779b97f4a7c15u * (i + 1);
	}
	return s;
}

static void remove_below(const char *name)
{
	DIR *dir;

	if (!unlink(name) || !rmdir(name) || chdir(name))
		return;
	dir = opendir(".");
	for (struct dirent *d; dir && (d = readdir(dir));)
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			remove_below(d->d_name);
	if (dir)
		closedir(dir);
	if (!chdir(".."))
		rmdir(name);
}

static void print_rounds(const struct shared *s, int64_t seconds)
{
	for (const struct role *r = roles; r->name; r++) {
		uint64_t rounds = 0;

		for (unsigned i = 0; i < s->workers_count; i++)
			if (s->workers[i].role == r)
				rounds += atomic_load(&s->workers[i].rounds);
		printf("%-9s %9ju rounds, %ju a second\n", r->name, (uintmax_t)rounds,
			(uintmax_t)(rounds / (uint64_t)(seconds ? seconds : 1)));
	}
}

static bool start(struct shared *s, pid_t children[PROCESSES])
{
	for (unsigned i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		if (children[i] < 0)
			return false;
		if (!children[i])
			_exit(run_process(s, i));
	}
	return true;
}

static int run(struct shared *s, const struct options *o)
{
	struct size idle = { 0 }, early = { 0 }, late;
	pid_t children[PROCESSES] = { 0 };
	bool finished;

	for (const struct role *r = roles; r->name; r++)
		if (r->prepare)
			r->prepare(s);
	if (o->pid)
		idle = size_of(o->pid);
	if (!start(s, children)) {
		kill_all(s, children);
		return 2;
	}
	finished = watch(s, o, children, &early);
	for (const struct role *r = roles; finished && r->name; r++)
		if (r->check)
			r->check(s);
	if (o->pid) {
		late = size_at_rest(o, idle.fds + GROWTH_FDS + o->connections);
		compare_sizes(s, o, &idle, &early, &late);
	}
	print_rounds(s, o->seconds);
	printf("%u violations\n", atomic_load(&s->failures));
	return atomic_load(&s->failures) ? 1 : 0;
}

static const struct argp_option option_table[] = {
	{ "seconds", 's', "N", 0, "How long (10)", 0 },
	{ "threads", 't', "N", 0, "In each of the two processes (14)", 0 },
	{ "pid", 'p', "PID", 0, "The file system's process: its memory and descriptors are watched",
		0 },
	{ "connections", 'c', "N", 0, "How many to its sandbox that process may keep (0)", 0 },
	{ "patience", 'w', "S", 0, "A call that takes so many seconds is stuck (60)", 0 },
	{ 0 },
};

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 's': o->seconds = atoi(arg); break;
	case 't': o->threads = (unsigned)atoi(arg); break;
	case 'p': o->pid = atoi(arg); break;
	case 'c': o->connections = atol(arg); break;
	case 'w': o->limit_s = atoi(arg); break;
	case ARGP_KEY_ARG:
		if (o->directory)
			argp_usage(state);
		o->directory = arg;
		break;
	case ARGP_KEY_END:
		if (!o->directory || !o->threads || o->threads > WORKERS_MAX)
			argp_usage(state);
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct argp argp = { option_table, take_option, "DIRECTORY",
		"Hammers one directory from two processes with many threads and checks that "
		"nothing is lost.",
		NULL, NULL, NULL };
	struct options o = { .seconds = 10, .limit_s = 60, .threads = 14 };
	struct shared *s;
	int status;

	argp_err_exit_status = 2;
	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return 2;
	if (chdir(o.directory) || mkdir(FOLDER, 0755) || chdir(FOLDER)) {
		perror(o.directory);
		return 2;
	}
	s = make_shared(o.threads, count_kinds(!access(CONTROL, F_OK)));
	if (!s) {
		perror("mmap");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	status = run(s, &o);
	if (!chdir(".."))
		remove_below(FOLDER);
	munmap(s, sizeof *s);
	return status;
}
