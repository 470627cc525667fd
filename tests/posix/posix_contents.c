/* posix_contents.c - reading, writing, sizes, holes, mappings, programs that run. */
#include "tests/posix/posix.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/file.h>
#include <sys/wait.h>

static void descriptors_do_what_they_were_opened_for(void)
{
	char byte;

	make_text("f", "abc");
	int in = open("f", O_RDONLY), out = open("f", O_WRONLY);
	FAILS(EBADF, write(in, "x", 1));
	FAILS(EBADF, read(out, &byte, 1));
	FAILS(EINVAL, ftruncate(in, 0));
	FAILS(EINVAL, pread(in, &byte, 1, -1));
	FAILS(EINVAL, lseek(in, -1, SEEK_SET));
	int dir = open(".", O_RDONLY);
	FAILS(EISDIR, read(dir, &byte, 1));
	FAILS(EINVAL, ftruncate(dir, 0));
}

static void append_always_writes_at_the_end(void)
{
	int a = open("f", O_CREAT | O_WRONLY | O_APPEND, 0644), b = open("f", O_WRONLY | O_APPEND);

	SAME(write(a, "one ", 4), 4);
	SAME(write(b, "two ", 4), 4);
	SAME(lseek(a, 0, SEEK_SET), 0);
	SAME(write(a, "three", 5), 5);
	SAME(lseek(a, 0, SEEK_CUR), 13);
	TRUE(holds("f", "one two three"));
	SAME(pwrite(b, "!", 1, 0), 1); /* Linux appends here too */
	TRUE(holds("f", "one two three!"));
}

static void holes_read_as_zeros(void)
{
	char bytes[100];
	int fd = open("f", O_CREAT | O_RDWR, 0644);

	SAME(pwrite(fd, "end", 3, 100000), 3);
	SAME(size_of("f"), 100003);
	SAME(pread(fd, bytes, 100, 50000), 100);
	for (int i = 0; i < 100; i++)
		if (bytes[i])
			TRUE(!"a hole holds data");
	OK(ftruncate(fd, 100001));
	OK(ftruncate(fd, 100003));
	SAME(pread(fd, bytes, 100, 100000), 3);
	TRUE(!memcmp(bytes, "e\0\0", 3)); /* the bytes that were cut off do not come back */
	SAME(lseek(fd, 0, SEEK_HOLE) <= 100003, 1);
	FAILS(ENXIO, lseek(fd, 100003, SEEK_DATA));
	FAILS(ENXIO, lseek(fd, 200000, SEEK_HOLE));
}

/*
 * How large a file may be only its file system knows: over a network that is said by fsync at the
 * latest.
 */
static int truncate_for_good(const char *path, off_t size)
{
	int fd = truncate(path, size) ? -1 : open(path, O_RDWR);
	int failed = fd < 0 || fsync(fd) ? -1 : 0;
	int err = errno;

	if (fd >= 0)
		close(fd);
	errno = err;
	return failed;
}

static void truncate_refuses(void)
{
	make_text("f", "abc");
	OK(mkdir("d", 0755));
	FAILS(EINVAL, truncate("f", -1));
	FAILS(EISDIR, truncate("d", 0));
	FAILS(ENOENT, truncate("none", 0));
	FAILS(ENOTDIR, truncate("f/x", 0));
	FAILS(EFBIG, truncate_for_good("f", INT64_MAX));
	TRUE(holds("f", "abc"));
}

static void reading_at_and_behind_the_end(void)
{
	char bytes[10];
	int fd;

	make_text("f", "abc");
	fd = open("f", O_RDONLY);
	SAME(pread(fd, bytes, 10, 2), 1);
	SAME(pread(fd, bytes, 10, 3), 0);
	SAME(pread(fd, bytes, 10, 1 << 20), 0);
	SAME(lseek(fd, 100, SEEK_SET), 100);
	SAME(read(fd, bytes, 10), 0);
	SAME(lseek(fd, -1, SEEK_END), 2);
}

