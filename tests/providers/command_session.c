/* A program that reaches a sandbox, and the processes that it leaves in the background. */
#include "providers/command/session.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* More than a pipe holds. */
#define MUCH ((size_t)4 * 1024 * 1024)

TestSuite(command_session, .timeout = 300);

struct received {
	const struct session *session;
	size_t errors; /* bytes of standard error */
	char last[16]; /* the last bytes of standard error */
};

static enum err receive(
	void *context, bool is_error, const void *bytes, size_t len, struct error *e)
{
	struct received *h = context;
	size_t kept = len < sizeof h->last - 1 ? len : sizeof h->last - 1;

	if (!is_error)
		return ERR_OK;
	h->errors += len;
	memcpy(h->last, (const char *)bytes + len - kept, kept);
	h->last[kept] = 0;
	/* Waits until there is more, however slow the writer is. */
	poll(&(struct pollfd){ .fd = h->session->err, .events = POLLIN }, 1, -1);
	return h->errors > MUCH ? error_set(e, ERR_TOO_LARGE, "it never ends") : ERR_OK;
}

/* Runs the script to its end with all its output. Returns its exit code. */
static int follow(const char *script, struct received *h)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	AUTO_WORDS struct words words = { 0 };
	AUTO_SESSION struct session s = SESSION_NONE;
	struct error e = { 0 };
	int exit_code = -1;

	*h = (struct received){ .session = &s };
	words_add_all(&words, argv);
	cr_assert(zero(int, session_start(&s, &words, 0, &e)), "%s", e.text);
	session_send_end(&s);
	cr_expect(zero(int, session_follow(&s, NULL, receive, h, &exit_code, &e)), "%s", e.text);
	return exit_code;
}

Test(command_session, what_writes_errors_in_the_background_for_ever_is_not_waited_for)
{
	struct received h;

	cr_expect(eq(int, follow("yes >&2 & exec >&- 2>&-; exit 3", &h), 3));
}

Test(command_session, its_last_output_is_received)
{
	struct received h;

	cr_expect(eq(int, follow("exec >&-; yes | head -c 50000 >&2; echo over >&2", &h), 0));
	cr_expect(eq(sz, h.errors, 50005));
	cr_expect(eq(str, h.last + strlen(h.last) - 5, "over\n"));
}

/* More often than the errors come with the mark by chance. */
#define OFTEN 200

Test(command_session, errors_behind_the_mark_are_the_programs_own)
{
	const char *const argv[] = { "sh", NULL };
	AUTO_BUF struct buf line = BUF_INIT(100);

	buf_add_string(&line, "echo errors >&2; exit 3");
	for (int i = 0; i < OFTEN; i++) {
		AUTO_WORDS struct words words = { 0 };
		AUTO_SESSION struct session s = SESSION_NONE;
		struct received h = { .session = &s };
		struct error e = { 0 };
		int exit_code = -1;

		words_add_all(&words, argv);
		cr_assert(zero(int, session_start(&s, &words, 0, &e)), "%s", e.text);
		cr_assert(zero(int, session_open(&s, NULL, &line, &e)), "%s", e.text);
		cr_assert(zero(int, session_follow(&s, NULL, receive, &h, &exit_code, &e)));
		cr_assert(eq(int, exit_code, 3));
		cr_assert(eq(str, h.last, "errors\n"), "the run %d", i);
	}
}

/* ---- A program that talks without end ---- */

static enum err open_as(
	struct session *s, const char *script, unsigned flags, const char *line, struct error *e)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	AUTO_WORDS struct words words = { 0 };
	AUTO_BUF struct buf text = BUF_INIT(200);

	words_add_all(&words, argv);
	buf_add_string(&text, line);
	cr_assert(zero(int, session_start(s, &words, flags, e)), "%s", e->text);
	return session_open(s, NULL, &text, e);
}

Test(command_session, errors_without_end_in_place_of_a_shell_are_not_waited_for)
{
	AUTO_SESSION struct session s = SESSION_NONE;
	struct error e = { 0 };

	cr_expect(eq(int, open_as(&s, "exec yes >&2", 0, "true", &e), ERR_PROTOCOL));
	cr_expect(eq(str, e.text, "more than 1048576 bytes came before its shell began"));
}

Test(command_session, errors_of_a_kept_program_take_no_more_memory_than_their_bound)
{
	AUTO_SESSION struct session s = SESSION_NONE;
	int kept;
	struct error e = { 0 };
	char byte;

	cr_assert(zero(int,
			  open_as(&s, "exec sh", SESSION_KEPT,
				  "yes 2>&- | head -c 4000000 >&2; echo", &e)),
		"%s", e.text);
	poll(&(struct pollfd){ .fd = s.fd, .events = POLLIN }, 1, -1);
	cr_assert(eq(int, (int)read(s.fd, &byte, 1), 1));
	cr_assert(zero(int, ioctl(s.err, FIONREAD, &kept)));
	cr_expect(le(int, kept, 1024 * 1024));
}

Test(command_session, the_last_errors_of_a_kept_program_are_its_words)
{
	AUTO_SESSION struct session s = SESSION_NONE;
	struct error e = { 0 };

	open_as(&s, "echo no such thing >&2; exit 1", SESSION_KEPT, "true", &e);
	cr_expect(eq(str, (char *)session_words(&s), "no such thing\n"));
}

Test(command_session, a_kept_program_may_open_its_standard_error_by_name)
{
	AUTO_SESSION struct session s = SESSION_NONE;
	struct error e = { 0 };

	open_as(&s, "set -e; echo one >/dev/stderr; echo two >>/dev/stderr; exit 1", SESSION_KEPT,
		"true", &e);
	cr_expect(eq(str, (char *)session_words(&s), "one\ntwo\n"));
}

Test(command_session, a_kept_program_outlives_who_would_read_its_errors)
{
	AUTO_SESSION struct session s = SESSION_NONE;
	struct error e = { 0 };
	char byte = 0;

	cr_assert(zero(int,
			  open_as(&s, "exec sh", SESSION_KEPT, "read -r go; echo late >&2; echo $?",
				  &e)),
		"%s", e.text);
	close(s.err);
	s.err = -1;
	cr_assert(eq(int, (int)write(s.fd, "\n", 1), 1));
	poll(&(struct pollfd){ .fd = s.fd, .events = POLLIN }, 1, -1);
	cr_assert(eq(int, (int)read(s.fd, &byte, 1), 1));
	cr_expect(eq(chr, byte, '0'));
}
