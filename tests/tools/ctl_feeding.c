#include "tools/ctl/feeding.h"

#include "tests/support/host_provider.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <unistd.h>

static struct scratch scratch;
static struct host_provider host;

/* Standard input has a line, and ends. */
static void setup(void)
{
	int ends[2];

	scratch_make(&scratch);
	host_provider_init(&host, scratch.path);
	cr_assert(zero(int, pipe(ends)));
	cr_assert(eq(int, (int)write(ends[1], "a line\n", 7), 7));
	cr_assert(eq(int, dup2(ends[0], STDIN_FILENO), STDIN_FILENO));
	close(ends[0]);
	close(ends[1]);
}

static void teardown(void)
{
	host_provider_end(&host);
	scratch_remove(&scratch);
}

static enum err take_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)stream, (void)e;
	buf_add(context, bytes, len);
	return ERR_OK;
}

TestSuite(ctl_feeding, .init = setup, .fini = teardown, .timeout = 300);

Test(ctl_feeding, input_waits_for_a_command_that_starts_late)
{
	AUTO_FEEDING struct feeding f = FEEDING_NONE;
	AUTO_INPUT struct input in = INPUT_INIT;
	AUTO_BUF struct buf script = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	const struct call call = { .progress_ms = -1 };
	struct execute_result result = { 0 };
	struct execute_request request = { 0 };
	struct error e = { 0 };

	cr_assert(zero(int, feeding_begin(&f, &host.base, &call, &in, &e)), "%s", e.text);
	/* The first command has given up when a second one runs. */
	while (host.executed < 2)
		cr_assert(zero(int, call_sleep(NULL, 10, &e)));
	input_pipe_command(&script, f.base, "cat", false);
	request.command = buf_text(&script);
	cr_assert(zero(int,
			  provider_execute(
				  &host.base, &f.call, &request, take_output, &out, &result, &e)),
		"%s", e.text);
	cr_expect(zero(int, feeding_end(&f, ERR_OK, false, &e)), "%s", e.text);
	cr_expect(eq(str, (char *)buf_text(&out), "a line\n"));
	cr_expect(zero(int, result.exit_code));
}
