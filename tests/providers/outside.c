#include "tests/providers/outside_there.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* A program that ignores TERM is killed 5 s later (provider.h). */
#define UNLOCKED_MS 60000
/* The unit of holes in the file systems that vendors use. */
#define HOLE_UNIT 4096

/* ---- Making and changing ---- */

static void must_be_zero(int result, const char *path)
{
	cr_assert(result == 0, "%s: %s", path, strerror(errno));
}

void outside_write(const struct subject *s, const char *path, const void *bytes, size_t len)
{
	static const char script[] = "cat >\"./$1\" && chmod 644 \"./$1\"";

	if (is_here(s)) {
		scratch_write(&s->tree, path, bytes, len);
		return;
	}
	AUTO_RAN struct ran r = there_with(s, script, path, "", bytes, len);

	must_have_run(&r, script);
}

void outside_write_text(const struct subject *s, const char *path, const char *text)
{
	outside_write(s, path, text, strlen(text));
}

void outside_fill(const struct subject *s, const char *prefix, unsigned count)
{
	char text[16];

	if (!is_here(s)) {
		snprintf(text, sizeof text, "%u", count);
		do_there(s, "seq -f \"./$1%.0f\" 0 $(($2 - 1)) | xargs touch", prefix, text);
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		AUTO_FREE char *name = NULL;

		cr_assert(asprintf(&name, "%s%u", prefix, i) > 0);
		scratch_write_text(&s->tree, name, "");
	}
}

void outside_write_sparse(const struct subject *s, const char *path, uint64_t at)
{
	AUTO_CLOSE int fd = -1;
	char size[24];

	if (!is_here(s)) {
		snprintf(size, sizeof size, "%" PRIu64, at);
		do_there(s, "truncate -s \"$2\" \"./$1\" && printf x >>\"./$1\"", path, size);
		return;
	}
	fd = openat(s->tree.fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	cr_assert(pwrite(fd, "x", 1, (off_t)at) == 1, "%s: %s", path, strerror(errno));
}

void outside_mkdir(const struct subject *s, const char *path, uint32_t mode)
{
	char digits[8];

	if (is_here(s)) {
		scratch_mkdir(&s->tree, path, mode);
		return;
	}
	snprintf(digits, sizeof digits, "%o", mode);
	do_there(s, "mkdir \"./$1\" && chmod \"$2\" \"./$1\"", path, digits);
}

void outside_mkfifo(const struct subject *s, const char *path, uint32_t mode)
{
	char digits[8];

	snprintf(digits, sizeof digits, "%o", mode);
	if (is_here(s))
		must_be_zero(mkfifoat(s->tree.fd, path, mode), path);
	else
		do_there(s, "mkfifo -m \"$2\" \"./$1\"", path, digits);
}

void outside_symlink(const struct subject *s, const char *text, const char *path)
{
	if (is_here(s))
		must_be_zero(symlinkat(text, s->tree.fd, path), path);
	else
		do_there(s, "ln -s -- \"$1\" \"./$2\"", text, path);
}

void outside_link(const struct subject *s, const char *from, const char *to)
{
	if (is_here(s))
		must_be_zero(linkat(s->tree.fd, from, s->tree.fd, to, 0), to);
	else
		do_there(s, "ln -P \"./$1\" \"./$2\"", from, to);
}

void outside_rename(const struct subject *s, const char *from, const char *to)
{
	if (is_here(s))
		must_be_zero(renameat(s->tree.fd, from, s->tree.fd, to), to);
	else
		do_there(s, "mv -T \"./$1\" \"./$2\"", from, to);
}

void outside_unlink(const struct subject *s, const char *path)
{
	if (is_here(s))
		must_be_zero(unlinkat(s->tree.fd, path, 0), path);
	else
		do_there(s, "unlink \"./$1\"", path, "");
}

void outside_chmod(const struct subject *s, const char *path, uint32_t mode)
{
	char digits[8];

	snprintf(digits, sizeof digits, "%o", mode);
	if (is_here(s))
		must_be_zero(fchmodat(s->tree.fd, path, mode, 0), path);
	else
		do_there(s, "chmod \"$2\" \"./$1\"", path, digits);
}

/* Both tools count the fraction away from zero. */
static void write_time(char *out, size_t room, struct timespec time)
{
	bool is_before = time.tv_sec < 0 && time.tv_nsec;
	long long seconds = is_before ? -(long long)(time.tv_sec + 1) : (long long)time.tv_sec;

	snprintf(out, room, "@%s%lld.%09ld", is_before ? "-" : "", seconds,
		is_before ? 1000000000 - time.tv_nsec : time.tv_nsec);
}

static void set_time_there(
	const struct subject *s, const char *path, char which, const struct timespec *time)
{
	char script[40], stamp[48];

	snprintf(script, sizeof script, "touch -h -%c -d \"$2\" \"./$1\"", which);
	write_time(stamp, sizeof stamp, *time);
	do_there(s, script, path, stamp);
}

void outside_set_times(const struct subject *s, const char *path, const struct timespec times[2])
{
	if (is_here(s)) {
		must_be_zero(utimensat(s->tree.fd, path, times, AT_SYMLINK_NOFOLLOW), path);
		return;
	}
	set_time_there(s, path, 'a', &times[0]);
	set_time_there(s, path, 'm', &times[1]);
}

/* Where a sandbox lacks setfattr(1), a test that needs it is to be left out. */
void outside_set_xattr(
	const struct subject *s, const char *path, const char *name, const char *text)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *pair = NULL;

	if (!is_here(s)) {
		cr_assert(asprintf(&pair, "%s=%s", name, text) > 0);
		do_there(s, "setfattr -n \"${2%%=*}\" -v \"${2#*=}\" \"./$1\"", path, pair);
		return;
	}
	fd = openat(s->tree.fd, path, O_RDONLY | O_CLOEXEC);
	must_be_zero(fsetxattr(fd, name, text, strlen(text), 0), path);
}

