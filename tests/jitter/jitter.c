/*
 * jitter.c - delays some calls of the programs it is preloaded into, as a busy machine does (make
 * test JITTER=SEED): code that is right only while a thread is quick enough fails within a few
 * runs.
 *
 * Some threads are slow often, most now and then, and some run only when a core has nothing else to
 * do: such a thread stops anywhere, also between two lines of a test. In each process some places
 * of the code are slow every other time, so that a place that must not be slow shows. No two runs
 * are equal, whatever the seed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SLOW_THREADS_ONE_IN 16
#define SLOWNESS            20 /* a slow thread is delayed so much more often */
#define IDLE_THREADS_ONE_IN 8
#define IDLE_WAIT_MAX_NS    5000000000 /* for a core, in all: see may_wait_longer() */
#define IDLE_LOOKS_ONE_IN   8          /* calls of such a thread */
#define SLOW_SITES_ONE_IN   32
#define SITE_SLOW_ONE_IN    2        /* one call in so many, at a slow site */
#define SITE_US             20000    /* a delay's maximum at a slow site */
#define SITE_DELAYS_MAX     300      /* in one process: some sites are called a million times */
#define UNIT_US_MAX         10000000 /* in all, for a unit's test: some make a million calls */
#define LONG_ONE_IN         64       /* one delay in so many is long */
#define LONG_TIMES          20       /* a long delay is so many times as long */

struct thread {
	uint64_t random; /* 0: not begun */
	bool is_idle;    /* runs only when a core has nothing else to do */
	unsigned calls;
	/* 0: a thread of a shell, or of another program that a test or a command runs */
	unsigned slowness;
};

static __thread struct thread self;
static atomic_uint site_delays;
static _Atomic int64_t unit_left_us = UNIT_US_MAX;

static uint32_t next_random(void)
{
	self.random ^= self.random << 13;
	self.random ^= self.random >> 7;
	self.random ^= self.random << 17;
	return (uint32_t)(self.random >> 32);
}

/* Criterion runs each test of a unit in a process of this name, whatever the program. */
#define UNIT "boxfort-worker"

static bool is_ours(const char *program)
{
	return !strncmp(program, "sandbox", 7) || !strncmp(program, "test-", 5) ||
		!strcmp(program, UNIT);
}

static void set_idle(bool is_idle)
{
	self.is_idle = is_idle;
	sched_setscheduler(0, is_idle ? SCHED_IDLE : SCHED_OTHER, &(struct sched_param){ 0 });
}

static void begin_thread(void)
{
	const char *seed = getenv("JITTER");
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	self.random = (uint64_t)(seed ? atoi(seed) : 0) * 2654435761U +
		(uint64_t)syscall(SYS_gettid) * 7919 + (uint64_t)now.tv_nsec + 1;
	for (int n = 0; n < 8; n++)
		next_random();
	if (is_ours(program_invocation_short_name))
		self.slowness = next_random() % SLOW_THREADS_ONE_IN ? 1 : SLOWNESS;
	else
		self.slowness = 0;
	/* Only root's threads can be made busy ones again. */
	set_idle(self.slowness && !geteuid() && next_random() % IDLE_THREADS_ONE_IN == 0);
}

/*
 * False: the thread has waited for a core for longer than it may. Where many programs are busy,
 * such a thread runs for 10 ms of 30 s, which a request's deadline on progress does not allow.
 */
