/* Lies of a sandbox, one a row. Each is refused; the answers of an honest sandbox are not. */
#include "providers/answer_check.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <sys/stat.h>

TestSuite(answer_check, .timeout = 300);

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define OF_TYPE(t, ...)                                                                            \
	{                                                                                          \
		.ino = 7, .mode = (t) | 0755, .nlink = 1, __VA_ARGS__                              \
	}
#define NO_NUMBER(t)                                                                               \
	{                                                                                          \
		.mode = (t) | 0755, .nlink = 1                                                     \
	}
#define A_FILE OF_TYPE(S_IFREG)
#define A_DIR  OF_TYPE(S_IFDIR)
#define TRUE   ERR_OK
#define LIE    ERR_PROTOCOL

static void expect(enum err kind, enum err wanted, const char *name)
{
	cr_expect(eq(int, kind, wanted), "%s", name);
}

/* ---- Attributes ---- */

static const struct attr_row {
	const char *name;
	enum err wanted;
	struct attr attr;
} attrs[] = {
	{ "a file", TRUE, A_FILE },
	{ "the root of a tmpfs", TRUE, { .ino = 1, .mode = S_IFDIR | 0755 } },
	{ "a file that is being removed", TRUE, { .ino = 7, .mode = S_IFREG } },
	{ "a time of the year 9999, set by hand", TRUE,
		OF_TYPE(S_IFREG, .mtime = { .tv_sec = 253370764800 }) },
	{ "a time before 1970", TRUE, OF_TYPE(S_IFREG, .ctime = { .tv_sec = -1 }) },
	{ "no number", LIE, NO_NUMBER(S_IFREG) },
	{ "a size that is negative", LIE, OF_TYPE(S_IFREG, .size = (uint64_t)INT64_MAX + 1) },
	{ "blocks that are negative", LIE, OF_TYPE(S_IFREG, .blocks = UINT64_MAX) },
	{ "a change after all clocks", LIE, OF_TYPE(S_IFREG, .ctime = { .tv_sec = INT64_MAX }) },
	{ "a change before all clocks", LIE, OF_TYPE(S_IFREG, .ctime = { .tv_sec = INT64_MIN }) },
};

Test(answer_check, attributes_are_what_a_kernel_can_say)
{
	for (size_t n = 0; n < COUNT(attrs); n++)
		expect(check_attr(&attrs[n].attr, NULL), attrs[n].wanted, attrs[n].name);
}

static const struct facts_row {
	const char *name;
	enum err wanted;
	struct root_facts facts;
} facts[] = {
	{ "a directory", TRUE, { A_DIR, { .block_size = 4096 }, { .tv_sec = 1 } } },
	{ "a file", LIE, { A_FILE, { .block_size = 4096 }, { .tv_sec = 1 } } },
	{ "no number", LIE, { NO_NUMBER(S_IFDIR), { .block_size = 4096 }, { 0 } } },
	{ "no size of blocks", LIE, { A_DIR, { 0 }, { 0 } } },
	{ "blocks beyond all", LIE, { A_DIR, { .block_size = UINT64_MAX }, { 0 } } },
	{ "a clock beyond all", LIE, { A_DIR, { .block_size = 1 }, { .tv_sec = INT64_MAX } } },
};

Test(answer_check, the_root_is_a_directory_on_a_file_system)
{
	for (size_t n = 0; n < COUNT(facts); n++)
		expect(check_root_facts(&facts[n].facts, NULL), facts[n].wanted, facts[n].name);
}

/* ---- list: items up to the last one, of which the row speaks ---- */

#define SELF                                                                                       \
	{                                                                                          \
		.kind = LIST_SELF, .attr = A_DIR                                                   \
	}
#define DIR(p)                                                                                     \
	{                                                                                          \
		.kind = LIST_DIR, .path = (p)                                                      \
	}
#define ENTRY(n)                                                                                   \
	{                                                                                          \
		.kind = LIST_ENTRY, .name = (n), .attr = A_FILE                                    \
	}
#define DIR_END                                                                                    \
	{                                                                                          \
		.kind = LIST_DIR_END, .complete = true                                             \
	}