/* A mount here is seen in a jail of ours, but not in a vendor's sandbox. */
bool outside_mount(const struct subject *s, const char *path)
{
	char there[32];

	if (s->is_remote)
		return is_so_there(s, "mount -t tmpfs none \"./$1\"", path);
	snprintf(there, sizeof there, "/proc/self/fd/%d", s->tree.fd);
	AUTO_FREE char *whole = path_join(there, path);

	cr_assert(whole != NULL);
	if (mount("none", whole, "tmpfs", 0, NULL) == 0)
		return true;
	cr_assert(eq(int, errno, EPERM));
	return false;
}

void outside_unmount(const struct subject *s, const char *path)
{
	char there[32];

	if (s->is_remote) {
		do_there(s, "umount -l \"./$1\"", path, "");
		return;
	}
	snprintf(there, sizeof there, "/proc/self/fd/%d", s->tree.fd);
	AUTO_FREE char *whole = path_join(there, path);

	cr_assert(whole && umount2(whole, MNT_DETACH) == 0, "%s", strerror(errno));
}

/* ---- Looking ---- */

bool outside_exists(const struct subject *s, const char *path)
{
	struct stat st;

	if (!is_here(s))
		return is_so_there(s, "[ -e \"./$1\" ] || [ -h \"./$1\" ]", path);
	return fstatat(s->tree.fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool outside_holds(const struct subject *s, const char *path, const char *text)
{
	size_t len;
	AUTO_FREE char *bytes = outside_read(s, path, &len);

	return len == strlen(text) && !memcmp(bytes, text, len);
}

char *outside_read(const struct subject *s, const char *path, size_t *len)
{
	return is_here(s) ? scratch_read(&s->tree, path, len)
			  : say_there(s, "cat \"./$1\"", path, len);
}

char *outside_read_link(const struct subject *s, const char *path)
{
	char *text;
	ssize_t len;

	if (!is_here(s))
		return say_there(s, "readlink -n \"./$1\"", path, NULL);
	text = malloc(VERB_LINK_MAX + 1);
	cr_assert(text != NULL);
	len = readlinkat(s->tree.fd, path, text, VERB_LINK_MAX);
	cr_assert(len >= 0, "%s: %s", path, strerror(errno));
	text[len] = 0;
	return text;
}

char *outside_get_xattr(const struct subject *s, const char *path, const char *name, size_t *len)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *script = NULL;
	char *value;
	ssize_t got;

	if (!is_here(s)) {
		cr_assert(asprintf(&script, "getfattr --only-values -n %s \"./$1\"", name) > 0);
		return say_there(s, script, path, len);
	}
	fd = openat(s->tree.fd, path, O_RDONLY | O_CLOEXEC);
	value = calloc(1, VERB_XATTR_MAX + 1);
	got = fgetxattr(fd, name, value, VERB_XATTR_MAX);
	cr_assert(got >= 0, "%s: %s", path, strerror(errno));
	*len = (size_t)got;
	return value;
}

void outside_seek(const struct subject *s, const char *path, uint64_t *data, uint64_t *hole)
{
	AUTO_CLOSE int fd = -1;

	if (!is_here(s)) {
		*data = (outside_attr(s, path).size - 1) / HOLE_UNIT * HOLE_UNIT;
		*hole = 0;
		return;
	}
	fd = openat(s->tree.fd, path, O_RDONLY | O_CLOEXEC);
	*data = (uint64_t)lseek(fd, 0, SEEK_DATA);
	*hole = (uint64_t)lseek(fd, 0, SEEK_HOLE);
}

bool outside_is_unlocked_soon(const struct subject *s, const char *path)
{
	AUTO_CLOSE int fd = -1;
	int64_t end_ms = monotonic_ms() + UNLOCKED_MS;

	if (!is_here(s))
		return is_so_there(s, "flock -w 25 \"./$1\" true", path);
	fd = openat(s->tree.fd, path, O_RDONLY | O_CLOEXEC);
	cr_assert(fd >= 0, "%s: %s", path, strerror(errno));
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (monotonic_ms() > end_ms)
			return false;
		usleep(1000);
	}
	return true;
}
