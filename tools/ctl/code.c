#include "tools/ctl/code.h"

#include "providers/base/cleanup.h"
#include "providers/shell_quote.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define PIECE 65536

const char code_languages[] = "python|node|shell";

/*
 * The programs that run the language, of which the first one found is used, and the option before
 * the code.
 */
static const struct language {
	const char *name, *title, *programs, *option;
	const char *end; /* the word before the code's own arguments */
} languages[] = {
	{ "python", "Python", "python3 python", "-c", "" },
	{ "node", "Node.js", "node nodejs", "-e", " --" },
};

static const struct language *find(const char *name)
{
	for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
		if (!strcmp(languages[i].name, name))
			return &languages[i];
	return NULL;
}

static void add_arguments(struct buf *out, char *const *arguments, size_t count)
{
	for (size_t i = 0; i < count; i++)
		shell_argument(out, arguments[i]);
	buf_add_byte(out, '\n');
}

/* The shell runs the text itself. */
static void add_shell(struct buf *out, const struct buf *code, char *const *arguments, size_t count)
{
	buf_add_string(out, "set --");
	add_arguments(out, arguments, count);
	buf_add(out, code->bytes, code->len);
}

static void add_program(struct buf *out, const struct language *l, const struct buf *code,
	char *const *arguments, size_t count)
{
	buf_printf(out,
		"for program in %s; do\n"
		"command -v \"$program\" >/dev/null 2>&1 && exec \"$program\" %s",
		l->programs, l->option);
	shell_argument(out, buf_text(code));
	buf_add_string(out, l->end);
	add_arguments(out, arguments, count);
	buf_printf(out,
		"done\n"
		"echo 'sandboxctl: the sandbox has no %s: %s are not in its PATH' >&2\n"
		"exit 127\n",
		l->title, l->programs);
}

enum err code_command(struct buf *out, const char *language, const struct buf *code,
	char *const *arguments, size_t count, struct error *e)
{
	const struct language *l = find(language);

	if (!l && strcmp(language, "shell") != 0)
		return error_set(e, ERR_INVALID, "option '--lang=%.60s': use one of %s", language,
			code_languages);
	if (code->len > CODE_MAX)
		return error_set(e, ERR_TOO_LARGE,
			"the code has more than %zu bytes; push it as a file and run that",
			CODE_MAX);
	if (memchr(code->bytes ? code->bytes : (unsigned char *)"", 0, code->len))
		return error_set(e, ERR_INVALID, "the code has a NUL byte: is it text?");
	if (l)
		add_program(out, l, code, arguments, count);
	else
		add_shell(out, code, arguments, count);
	return buf_check(out, "the command", e);
}

enum err code_read(struct buf *out, const char *file, const struct call *call, struct error *e)
{
	const struct call patient = { .progress_ms = -1, .cancel = call ? call->cancel : NULL };
	bool is_stdin = !strcmp(file, "-");
	AUTO_CLOSE int opened = is_stdin ? -1 : open(file, O_RDONLY | O_CLOEXEC);
	int fd = is_stdin ? STDIN_FILENO : opened;
	ssize_t n;

	if (fd < 0)
		return error_errno(e, errno, "--file %s", file);
	do {
		unsigned char *room = buf_reserve(out, PIECE);

		if (!room)
			return buf_check(out, "the code", e);
		enum err kind = call_wait_fd(&patient, fd, POLLIN, e);

		if (kind)
			return kind;
		n = read(fd, room, PIECE);
		if (n < 0 && errno != EINTR)
			return error_errno(e, errno, "%s", is_stdin ? "standard input" : file);
		buf_filled(out, n > 0 ? (size_t)n : 0);
	} while (n);
	return ERR_OK;
}