#define END                                                                                        \
	{                                                                                          \
		.kind = LIST_END, .space.block_size = 1, .now.tv_sec = 1                           \
	}
#define ITEMS_MAX 6

static const struct list_row {
	const char *name;
	enum err wanted;
	uint32_t depth;
	const char *start;
	struct list_item items[ITEMS_MAX];
} lists[] = {
	{ "a whole list", TRUE, 1, "d", { SELF, DIR("d"), ENTRY("f"), DIR_END, END } },
	{ "what is below, of all", TRUE, LIST_DEPTH_ALL, "d", { SELF, DIR("d/e"), DIR_END, END } },
	{ "nothing but itself", TRUE, 0, "d", { SELF, END } },
	{ "another start", LIE, 0, "d", { { .kind = LIST_SELF, .start = 1, .attr = A_DIR } } },
	{ "a start twice", LIE, 0, "d", { SELF, SELF } },
	{ "a start without a number", LIE, 0, "d",
		{ { .kind = LIST_SELF, .attr = NO_NUMBER(S_IFDIR) } } },
	{ "entries before its start", LIE, 1, "d", { DIR("d") } },
	{ "entries that nobody asked for", LIE, 0, "d", { SELF, DIR("d") } },
	{ "what is below, of one directory", LIE, 1, "d", { SELF, DIR("d/e") } },
	{ "the directory above", LIE, LIST_DEPTH_ALL, "d/e", { SELF, DIR("d") } },
	{ "the root", LIE, LIST_DEPTH_ALL, "d", { SELF, DIR("") } },
	{ "one of a like name", LIE, LIST_DEPTH_ALL, "d", { SELF, DIR("de") } },
	{ "a directory in an open one", LIE, LIST_DEPTH_ALL, "", { SELF, DIR("d"), DIR("d/e") } },
	{ "an entry of none", LIE, 1, "d", { SELF, ENTRY("f") } },
	{ "an end of none", LIE, 1, "d", { SELF, DIR_END } },
	{ "an entry without a number", LIE, 1, "",
		{ SELF, DIR(""),
			{ .kind = LIST_ENTRY, .name = "f", .attr = NO_NUMBER(S_IFREG) } } },
	{ "the end in a directory", LIE, 1, "d", { SELF, DIR("d"), END } },
	{ "the end twice", LIE, 0, "d", { SELF, END, END } },
	{ "a file system without blocks", LIE, 0, "d", { SELF, { .kind = LIST_END } } },
};

static void check_row(const struct list_row *row)
{
	const struct list_request request = {
		.starts = &row->start, .starts_count = 1, .depth = row->depth
	};
	struct list_check check = { .request = &request };
	size_t last = 0;

	for (size_t n = 0; n < ITEMS_MAX && row->items[n].kind; n++)
		last = n;
	for (size_t n = 0; n <= last; n++) {
		struct list_item item = row->items[n];

		expect(check_list_item(&check, &item, NULL), n == last ? row->wanted : TRUE,
			row->name);
	}
	list_check_release(&check);
}

Test(answer_check, a_list_tells_what_was_asked_for_in_its_order)
{
	for (size_t n = 0; n < COUNT(lists); n++)
		check_row(&lists[n]);
}

/* Whether a directory of so many names is complete. `repeats`: the last name is the first again. */
static bool is_complete(size_t names, bool repeats)
{
	const char *start = "";
	const struct list_request request = { .starts = &start, .starts_count = 1, .depth = 1 };
	struct list_check check = { .request = &request };
	struct list_item self = SELF, dir = DIR(""), end = DIR_END;
	char name[32];

	check_list_item(&check, &self, NULL);
	check_list_item(&check, &dir, NULL);
	for (size_t n = 0; n < names; n++) {
		struct list_item entry = ENTRY(name);

		snprintf(name, sizeof name, "f%zu", repeats && n + 1 == names ? 0 : n);
		expect(check_list_item(&check, &entry, NULL), TRUE, name);
	}
	expect(check_list_item(&check, &end, NULL), TRUE, "the end");
	list_check_release(&check);
	return end.complete;
}

