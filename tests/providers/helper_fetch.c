#include "tests/support/shown.h"

#include "providers/base/buf.h"
#include "providers/base/cleanup.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <unistd.h>
#include <stdatomic.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct shown shown;

static void set_up(void)
{
	shown_make(&shown, false);
}

static void tear_down(void)
{
	shown_remove(&shown);
}

TestSuite(helper_fetch, .init = set_up, .fini = tear_down, .timeout = 300);

struct fetched {
	struct buf bytes;
	struct fetch_piece done; /* without its pointers */
	unsigned pieces, dones;
	size_t largest;
	void (*disturb)(unsigned piece);
};

#define FETCHED_NONE                                                                               \
	{                                                                                          \
		.bytes = BUF_INIT(64 << 20)                                                        \
	}
#define AUTO_FETCHED __attribute__((cleanup(fetched_release)))

static void fetched_release(struct fetched *f)
{
	buf_release(&f->bytes);
}

static enum err take_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct fetched *f = context;

	if (piece->kind == FETCH_DONE) {
		f->done = *piece;
		f->dones++;
		return ERR_OK;
	}
	f->pieces++;
	f->largest = piece->len > f->largest ? piece->len : f->largest;
	buf_add(&f->bytes, piece->bytes, piece->len);
	if (f->disturb)
		f->disturb(f->pieces);
	return buf_check(&f->bytes, "fetch", e);
}

static void fetch(const struct fetch_item *item, struct fetched *f)
{
	struct error e = { 0 };

	cr_assert(eq(int, helper_fetch(&shown.root, item, 1, take_piece, f, &e), ERR_OK), "%s",
		e.text);
	cr_assert(eq(uint, f->dones, 1));
}

static enum err fetch_err(const struct fetch_item *item)
{
	AUTO_FETCHED struct fetched f = FETCHED_NONE;

	fetch(item, &f);
	cr_expect(f.done.err == ERR_OK || f.done.why[0]);
	return f.done.err;
}

/* Bytes that depend on their offset. */
static unsigned char *make_file(const char *path, size_t len)
{
	unsigned char *bytes = malloc(len);

	cr_assert(bytes != NULL);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)(i ^ i >> 8 ^ i >> 16);
	scratch_write(&shown.scratch, path, bytes, len);
	return bytes;
}

Test(helper_fetch, what_cannot_be_read_says_why)
{
	static const struct {
		const char *path;
		enum fetch_kind kind;
		uint64_t offset;
		enum err want;
	} rows[] = {
		{ "", FETCH_BYTES, 0, ERR_IS_DIR },
		{ "f", FETCH_BYTES, INT64_MAX, ERR_OK },
		{ "f", (enum fetch_kind)77, 0, ERR_INVALID },
		{ "f", FETCH_BYTES, (uint64_t)INT64_MAX + 1, ERR_INVALID },
		{ "f", FETCH_HASHES, 0, ERR_INVALID },
		{ "", FETCH_CHANGEABLE, 0, ERR_IS_DIR },
		{ "none", FETCH_CHANGEABLE, 0, ERR_NOT_FOUND },
		{ "f", FETCH_CHANGEABLE, 0, ERR_OK },
	};

	scratch_write_text(&shown.scratch, "tree/f", "text");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(eq(int,
				  fetch_err(&(struct fetch_item){ .kind = rows[i].kind,
					  .path = rows[i].path,
					  .offset = rows[i].offset,
					  .length = 10 }),
				  rows[i].want),
			"row %zu: %s", i, rows[i].path);
}

static void expect_hash(const struct fetched *f, size_t index, const void *bytes, size_t len)
{
	XXH128_canonical_t want;

	XXH128_canonicalFromHash(&want, XXH3_128bits(bytes, len));
	cr_assert(ge(ulong, f->bytes.len, (index + 1) * sizeof want));
	cr_expect(memcmp(f->bytes.bytes + index * sizeof want, &want, sizeof want) == 0, "hash %zu",
		index);
}

Test(helper_fetch, hashes_are_those_of_the_blocks)
{
	static const size_t block_sizes[] = { 1000, 4096, 65536, 10000, 5 };
	AUTO_FREE unsigned char *bytes = make_file("tree/f", 10000);

	for (size_t i = 0; i < sizeof block_sizes / sizeof *block_sizes; i++) {
		const size_t size = block_sizes[i], count = (10000 + size - 1) / size;
		AUTO_FETCHED struct fetched f = FETCHED_NONE;

		fetch(&(struct fetch_item){ .kind = FETCH_HASHES,
			      .path = "f",
			      .length = UINT64_MAX,
			      .block_size = (uint32_t)size },
			&f);
		cr_assert(eq(int, f.done.err, ERR_OK), "%s", f.done.why);
		cr_assert(eq(ulong, f.bytes.len, count * 16), "blocks of %zu", size);
		for (size_t b = 0; b < count; b++)
			expect_hash(&f, b, bytes + b * size,
				10000 - b * size < size ? 10000 - b * size : size);
	}
}