static void two_descriptors_see_each_other(void)
{
	char bytes[10];
	struct stat st;
	int a = open("f", O_CREAT | O_RDWR, 0644), b = open("f", O_RDONLY);

	for (int i = 0; i < 50; i++) {
		SAME(pwrite(a, &(char){ (char)i }, 1, i), 1);
		OK(fstat(b, &st));
		SAME(st.st_size, i + 1);
		SAME(pread(b, bytes, 1, i), 1);
		SAME(bytes[0], i);
	}
	OK(truncate("f", 0));
	SAME(pread(b, bytes, 10, 0), 0);
}

static void mappings_are_the_file(void)
{
	int fd = open("f", O_CREAT | O_RDWR, 0644);
	char bytes[4];

	OK(ftruncate(fd, 10000));
	char *map = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	TRUE(map != MAP_FAILED);
	if (map == MAP_FAILED)
		return;
	memcpy(map + 5000, "abc", 3);
	SAME(pread(fd, bytes, 3, 5000), 3);
	TRUE(!memcmp(bytes, "abc", 3));
	SAME(pwrite(fd, "xyz", 3, 5000), 3);
	TRUE(!memcmp(map + 5000, "xyz", 3));
	map[9999] = 'e';
	OK(msync(map, 10000, MS_SYNC));
	OK(munmap(map, 10000));
	OK(close(fd));
	fd = open("f", O_RDONLY);
	SAME(pread(fd, bytes, 1, 9999), 1);
	SAME(bytes[0], 'e');
}

static void a_mapping_outlives_its_descriptor(void)
{
	int fd = open("f", O_CREAT | O_RDWR, 0644);

	OK(ftruncate(fd, 4096));
	char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	OK(close(fd));
	TRUE(map != MAP_FAILED);
	if (map == MAP_FAILED)
		return;
	memset(map, 'm', 4096);
	OK(munmap(map, 4096));
	char byte = 0;
	SAME(pread(open("f", O_RDONLY), &byte, 1, 4095), 1);
	SAME(byte, 'm');
}

static bool copy_program(const char *from, const char *to)
{
	char bytes[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0755);
	ssize_t got;

	while ((got = read(in, bytes, sizeof bytes)) > 0)
		if (write(out, bytes, (size_t)got) != got)
			break;
	close(in);
	return close(out) == 0 && got == 0;
}

static void running_programs_are_not_written(void)
{
	int wake[2], status;

	TRUE(copy_program("/bin/cat", "program"));
	OK(pipe(wake));
	pid_t child = fork();
	if (!child) {
		dup2(wake[0], 0);
		close(wake[1]);
		execl("./program", "program", NULL);
		_exit(errno == EACCES ? 77 : 1);
	}
	close(wake[0]);
	char link[PATH_MAX] = "", path[64];
	snprintf(path, sizeof path, "/proc/%d/exe", (int)child);
	while (!strstr(link, "program") && waitpid(child, &status, WNOHANG) == 0)
		if (readlink(path, link, sizeof link - 1) < 0)
			break;
	FAILS(ETXTBSY, open("program", O_WRONLY));
	FAILS(ETXTBSY, truncate("program", 0));
	OK(rename("program", "program2"));
	close(wake[1]);
	waitpid(child, &status, 0);
	SAME(status, 0);
	OK(close(open("program2", O_WRONLY)));
}

static void a_program_being_written_is_not_run(void)
{
	int status;

	TRUE(copy_program("/bin/true", "program"));
	int fd = open("program", O_WRONLY | O_CLOEXEC);
	pid_t child = fork();
	if (!child) {
		execl("./program", "program", NULL);
		_exit(errno == ETXTBSY ? 42 : 1);
	}
	waitpid(child, &status, 0);
	SAME(WEXITSTATUS(status), 42);
	OK(close(fd));
}