Test(answer_check, a_directory_with_a_name_twice_is_not_complete)
{
	static const size_t counts[] = { 2, 63, 64, 65, 100000 };

	for (size_t n = 0; n < COUNT(counts); n++) {
		cr_expect(is_complete(counts[n], false), "%zu names", counts[n]);
		cr_expect(not(is_complete(counts[n], true)), "%zu names", counts[n]);
	}
}

Test(answer_check, a_name_in_two_directories_is_no_repetition)
{
	const char *start = "";
	const struct list_request request = {
		.starts = &start, .starts_count = 1, .depth = LIST_DEPTH_ALL
	};
	struct list_check check = { .request = &request };
	struct list_item items[] = { SELF, DIR(""), ENTRY("f"), DIR_END, DIR("d"), ENTRY("f"),
		DIR_END };

	for (size_t n = 0; n < COUNT(items); n++)
		expect(check_list_item(&check, &items[n], NULL), TRUE, "an item");
	cr_expect(items[3].complete);
	cr_expect(items[6].complete);
	list_check_release(&check);
}

Test(answer_check, a_directory_without_an_end_is_refused)
{
	const char *start = "";
	const struct list_request request = { .starts = &start, .starts_count = 1, .depth = 1 };
	struct list_check check = { .request = &request };
	struct list_item begin[] = { SELF, DIR("") }, entry = ENTRY("f"), end = DIR_END;
	struct error e = { 0 };

	check_list_item(&check, &begin[0], NULL);
	check_list_item(&check, &begin[1], NULL);
	for (int n = 0; n < LIST_ENTRIES_MAX; n++)
		cr_assert(zero(int, check_list_item(&check, &entry, NULL)));
	cr_expect(eq(int, check_list_item(&check, &entry, &e), ERR_TOO_LARGE));
	cr_expect(eq(str, e.text, "a directory of more than 1000000 entries"));
	expect(check_list_item(&check, &end, NULL), TRUE, "the next one is counted anew");
	expect(check_list_item(&check, &begin[1], NULL), TRUE, "a directory");
	expect(check_list_item(&check, &entry, NULL), TRUE, "an entry");
	list_check_release(&check);
}

/* ---- fetch ---- */

static const struct fetch_row {
	const char *name;
	enum err wanted;
	struct fetch_item item;
	struct fetch_piece piece;
} fetches[] = {
	{ "a file", TRUE, { .kind = FETCH_BYTES }, { .attr = A_FILE } },
	{ "a failure", TRUE, { .kind = FETCH_BYTES }, { .err = ERR_NOT_FOUND } },
	{ "a hole behind", TRUE, { .kind = FETCH_SEEK_HOLE, .offset = 5 },
		{ .attr = A_FILE, .offset = 9 } },
	{ "a directory", LIE, { .kind = FETCH_BYTES }, { .attr = A_DIR } },
	{ "a link", LIE, { .kind = FETCH_HASHES }, { .attr = OF_TYPE(S_IFLNK) } },
	{ "a file without a number", LIE, { .kind = FETCH_BYTES }, { .attr = NO_NUMBER(S_IFREG) } },
	{ "data before", LIE, { .kind = FETCH_SEEK_DATA, .offset = 5 },
		{ .attr = A_FILE, .offset = 4 } },
	{ "a hole beyond all", LIE, { .kind = FETCH_SEEK_HOLE },
		{ .attr = A_FILE, .offset = UINT64_MAX } },
};

Test(answer_check, contents_are_of_files)
{
	for (size_t n = 0; n < COUNT(fetches); n++)
		expect(check_fetch_done(&fetches[n].item, &fetches[n].piece, NULL),
			fetches[n].wanted, fetches[n].name);
}

/* ---- apply ---- */

#define LEFT(...)                                                                                  \
	{                                                                                          \
		.has_attr = true, .attr = OF_TYPE(__VA_ARGS__)                                     \
	}

