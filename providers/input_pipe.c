#include "providers/input_pipe.h"

#include "providers/shell_quote.h"
#include "providers/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

/* A tenth of a second each. */
#define AWAIT_TRIES 50

/*
 * The pipe is opened both ways first, since that never waits, and then for writing alone, so that a
 * write fails where there is no reader. Where the pipe has just gone, the first open has made a
 * regular file: that is removed.
 */
#define OPEN(end)                                                                                  \
	"exec 5<>\"$base" end "\" 6>\"$base" end "\" 5<&-\n"                                       \
	"[ -p \"$base" end "\" ] || { rm -f \"$base" end "\"; exit 3; }\n"

static const char feed_text[] = "until [ -p \"$base.in\" ]; do\n"
				"	[ \"$tries\" -gt 0 ] || exit \"$absent\"\n"
				"	tries=$((tries - 1))\n"
				"	sleep 0.1 2>/dev/null || sleep 1\n"
				"done\n" OPEN(".in") "cat >&6 || exit 3\n";
static const char last_text[] =
	"[ -p \"$base.ctl\" ] || exit 3\n" OPEN(".ctl") "echo " INPUT_PIPE_EOF " >&6\n";

static const char tell_text[] = "[ -p \"$base.ctl\" ] || exit 3\n" OPEN(".ctl") "echo \"$2\" >&6\n";
_Static_assert(INPUT_PIPE_GONE == 3, "the scripts name it");

static void add_arguments(struct buf *out, const char *base, const char *const *others)
{
	buf_add_string(out, "set --");
	shell_argument(out, base);
	for (; *others; others++)
		shell_argument(out, *others);
	buf_add_string(out, "\n");
}

void input_pipe_begin(struct buf *out, const char *base, const char *const *others)
{
	add_arguments(out, base, others);
	buf_add_string(out, "base=$1\n");
}

void input_pipe_feed(struct buf *out, const char *base, unsigned flags)
{
	input_pipe_begin(out, base, (const char *const[]){ NULL });
	if (flags & INPUT_PIPE_AWAIT)
		buf_printf(out, "tries=%d absent=%d\n", AWAIT_TRIES, INPUT_PIPE_NOT_YET);
	else
		buf_printf(out, "tries=0 absent=%d\n", INPUT_PIPE_GONE);
	buf_add_string(out, feed_text);
	if (flags & INPUT_PIPE_LAST)
		buf_add_string(out, last_text);
}

void input_pipe_tell(struct buf *out, const char *base, const char *word)
{
	input_pipe_begin(out, base, (const char *const[]){ word, NULL });
	buf_add_string(out, tell_text);
}

/* ---- A command that is kept in the foreground ---- */

/*
 * Arguments: $1 the base, $2 the command, $3 whether the input is needed; the script adds $4 the
 * directory, $5 the umask and, at the end, $6 the exit code. The script sets no variables: one that
 * came with the environment would reach the command with another value.
 *
 * The pipe gets its name once it has a reader, so a program that finds the pipe can write at once.
 * Only the loop that waits for words holds the pipe open for writing. The loop ends at an empty
 * word, not by a signal: should a TERM to all have ended it, its number may be another process's.
 * The keeper outlives that TERM, which its children get as well.
 */
static const char keep_text[] =
	"set -- \"$@\" \"${1%/*}\" \"$(umask)\"\n"
	"umask 077\n"
	"mkdir -p \"$4\" 2>/dev/null\n"
	"if ! mkfifo \"$1.ctl\" \"$1.new\" 2>/dev/null; then\n"
	"	umask \"$5\"\n"
	"	[ \"$3\" = must ] || exec /bin/sh -c \"$2\" </dev/null\n"
	"	echo \"sandboxctl: no named pipe can be made in $4 of the sandbox, so input can "
	"come from a file only\" >&2\n"
	"	exit 125\n"
	"fi\n"
	"find \"$4\" -maxdepth 1 -name '" STAGED_FED "*' -mtime +6 -exec rm -f {} + 2>/dev/null\n"
	"exec 3<>\"$1.ctl\" 4<>\"$1.new\" 5<\"$1.new\" 8>&1 9>&2 >/dev/null 2>&1\n"
	"mv \"$1.new\" \"$1.in\"\n"
	"(while read -r word <&3 && [ \"$word\" ]; do\n"
	"	[ \"$word\" != " INPUT_PIPE_EOF " ] || exec 4<&-\n"
	"done) 5<&- 8>&- 9>&- &\n"
	"exec 4<&-\n"
	"trap : HUP INT TERM\n"
	"(umask \"$5\"; exec /bin/sh -c \"$2\") <&5 3<&- 5<&- >&8 2>&9 8>&- 9>&-\n"
	"set -- \"$@\" \"$?\"\n"
	"echo >&3\n"
	"rm -f \"$1.ctl\" \"$1.in\"\n"
	"exit \"$6\"\n";

enum err input_pipe_base(char out[INPUT_PIPE_BASE_SIZE], const char *staging, struct error *e)
{
	uint64_t name[2];
	int len;

	if (getrandom(name, sizeof name, 0) != sizeof name)
		return error_errno(e, errno, "getrandom");
	len = snprintf(out, INPUT_PIPE_BASE_SIZE, "%s/" STAGED_FED "%016llx%016llx", staging,
		(unsigned long long)name[0], (unsigned long long)name[1]);
	return len < INPUT_PIPE_BASE_SIZE
		? ERR_OK
		: error_set(e, ERR_TOO_LARGE, "%.60s...: too long a name", staging);
}

void input_pipe_command(struct buf *out, const char *base, const char *command, bool is_optional)
{
	const char *need = is_optional ? "may" : "must";

	add_arguments(out, base, (const char *const[]){ command, need, NULL });
	buf_add_string(out, keep_text);
}
