/* posix_create.c - making files, directories and nodes. */
#include "tests/posix/posix.h"

#include <sys/socket.h>
#include <sys/un.h>

static void mode_follows_umask(void)
{
	static const struct {
		mode_t mask, asked, got;
	} rows[] = { { 0, 0777, 0777 }, { 022, 0777, 0755 }, { 077, 0666, 0600 }, { 0777, 0777, 0 },
		{ 027, 0640, 0640 }, { 0, 06777, 06777 } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		umask(rows[i].mask);
		int fd = open("f", O_CREAT | O_EXCL | O_WRONLY, rows[i].asked);

		OK(fd);
		OK(close(fd));
		SAME(mode_of("f"), rows[i].got);
		OK(unlink("f"));
		OK(mkfifo("p", rows[i].asked & 0777));
		SAME(mode_of("p"), rows[i].got & 0777);
		OK(unlink("p"));
		OK(mkdir("d", rows[i].asked & 0777));
		SAME(mode_of("d"), rows[i].got & 0777);
		OK(rmdir("d"));
	}
}

static void mkdir_keeps_sticky_and_drops_suid(void)
{
	OK(mkdir("sticky", 01777));
	SAME(mode_of("sticky"), 01755);
	OK(mkdir("suid", 06755));
	SAME(mode_of("suid"), 0755);
}

static void write_on_a_file_without_rights_that_one_just_made(void)
{
	int fd = open("f", O_CREAT | O_EXCL | O_RDWR, 0);

	OK(fd);
	SAME(write(fd, "abc", 3), 3);
	SAME(lseek(fd, 0, SEEK_END), 3);
	OK(close(fd));
	SAME(mode_of("f"), 0);
	SAME(size_of("f"), 3);
}

static void excl_refuses_all_that_is_there(void)
{
	make_text("file", "x");
	OK(mkdir("dir", 0755));
	OK(symlink("nowhere", "dangling"));
	OK(symlink("file", "link"));
	OK(mkfifo("fifo", 0644));
	static const char *const names[] = { "file", "dir", "dangling", "link", "fifo" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		FAILS(EEXIST, open(names[i], O_CREAT | O_EXCL | O_RDWR, 0644));
		FAILS(EEXIST, mkdir(names[i], 0755));
		FAILS(EEXIST, mkfifo(names[i], 0644));
		FAILS(EEXIST, symlink("t", names[i]));
		FAILS(EEXIST, link("file", names[i]));
	}
	TRUE(!exists("nowhere"));
}

static void creat_through_a_dangling_link_makes_its_target(void)
{
	OK(symlink("target", "link"));
	OK(close(open("link", O_CREAT | O_WRONLY, 0644)));
	TRUE(exists("target"));
	TRUE(S_ISLNK(stat_of("link").st_mode));
}

static void open_refuses_by_kind(void)
{
	OK(mkdir("dir", 0755));
	make_file("file", 0644);
	OK(symlink("file", "link"));
	OK(symlink("dir", "dirlink"));
	FAILS(EISDIR, open("dir", O_WRONLY));
	FAILS(EISDIR, open("dir", O_RDWR));
	FAILS(EISDIR, open("dir", O_RDONLY | O_CREAT, 0644));
	FAILS(EISDIR, open("dir", O_WRONLY | O_TRUNC));
	FAILS(ENOTDIR, open("file", O_RDONLY | O_DIRECTORY));
	FAILS(ENOTDIR, open("file/", O_RDONLY));
	FAILS(EISDIR, open("new/", O_CREAT | O_WRONLY, 0644));
	FAILS(ENOENT, open("none", O_RDWR));
	FAILS(ENOTDIR, open("file/x", O_CREAT | O_RDWR, 0644));
	FAILS(ELOOP, open("link", O_RDONLY | O_NOFOLLOW));
	FAILS(ENOTDIR, open("dirlink", O_RDONLY | O_NOFOLLOW | O_DIRECTORY));
	FAILS(ENOENT, open("", O_RDONLY));
	int fd = open("link", O_PATH | O_NOFOLLOW);
	char target[10];

	OK(fd);
	SAME(readlinkat(fd, "", target, sizeof target), 4);
	FAILS(EBADF, read(fd, target, 1));
	OK(close(fd));
}

static void fifo_and_socket(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	OK(mkfifo("fifo", 0600));
	FAILS(ENXIO, open("fifo", O_WRONLY | O_NONBLOCK));
	int in = open("fifo", O_RDONLY | O_NONBLOCK), out = open("fifo", O_WRONLY | O_NONBLOCK);
	char byte;

	OK(in);
	OK(out);
	SAME(write(out, "z", 1), 1);
	SAME(read(in, &byte, 1), 1);
	SAME(byte, 'z');
	OK(close(in));
	OK(close(out));
	OK(bind(fd, (struct sockaddr *)&address, sizeof address));
	TRUE(S_ISSOCK(stat_of("socket").st_mode));
	FAILS(ENXIO, open("socket", O_RDONLY));
	FAILS(EADDRINUSE,
		bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address));
	OK(listen(fd, 1));
	OK(connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address));
	OK(unlink("socket"));
}

