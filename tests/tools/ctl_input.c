#include "tools/ctl/input.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

TestSuite(ctl_input, .timeout = 300);

/*
 * As if another process took the bytes that poll() has seen: this terminal has bytes, and a read of
 * it waits for more.
 */
Test(ctl_input, what_is_ready_is_read_without_waiting)
{
	AUTO_INPUT struct input in = INPUT_INIT;
	const struct call call = { .progress_ms = -1 };
	struct error e = { 0 };
	struct termios mode;
	int64_t begin_ms;
	int ours, theirs;

	cr_assert(zero(int, openpty(&ours, &theirs, NULL, NULL, NULL)));
	tcgetattr(theirs, &mode);
	cfmakeraw(&mode);
	mode.c_cc[VMIN] = 2;
	mode.c_cc[VTIME] = 255; /* tenths of a second, as long as may be */
	tcsetattr(theirs, TCSANOW, &mode);
	cr_assert(eq(int, dup2(theirs, STDIN_FILENO), STDIN_FILENO));
	cr_assert(eq(int, (int)write(ours, "x", 1), 1));
	begin_ms = monotonic_ms();
	cr_assert(zero(int, input_look(&in, &call, &e)), "%s", e.text);
	while (!in.bytes.len)
		cr_assert(zero(int, input_await(&in, &call, &e)), "%s", e.text);
	cr_expect(eq(str, (char *)buf_text(&in.bytes), "x"));
	cr_expect(monotonic_ms() - begin_ms < 25000);
	cr_expect(zero(int, fcntl(STDIN_FILENO, F_GETFL) & O_NONBLOCK), "others are as they were");
	close(ours);
	close(theirs);
}

Test(ctl_input, a_file_is_read_from_where_it_stands)
{
	AUTO_INPUT struct input in = INPUT_INIT;
	const struct call call = { .progress_ms = -1 };
	struct error e = { 0 };
	FILE *file = tmpfile();

	cr_assert(ne(ptr, file, NULL));
	fputs("first, second", file);
	fflush(file);
	cr_assert(eq(int, dup2(fileno(file), STDIN_FILENO), STDIN_FILENO));
	cr_assert(eq(int, (int)lseek(STDIN_FILENO, 7, SEEK_SET), 7));
	cr_assert(zero(int, input_look(&in, &call, &e)), "%s", e.text);
	cr_expect(eq(str, (char *)buf_text(&in.bytes), "second"));
	cr_expect(in.has_ended);
	cr_expect(eq(int, (int)lseek(STDIN_FILENO, 0, SEEK_CUR), 13));
	fclose(file);
}
