#include "providers/base/cleanup.h"
#include "tests/providers/contract.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>

/* d/ {e/ {f}, l -> e/f}, g */
static void make_tree(struct subject *s)
{
	outside_mkdir(s, "d", 0755);
	outside_mkdir(s, "d/e", 0750);
	outside_write_text(s, "d/e/f", "four");
	outside_symlink(s, "e/f", "d/l");
	outside_write_text(s, "g", "");
}

BEHAVIOUR(list, depth_0_gives_only_the_start)
{
	make_tree(s);
	AUTO_LISTED struct listed l = list_one(s, "d", 0);
	const struct listed_entry *self = listed_find(&l, LIST_SELF, "d");
	struct attr want = outside_attr(s, "d");

	cr_assert(eq(ulong, l.count, 1));
	cr_assert(eq(int, self->err, ERR_OK));
	expect_same_attr(&self->attr, &want, "d");
}

BEHAVIOUR(list, depth_1_adds_the_entries)
{
	make_tree(s);
	AUTO_LISTED struct listed l = list_one(s, "", 1);

	cr_assert(eq(ulong, listed_count(&l, LIST_DIR), 1));
	cr_assert(eq(ulong, listed_count(&l, LIST_ENTRY), 2));
	cr_assert(listed_find(&l, LIST_ENTRY, "d") != NULL);
	cr_assert(listed_find(&l, LIST_ENTRY, "g") != NULL);
	cr_assert(listed_find(&l, LIST_DIR_END, "")->complete);
}

BEHAVIOUR(list, depth_2_goes_one_directory_down)
{
	make_tree(s);
	AUTO_LISTED struct listed l = list_one(s, "", 2);

	cr_assert(listed_find(&l, LIST_ENTRY, "d/e") != NULL);
	cr_assert(listed_find(&l, LIST_ENTRY, "d/e/f") == NULL);
}

BEHAVIOUR(list, a_whole_tree_comes_breadth_first)
{
	make_tree(s);
	outside_mkdir(s, "z", 0755);
	AUTO_LISTED struct listed l = list_one(s, "", LIST_DEPTH_ALL);
	size_t depth = 0;

	cr_assert(eq(ulong, listed_count(&l, LIST_ENTRY), 6));
	cr_assert(eq(ulong, listed_count(&l, LIST_DIR), 4));
	for (size_t i = 0; i < l.count; i++) {
		const char *path = l.entries[i].path;
		size_t here = *path ? 1 : 0;

		if (l.entries[i].kind != LIST_DIR)
			continue;
		for (; *path; path++)
			here += *path == '/';
		cr_expect(ge(ulong, here, depth), "%s", l.entries[i].path);
		depth = here;
	}
}

BEHAVIOUR(list, every_attribute_is_the_file_systems)
{
	static const char *const paths[] = { "d", "d/e", "d/e/f", "d/l", "g", "fifo", "big" };
	struct timespec times[2] = { { 1000000000, 123456789 }, { 999999999, 987654321 } };

	make_tree(s);
	outside_mkfifo(s, "fifo", 0604);
	outside_write(s, "big", s, sizeof *s);
	outside_link(s, "big", "d/big too");
	outside_set_times(s, "g", times);
	outside_chmod(s, "g", 04711);
	AUTO_LISTED struct listed l = list_one(s, "", LIST_DEPTH_ALL);

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		const struct listed_entry *entry = listed_find(&l, LIST_ENTRY, paths[i]);
		struct attr want = outside_attr(s, paths[i]);

		cr_assert(entry != NULL, "%s", paths[i]);
		/* The list itself may have moved this. */
		if (S_ISDIR(want.mode) || S_ISLNK(want.mode))
			want.atime = entry->attr.atime;
		expect_same_attr(&entry->attr, &want, paths[i]);
	}
}

BEHAVIOUR(list, times_before_1970_and_far_ahead_are_kept)
{
	struct timespec times[2] = { { -86400, 500000000 }, { 4102444800, 1 } };

	outside_write_text(s, "f", "");
	outside_set_times(s, "f", times);
	AUTO_LISTED struct listed l = list_one(s, "f", 0);
	struct attr want = outside_attr(s, "f");

	expect_same_attr(&l.entries[0].attr, &want, "f");
}

