/*
 * Requests to a helper: every decoder of a request, and a whole stream served on a scratch
 * directory.
 *
 * A request has one spelling, so a decoded request must encode to the same bytes again.
 */
#include "providers/base/cleanup.h"
#include "providers/helper/serve.h"
#include "providers/helper/wire.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No file grows beyond this, whatever the request. */
#define FILE_MAX (256 * 1024)

static char scratch[] = "/tmp/fuzz_requests-XXXXXX";
static int null_fd;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type;
	return ftw->level ? remove(path) : 0;
}

static void empty_scratch(void)
{
	nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_scratch(void)
{
	empty_scratch();
	rmdir(scratch);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null_fd < 0 || !mkdtemp(scratch))
		abort();
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ FILE_MAX, FILE_MAX });
	return atexit(remove_scratch);
}

static void must_be(const struct buf *in, const struct buf *again)
{
	if (again->failed || again->len != in->len ||
		(in->len && memcmp(again->bytes, in->bytes, in->len)))
		abort();
}

static void try_list(const struct buf *in)
{
	struct list_request request;
	AUTO_FREE void *memory = NULL;
	AUTO_BUF struct buf again = BUF_INIT(WIRE_REQUEST_MAX);

	if (wire_get_list(in, &request, &memory, NULL) != ERR_OK)
		return;
	wire_put_list(&again, &request);
	must_be(in, &again);
}

static void try_watch(const struct buf *in)
{
	struct watch_request request;
	struct list_request first;
	AUTO_FREE void *memory = NULL;
	AUTO_BUF struct buf again = BUF_INIT(WIRE_REQUEST_MAX);

	if (wire_get_watch(in, &request, &first, &memory, NULL) != ERR_OK)
		return;
	wire_put_watch(&again, &request);
	must_be(in, &again);
}

static void try_fetch(const struct buf *in)
{
	struct fetch_item *items;
	size_t count;
	AUTO_FREE void *memory = NULL;
	AUTO_BUF struct buf again = BUF_INIT(WIRE_REQUEST_MAX);

	if (wire_get_fetch(in, &items, &count, &memory, NULL) != ERR_OK)
		return;
	wire_put_fetch(&again, items, count);
	must_be(in, &again);
}

static void try_apply(const struct buf *in)
{
	struct apply_request request;
	AUTO_FREE void *memory = NULL;
	AUTO_BUF struct buf again = BUF_INIT(WIRE_REQUEST_MAX);

	if (wire_get_apply(in, &request, &memory, NULL) != ERR_OK)
		return;
	wire_put_apply(&again, &request);
	must_be(in, &again);
}

static void try_command(const struct buf *in)
{
	struct command_request request;
	AUTO_FREE void *memory = NULL;
	AUTO_BUF struct buf again = BUF_INIT(WIRE_REQUEST_MAX);

	if (wire_get_command(in, &request, &memory, NULL) != ERR_OK)
		return;
	wire_put_command(&again, &request);
	must_be(in, &again);
}

static void try_stop(const struct buf *in)
{
	const char *marker;
	bool now;
	AUTO_BUF struct buf again = BUF_INIT(WIRE_REQUEST_MAX);

	if (wire_get_stop(in, &marker, &now, NULL) != ERR_OK)
		return;
	wire_put_stop(&again, marker, now);
	must_be(in, &again);
}

/* There is no staging, so that no command is started. */
static void try_stream(const struct buf *in)
{
	struct root root;

	if (root_open(&root, scratch, NULL, NULL) != ERR_OK)
		abort();
	serve(&(struct serve_options){ .root = &root,
		      .in_fd = -1,
		      .bytes = in->bytes,
		      .len = in->len,
		      .out_fd = null_fd,
		      .is_once = true },
		NULL);
	root_close(&root);
	empty_scratch();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frame f;
	struct buf in = { .bytes = (unsigned char *)data, .len = size, .max = size };

	try_list(&in);
	try_watch(&in);
	try_fetch(&in);
	try_apply(&in);
	try_command(&in);
	try_stop(&in);
	if (size >= FRAME_HEADER_SIZE && frame_decode(data, &f, NULL) == ERR_OK)
		try_stream(&in);
	return 0;
}
