#include "providers/daytona/shell_text.h"

#include "providers/remote/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum err shell_text_new_mark(char out[SHELL_TEXT_MARK_SIZE], struct error *e)
{
	uint64_t random;

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return error_errno(e, errno, "getrandom");
	snprintf(out, SHELL_TEXT_MARK_SIZE, "sandboxfs-%016" PRIx64, random);
	return ERR_OK;
}

bool shell_text_make(struct buf *out, const char *const *argv, const char *mark)
{
	buf_printf(out, "{\nprintf '%%s\\n' %s\nexec 3>&1\nerrors=$({ ", mark);
	remote_text_add(out, argv);
	buf_printf(out,
		" </dev/null 3>&-; } 2>&1 >&3)\ncode=$?\nprintf '\\n%%s\\n%%s' %s \"$errors\"\n"
		"exit $code\n}\n",
		mark);
	return !out->failed;
}

/* The text behind the next line with the mark; NULL: no such line. */
static const char *behind_mark(const char *from, const char *end, const char *line)
{
	const char *found = memmem(from, (size_t)(end - from), line, strlen(line));

	return found ? found + strlen(line) : NULL;
}

bool shell_text_split(const struct shell_text_piece *all, const char *mark,
	struct shell_text_piece *out, struct shell_text_piece *err)
{
	char line[SHELL_TEXT_MARK_SIZE + 3];
	const char *end = all->text + all->len, *begin, *second;

	snprintf(line, sizeof line, "\n%s\n", mark);
	/* The first mark may be at the very beginning, without a newline before it. */
	begin = behind_mark(all->text, end, line + 1);
	second = begin ? behind_mark(begin, end, line) : NULL;
	if (!second)
		return false;
	*out = (struct shell_text_piece){ begin, (size_t)(second - begin) - strlen(line) };
	*err = (struct shell_text_piece){ second, (size_t)(end - second) };
	return true;
}