BEHAVIOUR(list, a_links_text_comes_with_it)
{
	AUTO_FREE char *longest = calloc(1, VERB_LINK_MAX);
	static const char *const texts[] = { "x", "../../..", "/etc/passwd", "a\nb", "\xff\xfe",
		"'\"$(x)`\\ *", "trailing\n", "-n" };

	memset(longest, 'a', VERB_LINK_MAX - 1);
	outside_symlink(s, longest, "longest");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char name[8];

		snprintf(name, sizeof name, "l%zu", i);
		outside_symlink(s, texts[i], name);
	}
	AUTO_LISTED struct listed l = list_one(s, "", 1);
	AUTO_LISTED struct listed self = list_one(s, "l3", 0);

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char name[8];

		snprintf(name, sizeof name, "l%zu", i);
		cr_assert(listed_find(&l, LIST_ENTRY, name) != NULL, "%s", name);
		cr_expect(eq(str, listed_find(&l, LIST_ENTRY, name)->link, (char *)texts[i]));
	}
	cr_expect(eq(str, listed_find(&l, LIST_ENTRY, "longest")->link, longest));
	cr_expect(eq(str, self.entries[0].link, "a\nb"));
}

BEHAVIOUR(list, a_name_may_hold_any_byte)
{
	static const char *const names[] = { "\n", "a\nb", "trailing\n", "\xff\xc0\x80", " ", " x ",
		"*", "?", "-rf", "--", "'", "\"", "$(touch oops)", "`touch oops`", "\\", "\\n",
		"%s", "...", "a\tb", "\x01\x7f", "\r", "#x", "~", "=", "a:b" };
	size_t count = sizeof names / sizeof *names;
	AUTO_FREE char *longest = calloc(1, 256);

	memset(longest, 'n', 255);
	outside_write_text(s, longest, "");
	for (size_t i = 0; i < count; i++)
		outside_mkdir(s, names[i], 0755);
	for (int byte = 1; byte < 256; byte++)
		if (byte != '/')
			outside_write_text(s, (char[]){ 'b', (char)byte, 'b', 0 }, "x");
	AUTO_LISTED struct listed l = list_one(s, "", LIST_DEPTH_ALL);

	cr_expect(eq(ulong, listed_count(&l, LIST_ENTRY), count + 1 + 254));
	cr_expect(eq(ulong, listed_count(&l, LIST_DIR), count + 1));
	for (size_t i = 0; i < count; i++) {
		AUTO_LISTED struct listed one = list_one(s, names[i], 1);

		cr_expect(listed_find(&l, LIST_ENTRY, names[i]) != NULL, "name %zu", i);
		cr_expect(listed_find(&l, LIST_DIR, names[i]) != NULL, "name %zu", i);
		cr_expect(eq(int, one.entries[0].err, ERR_OK), "name %zu", i);
		cr_expect(eq(u64, one.entries[0].attr.ino, outside_attr(s, names[i]).ino));
	}
	cr_expect(listed_find(&l, LIST_ENTRY, longest) != NULL);
	cr_expect(not(outside_exists(s, "oops")), "a name was run");
}

BEHAVIOUR(list, starts_answer_each_for_itself)
{
	const char *const starts[] = { "g", "missing", "d/e", "g/below", "", "missing/below",
		"d/l/x" };
	static const enum err want[] = { ERR_OK, ERR_NOT_FOUND, ERR_OK, ERR_NOT_DIR, ERR_OK,
		ERR_NOT_FOUND, ERR_STALE };
	struct list_request request = { .starts = starts, .starts_count = 7, .depth = 0 };
	size_t at = 0;

	make_tree(s);
	AUTO_LISTED struct listed l = list_request(s, &request);

	cr_assert(eq(int, l.err, ERR_OK), "%s", l.why.text);
	cr_assert(eq(ulong, listed_count(&l, LIST_SELF), 7));
	for (size_t i = 0; i < l.count; i++)
		if (l.entries[i].kind == LIST_SELF) {
			cr_expect(eq(u32, l.entries[i].start, (uint32_t)at));
			cr_expect(eq(int, l.entries[i].err, want[at]), "'%s'", starts[at]);
			at++;
		}
}

BEHAVIOUR(list, a_path_of_another_shape_is_refused)
{
	static const char *const paths[] = { "..", "a/../b", "a//b", "a/", "./a", "/a/b", "." };

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct list_request request = { .starts = &paths[i], .starts_count = 1 };
		AUTO_LISTED struct listed l = list_request(s, &request);

		cr_expect(l.err || l.entries[0].err, "'%s'", paths[i]);
	}
}

BEHAVIOUR(list, links_are_not_followed)
{
	outside_mkdir(s, "d", 0755);
	outside_write_text(s, "d/f", "");
	outside_symlink(s, "d", "l");
	outside_symlink(s, "/etc", "out");
	AUTO_LISTED struct listed l = list_one(s, "l", LIST_DEPTH_ALL);
	AUTO_LISTED struct listed all = list_one(s, "", LIST_DEPTH_ALL);
	AUTO_LISTED struct listed out = list_one(s, "out/passwd", 0);

	cr_assert(eq(u32, l.entries[0].attr.mode & S_IFMT, S_IFLNK));
	cr_assert(eq(ulong, l.count, 1));
	cr_assert(eq(ulong, listed_count(&all, LIST_DIR), 2));
	cr_assert(eq(int, out.entries[0].err, ERR_STALE));
}

