#include "fs/lost_signals.h"

#include "providers/base/buf.h"
#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The inode of the first PID namespace, PROC_PID_INIT_INO: the tracepoint uses its process numbers.
 */
#define FIRST_PIDS   0xEFFFFFFCU
#define FILTER_MAX   1024
#define SIGNALS_LAST 64

static bool is_first_namespace(void)
{
	struct stat ours;

	return !stat("/proc/self/ns/pid", &ours) && ours.st_ino == FIRST_PIDS;
}

/*
 * tracefs without a mountpoint: it need not be mounted, and other processes do not see the mount.
 */
static int open_tracefs(void)
{
	AUTO_CLOSE int context = fsopen("tracefs", FSOPEN_CLOEXEC);

	if (context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -1;
	return fsmount(context, FSMOUNT_CLOEXEC, 0);
}

/* The tracepoint's number; 0: not available to us. */
static uint64_t find_tracepoint(void)
{
	AUTO_CLOSE int tracefs = is_first_namespace() ? open_tracefs() : -1;
	AUTO_CLOSE int fd = tracefs < 0
		? -1
		: openat(tracefs, "events/signal/signal_generate/id", O_RDONLY | O_CLOEXEC);
	char text[24] = "";

	return fd >= 0 && read(fd, text, sizeof text - 1) > 0 ? strtoull(text, NULL, 10) : 0;
}

static bool describe(struct buf *filter, pid_t process, uint64_t signals)
{
	const char *before = "";

	buf_printf(filter, "pid==%d&&(", (int)process);
	for (int number = 1; number <= SIGNALS_LAST; number++)
		if (signals >> (number - 1) & 1) {
			buf_printf(filter, "%ssig==%d", before, number);
			before = "||";
		}
	buf_add_byte(filter, ')');
	return !filter->failed;
}

/* -1: not permitted, or there is no such processor now. */
static int open_counter(uint64_t tracepoint, const char *filter, int processor)
{
	struct perf_event_attr wanted = { .type = PERF_TYPE_TRACEPOINT,
		.size = sizeof wanted,
		.config = tracepoint,
		.disabled = 1 };
	AUTO_CLOSE int fd =
		(int)syscall(SYS_perf_event_open, &wanted, -1, processor, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) ||
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return -1;
	return take_fd(&fd);
}

void lost_signals_begin(struct lost_signals *l, pid_t process, uint64_t signals)
{
	AUTO_BUF struct buf filter = BUF_INIT(FILTER_MAX);
	uint64_t tracepoint = signals ? find_tracepoint() : 0;
	long processors = sysconf(_SC_NPROCESSORS_CONF);

	*l = LOST_SIGNALS_NONE;
	if (!tracepoint || processors < 1 || !describe(&filter, process, signals))
		return;
	l->counters = calloc((size_t)processors, sizeof *l->counters);
	if (!l->counters)
		return;
	for (; l->count < (size_t)processors; l->count++)
		l->counters[l->count] = open_counter(tracepoint, buf_text(&filter), (int)l->count);
}

void lost_signals_end(struct lost_signals *l)
{
	while (l->count)
		cleanup_close(&l->counters[--l->count]);
	free(l->counters);
	*l = LOST_SIGNALS_NONE;
}

bool lost_signals_any(const struct lost_signals *l)
{
	uint64_t sent;

	for (size_t n = 0; n < l->count; n++)
		if (l->counters[n] >= 0 &&
			read(l->counters[n], &sent, sizeof sent) == sizeof sent && sent)
			return true;
	return false;
}
