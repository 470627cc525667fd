/* posix_limits.c - long names, odd names, large directories. */
#include "tests/posix/posix.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static void names_have_255_bytes(void)
{
	const char *longest = long_name(255), *too_long = long_name(256);
	struct stat st;

	OK(close(open(longest, O_CREAT | O_RDWR, 0644)));
	OK(stat(longest, &st));
	FAILS(ENAMETOOLONG, open(too_long, O_CREAT | O_RDWR, 0644));
	FAILS(ENAMETOOLONG, mkdir(too_long, 0755));
	FAILS(ENAMETOOLONG, mkfifo(too_long, 0755));
	FAILS(ENAMETOOLONG, symlink("x", too_long));
	FAILS(ENAMETOOLONG, rename(longest, too_long));
	FAILS(ENAMETOOLONG, stat(too_long, &st));
	FAILS(ENAMETOOLONG, chmod(too_long, 0644));
	FAILS(ENAMETOOLONG, truncate(too_long, 0));
	OK(unlink(longest));
	OK(mkdir(longest, 0755));
	OK(rmdir(longest));
}

static void paths_have_4095_bytes(void)
{
	char path[5000] = "";
	struct stat st;

	for (int i = 0; i < 2047; i++)
		strcat(path, "./");
	strcat(path, "f");
	SAME(strlen(path), 4095);
	OK(close(open(path, O_CREAT | O_RDWR, 0644)));
	OK(stat(path, &st));
	strcat(path, "f");
	FAILS(ENAMETOOLONG, open(path, O_CREAT | O_RDWR, 0644));
	FAILS(ENAMETOOLONG, stat(path, &st));
	FAILS(ENAMETOOLONG, unlink(path));
	FAILS(ENAMETOOLONG, rename("f", path));
}

/* Longer than any path can be: reached step by step. */
static void trees_may_be_deeper_than_a_path(void)
{
	char name[201];
	struct stat st;
	int down = 0;

	snprintf(name, sizeof name, "%s", long_name(200));
	for (; down < 30; down++) {
		if (mkdir(name, 0755) || chdir(name)) {
			TRUE(!"mkdir and chdir");
			break;
		}
	}
	make_text("f", "deep");
	TRUE(holds("f", "deep"));
	OK(rename("f", "g"));
	OK(stat("g", &st));
	OK(unlink("g"));
	for (; down; down--) {
		OK(chdir(".."));
		OK(rmdir(name));
	}
}

static void every_byte_but_two_is_allowed(void)
{
	char name[4] = "a?b";
	struct stat st;

	for (int byte = 1; byte < 256; byte++) {
		if (byte == '/')
			continue;
		name[1] = (char)byte;
		OK(close(open(name, O_CREAT | O_EXCL | O_RDWR, 0644)));
	}
	DIR *dir = opendir(".");
	int seen = 0;
	for (struct dirent *d; (d = readdir(dir));)
		seen += strlen(d->d_name) == 3 && d->d_name[0] == 'a' && d->d_name[2] == 'b';
	closedir(dir);
	SAME(seen, 254);
	name[1] = '\n';
	OK(stat(name, &st));
}

static void case_and_composition_matter(void)
{
	make_text("name", "1");
	make_text("Name", "2");
	make_text("\xc3\xa9", "3");
	make_text("e\xcc\x81", "4");
	TRUE(holds("name", "1") && holds("Name", "2"));
	TRUE(holds("\xc3\xa9", "3") && holds("e\xcc\x81", "4"));
}

#define MANY 3000

static void a_large_directory_is_listed_whole(void)
{
	static bool seen[MANY];
	char name[32];
	int number, twice = 0, count = 0;

	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "entry-%d", i);
		OK(mknod(name, S_IFREG | 0644, 0));
	}
	DIR *dir = opendir(".");
	for (struct dirent *d; (d = readdir(dir));) {
		if (sscanf(d->d_name, "entry-%d", &number) != 1)
			continue;
		twice += seen[number];
		seen[number] = true;
		count++;
	}
	SAME(count, MANY);
	SAME(twice, 0);
	/* Removing while reading, as rm -r does. */
	rewinddir(dir);
	for (struct dirent *d; (d = readdir(dir));)
		if (d->d_name[0] != '.')
			OK(unlink(d->d_name));
	rewinddir(dir);
	count = 0;
	while (readdir(dir))
		count++;
	SAME(count, 2);
	closedir(dir);
}

static void places_in_a_listing_can_be_returned_to(void)
{
	char name[300];
	long places[210];
	char *names[210] = { 0 };
	int count = 0;

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "%d-%s", i, long_name(100));
		OK(mkdir(name, 0755));
	}
	DIR *dir = opendir(".");
	for (struct dirent *d; count < 210; count++) {
		places[count] = telldir(dir);
		if (!(d = readdir(dir)))
			break;
		names[count] = strdup(d->d_name);
	}
	SAME(count, 202);
	for (int i = count - 1; i >= 0; i -= 7) {
		seekdir(dir, places[i]);
		struct dirent *d = readdir(dir);

		TRUE(d && !strcmp(d->d_name, names[i]));
	}
	for (int i = 0; i < count; i++)
		free(names[i]);
	closedir(dir);
}

static void dot_and_dotdot_are_listed(void)
{
	OK(mkdir("d", 0755));
	ino_t dot = 0, dotdot = 0, self = stat_of("d").st_ino, up = stat_of(".").st_ino;
	DIR *dir = opendir("d");

	for (struct dirent *d; (d = readdir(dir));) {
		SAME(d->d_type, DT_DIR);
		if (!strcmp(d->d_name, "."))
			dot = d->d_ino;
		if (!strcmp(d->d_name, ".."))
			dotdot = d->d_ino;
	}
	closedir(dir);
	SAME(dot, self);
	SAME(dotdot, up);
}

const struct posix_case cases_limits[] = {
	{ "a name has at most 255 bytes", names_have_255_bytes, 0 },
	{ "a path has at most 4095 bytes", paths_have_4095_bytes, 0 },
	{ "a tree may be deeper than a path is long", trees_may_be_deeper_than_a_path, 0 },
	{ "every byte but / and NUL is allowed in a name", every_byte_but_two_is_allowed, 0 },
	{ "case and composition matter", case_and_composition_matter, 0 },
	{ "a large directory is listed whole, and while it is emptied",
		a_large_directory_is_listed_whole, 0 },
	{ "places in a listing can be returned to", places_in_a_listing_can_be_returned_to, 0 },
	{ "a listing names . and .. with their inodes", dot_and_dotdot_are_listed, 0 },
	{ 0 },
};