static void mknod_makes_regular_files(void)
{
	OK(mknod("f", S_IFREG | 0640, 0));
	TRUE(S_ISREG(stat_of("f").st_mode));
	SAME(mode_of("f"), 0640);
	FAILS(EPERM, mknod("d", S_IFDIR | 0755, 0));
}

static void making_moves_the_times_of_the_directory(void)
{
	OK(mkdir("d", 0755));
	make_file("f", 0644);
	struct stat before = aged("d");
	OK(close(open("d/a", O_CREAT | O_EXCL | O_RDWR, 0644)));
	SAME(moved_since("d", &before), MOVED_BOTH);
	before = aged("d");
	OK(mkdir("d/b", 0755));
	SAME(moved_since("d", &before), MOVED_BOTH);
	before = aged("d");
	OK(mkfifo("d/c", 0644));
	SAME(moved_since("d", &before), MOVED_BOTH);
	before = aged("d");
	OK(symlink("x", "d/e"));
	SAME(moved_since("d", &before), MOVED_BOTH);
	before = aged("d");
	OK(link("f", "d/f"));
	SAME(moved_since("d", &before), MOVED_BOTH);
	before = aged("d");
	FAILS(EEXIST, mkdir("d/b", 0755));
	OK(close(open("d/a", O_CREAT | O_RDWR, 0644)));
	SAME(moved_since("d", &before), MOVED_NONE);
}

static void setgid_directory_gives_its_group(void)
{
	OK(mkdir("d", 0777));
	OK(chown("d", 0, GROUP_SHARED));
	OK(chmod("d", 02777));
	AS(USER_A)
	{
		OK(close(open("d/f", O_CREAT | O_RDWR, 0644)));
		OK(mkdir("d/sub", 0755));
		OK(mkfifo("d/p", 0644));
		OK(symlink("x", "d/l"));
	}
	SAME(stat_of("d/f").st_gid, GROUP_SHARED);
	SAME(stat_of("d/f").st_uid, USER_A);
	SAME(stat_of("d/sub").st_gid, GROUP_SHARED);
	SAME(mode_of("d/sub"), 02755);
	SAME(stat_of("d/p").st_gid, GROUP_SHARED);
	SAME(stat_of("d/l").st_gid, GROUP_SHARED);
}

static void without_setgid_the_maker_gives_the_group(void)
{
	OK(mkdir("d", 0777));
	OK(chmod("d", 0777));
	AS(USER_A)
	{
		OK(close(open("d/f", O_CREAT | O_RDWR, 0644)));
		OK(mkdir("d/sub", 0755));
		OK(mknod("d/n", S_IFREG | 0600, 0));
		OK(symlink("x", "d/l"));
	}
	static const char *const names[] = { "d/f", "d/sub", "d/n", "d/l" };

	for (size_t i = 0; i < 4; i++) {
		SAME(stat_of(names[i]).st_uid, USER_A);
		SAME(stat_of(names[i]).st_gid, USER_A);
	}
}

static void making_needs_write_and_search_on_the_directory(void)
{
	static const mode_t refused[] = { 0755, 0776, 0774, 0770 };

	OK(mkdir("d", 0755));
	make_file("f", 0666);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		OK(chmod("d", refused[i]));
		AS(USER_A)
		{
			FAILS(EACCES, open("d/a", O_CREAT | O_RDWR, 0644));
			FAILS(EACCES, mkdir("d/a", 0755));
			FAILS(EACCES, mkfifo("d/a", 0644));
			FAILS(EACCES, symlink("x", "d/a"));
		}
	}
	OK(chmod("d", 0773));
	AS(USER_A)
	{
		OK(close(open("d/a", O_CREAT | O_RDWR, 0644)));
		FAILS(EACCES, open("d", O_RDONLY | O_DIRECTORY));
	}
}

static void only_root_makes_devices(void)
{
	OK(chmod(".", 0777));
	AS(USER_A)
	{
		FAILS(EPERM, mknod("n", S_IFCHR | 0600, 0x103));
		FAILS(EPERM, mknod("b", S_IFBLK | 0600, 0x103));
	}
	TRUE(!exists("n") && !exists("b"));
}

const struct posix_case cases_create[] = {
	{ "open, mkfifo and mkdir take away the umask", mode_follows_umask, 0 },
	{ "mkdir keeps the sticky bit only", mkdir_keeps_sticky_and_drops_suid, 0 },
	{ "a file made without rights can be written by who made it",
		write_on_a_file_without_rights_that_one_just_made, 0 },
	{ "whatever is there is EEXIST", excl_refuses_all_that_is_there, 0 },
	{ "creat through a dangling link", creat_through_a_dangling_link_makes_its_target, 0 },
	{ "open refuses by kind", open_refuses_by_kind, 0 },
	{ "fifos and sockets work", fifo_and_socket, 0 },
	{ "mknod makes regular files", mknod_makes_regular_files, 0 },
	{ "making a name moves mtime and ctime of its directory",
		making_moves_the_times_of_the_directory, 0 },
	{ "a setgid directory gives its group on", setgid_directory_gives_its_group, 1 },
	{ "else the maker's group is taken", without_setgid_the_maker_gives_the_group, 1 },
	{ "making needs write and search permission",
		making_needs_write_and_search_on_the_directory, 1 },
	{ "only root makes devices", only_root_makes_devices, 1 },
	{ 0 },
};