static void locks_hold_between_processes(void)
{
	int fd = open("f", O_CREAT | O_RDWR, 0644), status;

	OK(flock(fd, LOCK_EX));
	struct flock range = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 10
	};
	OK(fcntl(fd, F_SETLK, &range));
	pid_t child = fork();
	if (!child) {
		int other = open("f", O_RDWR), wrong = 0;
		struct flock apart = {
			.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 20, .l_len = 5
		};

		wrong |= flock(other, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
		wrong |= fcntl(other, F_SETLK, &range) == 0;
		wrong |= fcntl(other, F_SETLK, &apart) != 0;
		_exit(wrong);
	}
	waitpid(child, &status, 0);
	SAME(status, 0);
	OK(flock(fd, LOCK_UN));
	OK(flock(open("f", O_RDONLY), LOCK_EX | LOCK_NB));
}

static void fallocate_makes_and_frees(void)
{
	char bytes[10];
	struct stat st;
	int fd = open("f", O_CREAT | O_RDWR, 0644);

	if (fallocate(fd, 0, 0, 8192) && errno == EOPNOTSUPP)
		return;
	OK(fstat(fd, &st));
	SAME(st.st_size, 8192);
	OK(fallocate(fd, 1 /* keep size */, 0, 65536));
	OK(fstat(fd, &st));
	SAME(st.st_size, 8192);
	SAME(pwrite(fd, "abcdefghij", 10, 4090), 10);
	OK(fallocate(fd, 3 /* punch a hole */, 4096, 4096));
	SAME(pread(fd, bytes, 10, 4090), 10);
	TRUE(!memcmp(bytes, "abcdef\0\0\0\0", 10));
	FAILS(EINVAL, fallocate(fd, 0, -1, 10));
	FAILS(EINVAL, fallocate(fd, 0, 0, 0));
	FAILS(EBADF, fallocate(open("f", O_RDONLY), 0, 0, 10));
}

static void copies_are_exact(void)
{
	char bytes[20] = "";
	off_t from = 3, to = 5;

	make_text("a", "0123456789");
	int in = open("a", O_RDWR), out = open("b", O_CREAT | O_RDWR, 0644);
	SAME(copy_file_range(in, &from, out, &to, 100, 0), 7);
	SAME(from, 10);
	SAME(pread(out, bytes, sizeof bytes, 0), 12);
	TRUE(!memcmp(bytes,
		"\0\0\0\0\0"
		"3456789",
		12));
	from = 10;
	SAME(copy_file_range(in, &from, out, &to, 100, 0), 0);
	from = 0;
	to = 2;
	FAILS(EINVAL, copy_file_range(in, &from, in, &to, 5, 0)); /* overlapping */
	to = 20;
	SAME(copy_file_range(in, &from, in, &to, 5, 0), 5);
	SAME(size_of("a"), 25);
}

const struct posix_case cases_contents[] = {
	{ "descriptors do what they were opened for", descriptors_do_what_they_were_opened_for, 0 },
	{ "O_APPEND always writes at the end", append_always_writes_at_the_end, 0 },
	{ "holes read as zeros", holes_read_as_zeros, 0 },
	{ "truncate refuses", truncate_refuses, 0 },
	{ "reading at and behind the end", reading_at_and_behind_the_end, 0 },
	{ "two descriptors see each other's writes", two_descriptors_see_each_other, 0 },
	{ "a shared mapping is the file", mappings_are_the_file, 0 },
	{ "a mapping outlives its descriptor", a_mapping_outlives_its_descriptor, 0 },
	{ "a running program is not written (ETXTBSY)", running_programs_are_not_written, 0 },
	{ "a program being written is not run (ETXTBSY)", a_program_being_written_is_not_run, 0 },
	{ "locks hold between processes", locks_hold_between_processes, 0 },
	{ "fallocate makes and frees", fallocate_makes_and_frees, 0 },
	{ "copy_file_range copies exactly", copies_are_exact, 0 },
	{ 0 },
};
