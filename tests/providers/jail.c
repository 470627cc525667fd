/*
 * The parts of this machine that a command can reach. The tests change nothing here, even if a jail
 * lets them through.
 */
#include "providers/local/local.h"

#include "providers/base/cleanup.h"
#include "providers/local/jail_filter.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

static struct scratch store;
static struct provider *sandbox;

static void set_up(void)
{
	struct provider_config cfg = { .id = "x" };
	struct error e = { 0 };

	scratch_make(&store);
	setenv("XDG_DATA_HOME", store.path, 1);
	cr_assert(eq(int, provider_connect(&local_provider, &cfg, NULL, &sandbox, &e), ERR_OK),
		"%s", e.text);
}

static void tear_down(void)
{
	provider_release(sandbox);
	scratch_remove(&store);
}

TestSuite(jail, .init = set_up, .fini = tear_down, .timeout = 300);

static enum err keep(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)stream;
	buf_add(context, bytes, len);
	return buf_check(context, "output", e);
}

/* Adds both streams of a command to `out`. Returns its exit code. */
static int run(const char *command, struct buf *out)
{
	struct execute_request request = { .command = command };
	struct execute_result result;
	struct error e = { 0 };

	cr_assert(
		eq(int, provider_execute(sandbox, NULL, &request, keep, out, &result, &e), ERR_OK),
		"%s", e.text);
	return result.exit_code;
}

/* Whether device files can be made and used where the store lies. */
static bool can_have_devices(void)
{
	AUTO_CLOSE int fd = -1;

	if (mknodat(store.fd, "null", S_IFCHR | 0600, makedev(1, 3)))
		return false;
	fd = openat(store.fd, "null", O_RDWR | O_CLOEXEC);
	return fd >= 0;
}

Test(jail, roots_has_device_files_of_its_own)
{
	static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };
	AUTO_BUF struct buf shown = BUF_INIT(4096);

	if (geteuid() || !can_have_devices()) {
		tear_down();
		cr_skip_test("no device files can be made");
	}
	run("cd /dev; stat -c %d:%i: null zero full random urandom tty", &shown);
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
		char path[32], machines[64];
		struct stat st;

		snprintf(path, sizeof path, "/dev/%s", devices[i]);
		cr_assert(stat(path, &st) == 0, "%s", path);
		snprintf(machines, sizeof machines, "%ju:%ju:", (uintmax_t)st.st_dev,
			(uintmax_t)st.st_ino);
		cr_expect(eq(ptr, strstr(buf_text(&shown), machines), NULL), "%s", path);
	}
}

Test(jail, has_devices_that_work)
{
	AUTO_BUF struct buf out = BUF_INIT(4096);

	cr_expect(eq(int, run("echo x >/dev/null", &out), 0), "%s", buf_text(&out));
	cr_expect(eq(int, run("[ $(cat /dev/zero | head -c 5 | wc -c) = 5 ]", &out), 0));
	cr_expect(eq(int, run("[ $(cat /dev/urandom | head -c 5 | wc -c) = 5 ]", &out), 0));
	cr_expect(ne(int, run("exec 2>&-; printf x >/dev/full", &out), 0));
}

/* The command sets the mode that the file has already. */
Test(jail, cannot_change_modes_in_proc)
{
	AUTO_BUF struct buf out = BUF_INIT(4096);

	cr_expect(ne(int, run("chmod 444 /proc/version", &out), 0));
}

Test(jail, runs_behind_its_filter)
{
	AUTO_BUF struct buf out = BUF_INIT(4096);

	cr_expect(
		eq(int, run("grep -q '^Seccomp:.*2$' /proc/self/status /proc/1/status", &out), 0));
}

static int load_filter(void)
{
	AUTO_CLOSE int fd = -1;
	struct sock_filter code[100];
	struct sock_fprog program = { .filter = code };
	ssize_t len;

	if (jail_filter_open(&fd, NULL))
		return -1;
	len = pread(fd, code, sizeof code, 0);
	program.len = (unsigned short)(len / (ssize_t)sizeof *code);
	if (len <= 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool is_missing(long number)
{
	errno = 0;
	return syscall(number, -1L, 0L, 0L, 0L, 0L) < 0 && errno == ENOSYS;
}

/* Runs in a child. 0: the filter is right; else the number of the check that failed. */
static int try_filter(void)
{
	if (load_filter())
		return 1;
	if (!is_missing(SYS_keyctl) || !is_missing(SYS_add_key) || !is_missing(SYS_request_key))
		return 2;
	return syscall(SYS_getpid) == getpid() && !is_missing(SYS_close) ? 0 : 3;
}

Test(jail, filter_takes_the_keyrings_and_nothing_else)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(try_filter());
	cr_assert(eq(int, waitpid(child, &status, 0), child));
	cr_assert(eq(int, status, 0));
}
