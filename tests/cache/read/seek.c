#include "tests/cache/distant.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE ((off_t)1024 * 1024)

static struct distant far;

static void setup(void)
{
	distant_start_trusting(&far);
}

static void teardown(void)
{
	distant_stop(&far);
}

TestSuite(seek, .init = setup, .fini = teardown, .timeout = 300);

/*
 * A file of SIZE bytes with `data` bytes of data at its beginning. Returns whether the file
 * has blocks for all of its bytes.
 */
static bool make(const char *name, size_t data)
{
	AUTO_CLOSE int fd = openat(far.scratch.fd, name, O_WRONLY | O_CREAT, 0644);
	AUTO_FREE char *bytes = calloc(1, SIZE);
	struct stat st;

	cr_assert(eq(sz, (size_t)write(fd, bytes, data), data));
	cr_assert(eq(int, ftruncate(fd, SIZE), 0));
	cr_assert(eq(int, fsync(fd), 0));
	cr_assert(eq(int, fstat(fd, &st), 0));
	return st.st_blocks * 512 >= SIZE;
}

static uint64_t seek(struct inode *i, uint64_t offset, bool hole)
{
	uint64_t found = 0;

	cr_assert(eq(int, cache_seek(far.cache, NULL, i, offset, hole, &found, NULL), ERR_OK));
	return found;
}

Test(seek, of_a_file_that_has_all_its_blocks_nothing_is_asked)
{
	if (!make("full", SIZE))
		cr_skip("this file system allocates no blocks for zeros");
	struct inode *i = distant_open(&far, "full");

	cr_expect(eq(u64, seek(i, 4096, true), SIZE));
	cr_expect(eq(u64, seek(i, 4096, false), 4096));
	cr_expect(eq(uint, distant_fetches(&far), 0));
	distant_close(&far, i);
}

Test(seek, of_others_the_sandbox_knows_the_holes)
{
	struct error e = { 0 };
	uint64_t found;

	make("sparse", 4096);
	struct inode *i = distant_open(&far, "sparse");

	cr_expect(le(u64, seek(i, 0, true), SIZE));
	cr_expect(eq(uint, distant_fetches(&far), 1));
	cr_expect(eq(int, cache_seek(far.cache, NULL, i, SIZE, true, &found, &e), ERR_NO_DATA));
	distant_close(&far, i);
}