static bool may_wait_longer(void)
{
	char text[100] = "";
	unsigned long long ran_ns, waited_ns;
	int fd = (int)syscall(
		SYS_openat, AT_FDCWD, "/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	syscall(SYS_read, fd, text, sizeof text - 1);
	syscall(SYS_close, fd);
	return sscanf(text, "%llu %llu", &ran_ns, &waited_ns) == 2 && waited_ns < IDLE_WAIT_MAX_NS;
}

static bool may_be_delayed(uint64_t us)
{
	return strcmp(program_invocation_short_name, UNIT) != 0 ||
		atomic_fetch_sub(&unit_left_us, (int64_t)us) > 0;
}

/* A site is slow for all threads of a process; each process has other slow sites. */
static bool is_slow_site(const void *caller)
{
	uint64_t mixed =
		((uint64_t)(uintptr_t)caller ^ ((uint64_t)getpid() << 32)) * 0x9e3779b97f4a7c15U;

	return (mixed >> 32) % SLOW_SITES_ONE_IN == 0;
}

/* Delays one call in `one_in`, on average, for up to `most_us` microseconds; 0: no call. */
static void delay(unsigned one_in, unsigned most_us, const void *caller)
{
	int saved = errno;

	if (!one_in)
		return;
	if (!self.random)
		begin_thread();
	if (!self.slowness)
		return;
	if (self.is_idle && ++self.calls % IDLE_LOOKS_ONE_IN == 0 && !may_wait_longer())
		set_idle(false);
	if (is_slow_site(caller) && atomic_load(&site_delays) < SITE_DELAYS_MAX) {
		atomic_fetch_add(&site_delays, 1);
		one_in = SITE_SLOW_ONE_IN;
		most_us = most_us < SITE_US ? SITE_US : most_us;
	}
	if (next_random() % one_in < self.slowness) {
		uint64_t us = next_random() % most_us;

		if (next_random() % LONG_ONE_IN == 0)
			us *= LONG_TIMES;
		const struct timespec time = { .tv_sec = (time_t)(us / 1000000),
			.tv_nsec = (long)(us % 1000000 * 1000) };

		if (may_be_delayed(us))
			syscall(SYS_nanosleep, &time, NULL);
	}
	errno = saved;
}

/*
 * For x86_64 glibc has an older form of the functions on conditions, too, which dlsym() would find.
 */
#define CONDITIONS "GLIBC_2.3.2"

static void *real(const char *name)
{
	void *found = dlvsym(RTLD_NEXT, name, CONDITIONS);

	return found ? found : dlsym(RTLD_NEXT, name);
}

/* Defines `name` as the real one, with a delay before and after one call in so many. */
#define DELAYED(type, name, parameters, arguments, before, after, us)                              \
	type name parameters;                                                                      \
	type name parameters                                                                       \
	{                                                                                          \
		static type(*next) parameters;                                                     \
                                                                                                   \
		if (!next)                                                                         \
			*(void **)&next = real(#name);                                             \
		delay(before, us, __builtin_return_address(0));                                    \
		type result = next arguments;                                                      \
                                                                                                   \
		delay(after, us, __builtin_return_address(0));                                     \
		return result;                                                                     \
	}

DELAYED(int, pthread_mutex_lock, (pthread_mutex_t * m), (m), 150, 0, 3000)
DELAYED(int, pthread_mutex_unlock, (pthread_mutex_t * m), (m), 0, 150, 3000)
DELAYED(int, pthread_cond_signal, (pthread_cond_t * c), (c), 20, 20, 20000)
DELAYED(int, pthread_cond_broadcast, (pthread_cond_t * c), (c), 20, 20, 20000)
DELAYED(int, pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m), 0, 20, 20000)
DELAYED(int, pthread_cond_timedwait,
	(pthread_cond_t * c, pthread_mutex_t *m, const struct timespec *end), (c, m, end), 0, 20,
	20000)
DELAYED(int, eventfd_write, (int fd, eventfd_t value), (fd, value), 10, 10, 20000)
DELAYED(ssize_t, read, (int fd, void *to, size_t len), (fd, to, len), 0, 30, 20000)
DELAYED(ssize_t, write, (int fd, const void *from, size_t len), (fd, from, len), 30, 30, 20000)
DELAYED(ssize_t, writev, (int fd, const struct iovec *v, int count), (fd, v, count), 30, 30, 20000)
DELAYED(ssize_t, recv, (int fd, void *to, size_t len, int flags), (fd, to, len, flags), 0, 20,
	20000)
DELAYED(ssize_t, send, (int fd, const void *from, size_t len, int flags), (fd, from, len, flags),
	20, 20, 20000)
DELAYED(int, poll, (struct pollfd * fds, nfds_t count, int ms), (fds, count, ms), 0, 30, 20000)

struct start {
	void *(*run)(void *);
	void *argument;
};

static void *begin_late(void *context)
{
	struct start start = *(struct start *)context;

	free(context);
	delay(3, 60000, (void *)start.run);
	return start.run(start.argument);
}

int pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument)
{
	static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct start *start = malloc(sizeof *start);

	if (!start)
		return ENOMEM;
	*start = (struct start){ .run = run, .argument = argument };
	if (!next)
		*(void **)&next = real("pthread_create");
	int failure = next(thread, attr, begin_late, start);

	if (failure)
		free(start);
	delay(3, 60000, __builtin_return_address(0));
	return failure;
}
