#include "tests/posix/posix.h"

#include <dirent.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#define CASE_DEADLINE_S 300

static bool case_failed;

void posix_check(bool claim, const char *file, int line, const char *format, ...)
{
	va_list args;

	if (claim)
		return;
	case_failed = true;
	printf("# %s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

/* ---- Users ---- */

static void must(int ret, const char *what)
{
	if (!ret)
		return;
	printf("# %s: %m\n", what);
	exit(1);
}

int posix_become(uid_t uid)
{
	const gid_t shared = GROUP_SHARED;

	must(setgroups(uid == USER_B, &shared), "setgroups");
	must(setegid(uid), "setegid");
	must(seteuid(uid), "seteuid");
	return 1;
}

void posix_back(const int *ignored)
{
	(void)ignored;
	must(seteuid(0), "seteuid back");
	must(setegid(0), "setegid back");
	must(setgroups(0, NULL), "setgroups back");
}

/* ---- Files ---- */

void make_text(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
	size_t len = strlen(text);

	OK(fd);
	SAME(write(fd, text, len), len);
	OK(close(fd));
}

void make_file(const char *path, mode_t mode)
{
	make_text(path, "");
	OK(chmod(path, mode));
}

struct stat stat_of(const char *path)
{
	struct stat st = { 0 };

	OK(lstat(path, &st));
	return st;
}

mode_t mode_of(const char *path)
{
	return stat_of(path).st_mode & 07777;
}

nlink_t nlink_of(const char *path)
{
	return stat_of(path).st_nlink;
}

off_t size_of(const char *path)
{
	return stat_of(path).st_size;
}

bool holds(const char *path, const char *text)
{
	char bytes[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = read(fd, bytes, sizeof bytes);

	close(fd);
	return got == (ssize_t)strlen(text) && !memcmp(bytes, text, (size_t)got);
}

bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

const char *long_name(size_t n)
{
	static char name[3][8192];
	static int turn;
	char *out = name[turn++ % 3];

	memset(out, 'n', n);
	out[n] = '\0';
	return out;
}

/* ---- Times ---- */

static bool is_after(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static void wait_for_tick(void)
{
	struct timespec before, now;

	clock_gettime(CLOCK_REALTIME_COARSE, &before);
	do
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
	while (!is_after(&now, &before));
}

void make_old(const char *path)
{
	const struct timespec old[2] = { { 1000000000, 123456789 }, { 1000000000, 123456789 } };

	OK(utimensat(AT_FDCWD, path, old, AT_SYMLINK_NOFOLLOW));
}

struct stat aged(const char *path)
{
	struct stat st;

	make_old(path);
	st = stat_of(path);
	wait_for_tick();
	return st;
}

enum moved moved_since(const char *path, const struct stat *before)
{
	struct stat now = stat_of(path);

	return (is_after(&now.st_mtim, &before->st_mtim) ? MOVED_MTIME : 0) |
		(is_after(&now.st_ctim, &before->st_ctim) ? MOVED_CTIME : 0);
}

/* ---- Running ---- */

static void remove_tree(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream;

	if (fd < 0 && errno == EACCES && !fchmodat(dir, name, 0700, 0))
		fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		unlinkat(dir, name, 0);
		return;
	}
	fchmod(fd, 0700);
	stream = fdopendir(fd);
	for (struct dirent *d; stream && (d = readdir(stream));)
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			remove_tree(fd, d->d_name);
	closedir(stream);
	unlinkat(dir, name, AT_REMOVEDIR);
}

/*
 * Each case runs in a process of its own: its users, working directory, umask and descriptors end
 * with that.
 */
static bool run_apart(const struct posix_case *c)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child < 0)
		return false;
	if (!child) {
		alarm(CASE_DEADLINE_S);
		umask(022);
		c->run();
		fflush(stdout);
		_exit(case_failed);
	}
	if (waitpid(child, &status, 0) != child)
		return false;
	if (WIFSIGNALED(status))
		printf("# ended by %s\n", strsignal(WTERMSIG(status)));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool run_in_folder(const struct posix_case *c)
{
	char folder[] = "posix.XXXXXX";
	bool passed;

	if (!mkdtemp(folder) || chmod(folder, 0777) || chdir(folder)) {
		printf("# %s: %m\n", folder);
		return false;
	}
	passed = run_apart(c);
	if (chdir(".."))
		return false;
	remove_tree(AT_FDCWD, folder);
	return passed;
}

struct tally {
	unsigned cases, failed;
};

static void run_cases(const struct posix_case *c, struct tally *t)
{
	for (; c->name; c++) {
		t->cases++;
		if (c->needs_root && geteuid() != 0) {
			printf("ok %u - %s # SKIP needs root\n", t->cases, c->name);
			continue;
		}
		bool passed = run_in_folder(c);

		t->failed += !passed;
		printf("%s %u - %s\n", passed ? "ok" : "not ok", t->cases, c->name);
	}
}

int main(int argc, char **argv)
{
	const struct posix_case *const groups[] = { cases_create, cases_remove, cases_rename,
		cases_attributes, cases_owners, cases_times, cases_links, cases_contents,
		cases_limits };
	struct tally tally = { 0 };

	if (argc != 2 || chdir(argv[1])) {
		fprintf(stderr, "usage: posix DIRECTORY\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
		run_cases(groups[i], &tally);
	printf("1..%u\n", tally.cases);
	return tally.failed ? 1 : 0;
}
