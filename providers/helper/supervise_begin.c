/* How a process becomes a supervisor, and its child the command's shell. */
#include "providers/base/cleanup.h"
#include "providers/helper/record.h"
#include "providers/helper/supervise_inside.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

/* The shell's descriptors: standard input, output and error, and the text of a long command. */
#define GIVEN_FDS 4

/* ---- Descriptors and signals ---- */

static bool is_kept(const struct supervision *s, int fd)
{
	return fd < 0 || fd == s->record || fd == s->cwd || fd == s->input || fd == s->text;
}

static void close_others(const struct supervision *s)
{
	DIR *dir = opendir("/proc/self/fd");

	for (int fd = 0; !dir && fd < 1024; fd++)
		if (!is_kept(s, fd))
			close(fd);
	for (const struct dirent *d; dir && (d = readdir(dir));) {
		int fd = d->d_name[0] == '.' ? -1 : (int)strtol(d->d_name, NULL, 10);

		if (fd != dirfd(dir) && !is_kept(s, fd))
			close(fd);
	}
	if (dir)
		closedir(dir);
}

/*
 * Fills the descriptors 0 to 2; the given ones are above. A sandbox can have anything as /dev/null,
 * but always has a root.
 */
static bool take_standard(void)
{
	int fd;

	do
		fd = open("/", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd < STDERR_FILENO);
	return fd >= 0;
}

static int open_signals(void)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGCHLD);
	sigaddset(&ours, SUPERVISE_STOP);
	sigaddset(&ours, SUPERVISE_STOP_NOW);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN);
	sigprocmask(SIG_SETMASK, &ours, NULL);
	return signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Moves a descriptor above those that the shell gets. */
static int lift_fd(int fd)
{
	return fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, GIVEN_FDS);
}

static struct supervision lift_all(const struct supervision *s)
{
	return (struct supervision){ lift_fd(s->record), lift_fd(s->cwd), lift_fd(s->input),
		lift_fd(s->text), s->request };
}

/* ---- The shell ---- */

/*
 * A long text comes as descriptor 3, and its first line closes that: the shell reads the text by
 * another descriptor.
 */
static const char read_text[] = ". /proc/self/fd/3";

static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void set_environment(const struct command_request *request)
{
	unsetenv("OLDPWD");
	for (size_t i = 0; i < request->env_count; i++)
		putenv((char *)request->env[i]);
}

_Noreturn static void become_shell(const struct supervision *s, const int ends[2])
{
	const int fds[] = { s->input, ends[0], ends[1], s->text };

	setpgid(0, 0);
	for (int i = 0; i < 4; i++)
		if (fds[i] >= 0 && dup2(fds[i], i) < 0)
			_exit(126);
	if (fchdir(s->cwd))
		_exit(126);
	umask(022);
	set_environment(s->request);
	reset_signals();
	execl("/bin/sh", "sh", "-c", s->text < 0 ? s->request->text : read_text, (char *)NULL);
	_exit(127);
}

/* Our end never blocks; the command's end is an ordinary pipe. */
static bool open_pipe(int *ours, int *theirs)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return false;
	*ours = ends[0];
	*theirs = ends[1];
	return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

static bool start_shell(struct supervisor *v, const struct supervision *s)
{
	AUTO_CLOSE int out = -1;
	AUTO_CLOSE int err = -1;

	if (!open_pipe(&v->out, &out) || !open_pipe(&v->err, &err))
		return false;
	v->shell = fork();
	if (v->shell == 0)
		become_shell(s, (const int[]){ out, err });
	return v->shell > 0;
}

/* ---- The supervisor ---- */

static void close_given(const struct supervision *s)
{
	close(s->cwd);
	close(s->input);
	if (s->text >= 0)
		close(s->text);
}

/* Drops the pages that hold nothing else; only our copy of them. */
static void drop_memory(const void *bytes, size_t len)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)bytes + page - 1) / page * page;
	uintptr_t to = ((uintptr_t)bytes + len) / page * page;

	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
}

/* The memory may be as large as a request, and the command may run for days. */
static void drop_request(const struct command_request *request)
{
	drop_memory(request->input, request->input_len);
	drop_memory(request->text, strlen(request->text));
}

bool supervisor_begin(struct supervisor *v, const struct supervision *given)
{
	const struct supervision s = lift_all(given);

	*v = (struct supervisor){ .record = s.record, .out = -1, .err = -1 };
	close_others(&s);
	if (!take_standard())
		return false;
	v->signals = open_signals();
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (v->signals < 0 || !record_begin(v->record, getpid()) || !start_shell(v, &s))
		return false;
	close_given(&s);
	drop_request(s.request);
	return true;
}