static const struct result_row {
	const char *name;
	enum err wanted;
	struct change change;
	struct change_result result;
} results[] = {
	{ "a directory is made", TRUE, { .op = CHANGE_MKDIR }, LEFT(S_IFDIR) },
	{ "a file is made", TRUE, { .op = CHANGE_CREATE }, LEFT(S_IFREG) },
	{ "a pipe is made", TRUE, { .op = CHANGE_MKNOD, .mode = S_IFIFO }, LEFT(S_IFIFO) },
	{ "a file is made as a node", TRUE, { .op = CHANGE_MKNOD, .mode = 0644 }, LEFT(S_IFREG) },
	{ "a link is linked", TRUE, { .op = CHANGE_LINK }, LEFT(S_IFLNK) },
	{ "a directory is moved", TRUE, { .op = CHANGE_RENAME }, LEFT(S_IFDIR) },
	{ "all is written", TRUE, { .op = CHANGE_WRITE, .data_len = 3 },
		{ .count = 3, .has_attr = true, .attr = A_FILE } },
	{ "done before, others made a directory there since", TRUE, { .op = CHANGE_CREATE },
		{ .was_over = true, .has_attr = true, .attr = A_DIR } },
	{ "a file is made for a directory", LIE, { .op = CHANGE_MKDIR }, LEFT(S_IFREG) },
	{ "a directory is made for a file", LIE, { .op = CHANGE_CREATE }, LEFT(S_IFDIR) },
	{ "a link is made for a file", LIE, { .op = CHANGE_CREATE }, LEFT(S_IFLNK) },
	{ "a file is made for a link", LIE, { .op = CHANGE_SYMLINK }, LEFT(S_IFREG) },
	{ "a device is made for a pipe", LIE, { .op = CHANGE_MKNOD, .mode = S_IFIFO },
		LEFT(S_IFCHR) },
	{ "a directory is linked", LIE, { .op = CHANGE_LINK }, LEFT(S_IFDIR) },
	{ "a directory is unlinked", LIE, { .op = CHANGE_UNLINK }, LEFT(S_IFDIR) },
	{ "a directory is written", LIE, { .op = CHANGE_WRITE }, LEFT(S_IFDIR) },
	{ "a link takes a file's place", LIE, { .op = CHANGE_PLACE }, LEFT(S_IFLNK) },
	{ "more is written than was given", LIE, { .op = CHANGE_WRITE, .data_len = 3 },
		{ .count = 4 } },
	{ "more is copied than was asked for", LIE, { .op = CHANGE_COPY, .length = 3 },
		{ .count = 4 } },
	{ "it lands beyond all files", LIE, { .op = CHANGE_APPEND },
		{ .offset = (uint64_t)INT64_MAX + 1 } },
	{ "without a number", LIE, { .op = CHANGE_SETATTR },
		{ .has_attr = true, .attr = NO_NUMBER(S_IFREG) } },
	{ "it stands in a file", LIE, { .op = CHANGE_MKDIR },
		{ .has_parent = true, .parent = A_FILE } },
	{ "it is moved into a link", LIE, { .op = CHANGE_RENAME },
		{ .has_parent2 = true, .parent2 = OF_TYPE(S_IFLNK) } },
};

Test(answer_check, a_change_leaves_what_it_makes)
{
	for (size_t n = 0; n < COUNT(results); n++)
		expect(check_change_result(&results[n].change, &results[n].result, NULL),
			results[n].wanted, results[n].name);
}

/* ---- watch ---- */

static const struct event_row {
	const char *name;
	enum err wanted;
	struct watch_event event;
} events[] = {
	{ "of a file", TRUE, { .path = "f", .has_attr = true, .attr = A_FILE } },
	{ "of the root", TRUE, { .path = "", .has_attr = true, .attr = A_DIR } },
	{ "of what went", TRUE, { .kind = WATCH_REMOVED, .path = "f" } },
	{ "of a root that is a file", LIE, { .path = "", .has_attr = true, .attr = A_FILE } },
	{ "of no number", LIE, { .path = "f", .has_attr = true, .attr = NO_NUMBER(S_IFREG) } },
};

Test(answer_check, an_event_is_of_what_can_be_there)
{
	for (size_t n = 0; n < COUNT(events); n++)
		expect(check_watch_event(&events[n].event, NULL), events[n].wanted, events[n].name);
}
