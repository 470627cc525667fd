#include "providers/input_pipe.h"

#include "providers/shell_script.h"

/* Opened both ways first, it lets nobody wait; then for writing alone, so that it breaks where nobody reads. */
static const char feed_text[] = "[ -p \"$base.in\" ] || exit 3\n"
				"exec 5<>\"$base.in\" 6>\"$base.in\" 5<&-\n"
				"cat >&6\n";

static const char tell_text[] = "[ -p \"$base.ctl\" ] || exit 3\n"
				"exec 5<>\"$base.ctl\" 6>\"$base.ctl\" 5<&-\n"
				"echo \"$2\" >&6\n";
_Static_assert(INPUT_PIPE_GONE == 3, "the scripts name it");

void input_pipe_begin(struct buf *out, const char *base, const char *const *others)
{
	buf_add_string(out, "set --");
	script_quote(out, base);
	for (; *others; others++)
		script_quote(out, *others);
	buf_add_string(out, "\nbase=$1\n");
}

void input_pipe_feed(struct buf *out, const char *base)
{
	input_pipe_begin(out, base, (const char *const[]){ NULL });
	buf_add_string(out, feed_text);
}

void input_pipe_tell(struct buf *out, const char *base, const char *word)
{
	input_pipe_begin(out, base, (const char *const[]){ word, NULL });
	buf_add_string(out, tell_text);
}