BEHAVIOUR(list, stops_at_the_entries_asked_for_and_says_so)
{
	const char *start = "";
	struct list_request request = {
		.starts = &start, .starts_count = 1, .depth = LIST_DEPTH_ALL, .entries_max = 10
	};

	outside_fill(s, "f", 50);
	AUTO_LISTED struct listed l = list_request(s, &request);

	cr_assert(eq(int, l.err, ERR_OK), "%s", l.why.text);
	cr_assert(le(ulong, listed_count(&l, LIST_ENTRY), 10));
	cr_assert(not(listed_find(&l, LIST_DIR_END, "")->complete));
	request.entries_max = 50;
	AUTO_LISTED struct listed whole = list_request(s, &request);

	cr_assert(eq(ulong, listed_count(&whole, LIST_ENTRY), 50));
	cr_assert(listed_find(&whole, LIST_DIR_END, "")->complete);
}

BEHAVIOUR(list, names_what_changed_since)
{
	const char *start = "";
	struct list_request request = {
		.starts = &start, .starts_count = 1, .depth = LIST_DEPTH_ALL
	};
	struct attr changed;

	make_tree(s);
	outside_write_text(s, "before", "");
	/* Clocks of file systems tick coarsely. The loop waits for a later time of change. */
	do {
		outside_write_text(s, "d/e/f", "changed");
		changed = outside_attr(s, "d/e/f");
	} while (changed.ctime.tv_sec <= outside_attr(s, "before").ctime.tv_sec);
	request.changed_since_ns = (int64_t)changed.ctime.tv_sec * 1000000000;
	AUTO_LISTED struct listed l = list_request(s, &request);

	cr_assert(eq(int, l.err, ERR_OK), "%s", l.why.text);
	cr_assert(listed_find(&l, LIST_ENTRY, "d/e/f") != NULL);
	cr_assert(listed_find(&l, LIST_ENTRY, "before") == NULL);
}

BEHAVIOUR(list, the_end_has_the_clock_and_the_space)
{
	struct timespec before, after;

	clock_gettime(CLOCK_REALTIME, &before);
	AUTO_LISTED struct listed l = list_one(s, "", 0);

	clock_gettime(CLOCK_REALTIME, &after);
	cr_assert(ge(long, l.now.tv_sec, before.tv_sec));
	cr_assert(le(long, l.now.tv_sec, after.tv_sec));
	cr_assert(l.space.block_size > 0);
	cr_assert(l.space.blocks > 0);
	cr_assert(le(u64, l.space.available, l.space.free));
	cr_assert(eq(u64, l.space.name_max, 255));
}

BEHAVIOUR(list, xattrs_come_with_the_start)
{
	const char *start = "f";
	struct list_request request = { .starts = &start, .starts_count = 1, .flags = LIST_XATTRS };

	outside_write_text(s, "f", "");
	outside_set_xattr(s, "f", "user.one", "1");
	AUTO_LISTED struct listed l = list_request(s, &request);

	cr_assert(eq(int, l.err, ERR_OK), "%s", l.why.text);
	cr_assert(eq(str, l.xattrs, "user.one=1;"));
}

BEHAVIOUR(list, a_deep_tree_is_listed_whole)
{
	char path[1024] = "d";

	outside_mkdir(s, path, 0755);
	for (int i = 0; i < 100; i++) {
		strcat(path, "/d");
		outside_mkdir(s, path, 0755);
	}
	AUTO_LISTED struct listed l = list_one(s, "", LIST_DEPTH_ALL);

	cr_assert(eq(ulong, listed_count(&l, LIST_ENTRY), 101));
	cr_assert(listed_find(&l, LIST_DIR_END, path)->complete);
}

BEHAVIOUR(list, a_directory_of_thousands_is_complete)
{
	outside_fill(s, "file-", 3000);
	AUTO_LISTED struct listed l = list_one(s, "", 1);

	cr_assert(eq(ulong, listed_count(&l, LIST_ENTRY), 3000));
	cr_assert(listed_find(&l, LIST_DIR_END, "")->complete);
}

static enum err stop_list(void *context, const struct list_item *item, struct error *e)
{
	int *left = context;

	(void)item;
	return --*left ? ERR_OK : error_set(e, ERR_NO_MEMORY, "enough");
}

BEHAVIOUR(list, a_sink_that_refuses_ends_it)
{
	const char *start = "";
	struct list_request request = {
		.starts = &start, .starts_count = 1, .depth = LIST_DEPTH_ALL
	};
	struct error e = { 0 };
	int left = 3;

	make_tree(s);
	cr_assert(
		eq(int, provider_list(s->p, NULL, &request, stop_list, &left, &e), ERR_NO_MEMORY));
	cr_assert(eq(str, e.text, "enough"));
	cr_assert(eq(int, left, 0));
}