Test(helper_fetch, hashes_of_a_range_end_with_it)
{
	AUTO_FREE unsigned char *bytes = make_file("tree/f", 10000);
	AUTO_FETCHED struct fetched f = FETCHED_NONE;

	fetch(&(struct fetch_item){ .kind = FETCH_HASHES,
		      .path = "f",
		      .offset = 2000,
		      .length = 1500,
		      .block_size = 1000 },
		&f);
	cr_assert(eq(ulong, f.bytes.len, 2 * 16));
	expect_hash(&f, 0, bytes + 2000, 1000);
	expect_hash(&f, 1, bytes + 3000, 500);
}

Test(helper_fetch, blocks_larger_than_a_piece_are_hashed_whole)
{
	const size_t len = 2 * VERB_DATA_MAX + 77;
	AUTO_FREE unsigned char *bytes = make_file("tree/f", len);
	AUTO_FETCHED struct fetched f = FETCHED_NONE;

	fetch(&(struct fetch_item){ .kind = FETCH_HASHES,
		      .path = "f",
		      .length = UINT64_MAX,
		      .block_size = 4 * VERB_DATA_MAX },
		&f);
	cr_assert(eq(ulong, f.bytes.len, 16));
	expect_hash(&f, 0, bytes, len);
}

static void grow_after_first(unsigned piece)
{
	AUTO_CLOSE int fd = openat(shown.scratch.fd, "tree/f", O_WRONLY | O_APPEND | O_CLOEXEC);

	cr_assert(piece == 1);
	cr_assert(write(fd, "more", 4) == 4);
}

Test(helper_fetch, a_file_that_changes_between_pieces_is_a_conflict)
{
	AUTO_FETCHED struct fetched f = FETCHED_NONE;

	free(make_file("tree/f", 3 * VERB_DATA_MAX));
	f.disturb = grow_after_first;
	fetch(&(struct fetch_item){ .kind = FETCH_BYTES, .path = "f", .length = UINT64_MAX }, &f);
	cr_expect(eq(int, f.done.err, ERR_CONFLICT));
	cr_expect(eq(uint, f.pieces, 1));
}

/* The kernel's times go on by ticks: the overwrite shows another time as soon as one has passed. */
static void overwrite_after_first(unsigned piece)
{
	AUTO_CLOSE int fd = openat(shown.scratch.fd, "tree/f", O_WRONLY | O_CLOEXEC);
	struct stat before, now;

	cr_assert(eq(uint, piece, 1));
	cr_assert(zero(int, fstat(fd, &before)));
	do {
		cr_assert(eq(int, (int)pwrite(fd, "NEW", 3, 2 * VERB_DATA_MAX), 3));
		cr_assert(zero(int, fstat(fd, &now)));
	} while (now.st_mtim.tv_sec == before.st_mtim.tv_sec &&
		now.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
}

/* Overwrites as tools do that keep a file's modification time: only the change time differs. */
static void overwrite_unseen_after_first(unsigned piece)
{
	struct stat before;

	cr_assert(zero(int, fstatat(shown.scratch.fd, "tree/f", &before, 0)));
	overwrite_after_first(piece);
	cr_assert(zero(int,
		utimensat(shown.scratch.fd, "tree/f",
			(struct timespec[]){ before.st_atim, before.st_mtim }, 0)));
}

Test(helper_fetch, a_file_that_is_overwritten_in_place_between_pieces_is_a_conflict)
{
	void (*const ways[])(unsigned) = { overwrite_after_first, overwrite_unseen_after_first };

	for (size_t n = 0; n < sizeof ways / sizeof *ways; n++) {
		AUTO_FETCHED struct fetched f = FETCHED_NONE;

		free(make_file("tree/f", 3 * VERB_DATA_MAX));
		f.disturb = ways[n];
		fetch(
			&(struct fetch_item){
				.kind = FETCH_BYTES, .path = "f", .length = UINT64_MAX },
			&f);
		cr_expect(eq(int, f.done.err, ERR_CONFLICT), "way %zu", n);
		cr_expect(eq(uint, f.pieces, 1), "way %zu", n);
	}
}

struct toucher {
	pthread_t thread;
	int fd;
	atomic_bool is_over;
};

static void *touch_on(void *context)
{
	struct toucher *t = context;

	while (!t->is_over)
		futimens(t->fd, NULL);
	return NULL;
}

/* The file never holds still for one piece. It is read as read(2) would read it there. */
Test(helper_fetch, a_file_that_is_written_all_the_time_is_read_all_the_same)
{
	AUTO_FREE unsigned char *bytes = make_file("tree/f", 200000);
	struct toucher t = { .fd = openat(shown.scratch.fd, "tree/f", O_WRONLY | O_CLOEXEC) };

	cr_assert(pthread_create(&t.thread, NULL, touch_on, &t) == 0);
	for (int i = 0; i < 300; i++) {
		AUTO_FETCHED struct fetched f = FETCHED_NONE;

		fetch(
			&(struct fetch_item){
				.kind = FETCH_BYTES, .path = "f", .length = UINT64_MAX },
			&f);
		cr_assert(eq(int, f.done.err, ERR_OK), "%s", f.done.why);
		cr_assert(eq(ulong, f.bytes.len, 200000));
	}
	t.is_over = true;
	pthread_join(t.thread, NULL);
	close(t.fd);
}

static int fetch_forbidden(struct shown *s)
{
	struct fetch_item item = { .kind = FETCH_BYTES, .path = "f", .length = UINT64_MAX };
	AUTO_FETCHED struct fetched f = FETCHED_NONE;
	AUTO_CLOSE int fd = openat(s->scratch.fd, "tree/f", O_CREAT | O_WRONLY | O_CLOEXEC, 0);

	if (fd < 0 || write(fd, "text", 4) != 4)
		return 1;
	if (helper_fetch(&s->root, &item, 1, take_piece, &f, NULL) != ERR_OK)
		return 2;
	if (f.done.err != ERR_DENIED)
		return 3;
	item.flags = CHANGE_BY_HANDLE;
	if (helper_fetch(&s->root, &item, 1, take_piece, &f, NULL) != ERR_OK)
		return 4;
	if (f.done.err != ERR_OK || strcmp(buf_text(&f.bytes), "text") != 0)
		return 5;
	return (shown_attr(s, "tree/f").mode & 07777) == 0 ? 0 : 6;
}

Test(helper_fetch, through_a_handle_ones_own_file_is_read_whatever_its_mode)
{
	shown_as_nobody(&shown, fetch_forbidden);
}

static void read_while_swapped(const char *one, const char *other)
{
	struct swapper *hostile = shown_swap_start(&shown, one, other);
	unsigned whole = 0;

	for (int i = 0; i < 3000 || !whole; i++) {
		AUTO_FETCHED struct fetched f = FETCHED_NONE;

		fetch(
			&(struct fetch_item){
				.kind = FETCH_BYTES, .path = "d/secret", .length = 100 },
			&f);
		if (f.done.err != ERR_OK)
			continue;
		cr_assert(eq(str, (char *)buf_text(&f.bytes), (char *)"inside"));
		whole++;
	}
	shown_swap_stop(hostile);
}

Test(helper_fetch, a_swapped_directory_does_not_lead_out)
{
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/d/secret", "inside");
	cr_assert(symlinkat("../outside", shown.scratch.fd, "tree/l") == 0);
	read_while_swapped("tree/d", "tree/l");
}

Test(helper_fetch, a_swapped_file_does_not_lead_out)
{
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/d/secret", "inside");
	cr_assert(symlinkat("../../outside/secret", shown.scratch.fd, "tree/d/l") == 0);
	read_while_swapped("tree/d/secret", "tree/d/l");
}

/*
 * The holder of a lease could otherwise keep every thread of a mount waiting, 45 s for each open.
 */
Test(helper_fetch, does_not_wait_for_a_lease)
{
	const struct fetch_item item = {
		.kind = FETCH_BYTES, .path = "leased", .length = UINT64_MAX
	};
	AUTO_CLOSE int holder = -1;

	signal(SIGIO, SIG_IGN);
	scratch_write_text(&shown.scratch, "tree/leased", "text");
	holder = openat(shown.scratch.fd, "tree/leased", O_RDWR | O_CLOEXEC);
	if (fcntl(holder, F_SETLEASE, F_WRLCK))
		shown_skip(&shown, "no leases here");
	cr_expect(eq(int, fetch_err(&item), ERR_BUSY));
	cr_assert(fcntl(holder, F_SETLEASE, F_UNLCK) == 0);
	cr_expect(eq(int, fetch_err(&item), ERR_OK));
}
