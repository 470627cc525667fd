#include "tools/setup_script.h"

#include "providers/base/cleanup.h"
#include "providers/base/utf8.h"
#include "tools/patience.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* No script that a person writes is larger; each name can become as long as the environment. */
#define SCRIPT_MAX   ((size_t)1024 * 1024)
#define EXPANDED_MAX ((size_t)16 * 1024 * 1024)
#define PIECE        65536

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

/* Where there is no bash, as in Alpine's images, sh has to do. The traps remove the file whoever ends it. */
static const char command[] =
	"umask 077 && script=$(mktemp) || exit 1\n"
	"trap 'rm -f \"$script\"' EXIT\n"
	"trap 'exit 143' HUP INT TERM\n"
	"cat >\"$script\" || exit 1\n"
	"umask 022\n"
	"if command -v bash >/dev/null 2>&1; then shell=bash; else shell=sh; fi\n"
	"\"$shell\" \"$script\" </dev/null\n";

/* ---- The text ---- */

static size_t name_len(const char *text)
{
	return strspn(text, LETTERS) ? strspn(text, LETTERS "0123456789") : 0;
}

/* What stands at a '$': how long it is, and what it becomes. */
struct place {
	size_t len;
	char *value; /* NULL: it stays */
};

static char *value_of(const char *name, size_t len)
{
	AUTO_FREE char *copy = strndup(name, len);
	const char *value = copy ? getenv(copy) : NULL;

	return value ? strdup(value) : NULL;
}

static struct place read_place(const char *dollar)
{
	bool is_braced = dollar[1] == '{';
	const char *name = dollar + 1 + is_braced;
	size_t len = name_len(name);

	if (dollar[1] == '$')
		return (struct place){ 2, strdup("$") };
	if (!len || (is_braced && name[len] != '}'))
		return (struct place){ 1, NULL };
	return (struct place){ 1 + len + 2 * is_braced, value_of(name, len) };
}

void setup_expand(const char *text, size_t len, struct buf *out)
{
	const char *end = text + len, *dollar;

	for (; (dollar = memchr(text, '$', (size_t)(end - text))); text = dollar) {
		struct place place = read_place(dollar);

		buf_add(out, text, (size_t)(dollar - text));
		if (place.value)
			buf_add_string(out, place.value);
		else
			buf_add(out, dollar, place.len);
		free(place.value);
		dollar += place.len;
	}
	buf_add(out, text, (size_t)(end - text));
}

static enum err read_file(const char *path, struct buf *out, struct error *e)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return error_errno(e, errno, "setup script %s", path);
	do {
		unsigned char *room = buf_reserve(out, PIECE);

		if (!room)
			return error_set(e, ERR_TOO_LARGE, "setup script %s: more than %zu bytes",
				path, SCRIPT_MAX);
		n = read(fd, room, PIECE);
		if (n < 0)
			return error_errno(e, errno, "setup script %s", path);
		buf_filled(out, (size_t)n);
	} while (n);
	if (!utf8_valid(out->bytes, out->len) || memchr(out->bytes, 0, out->len))
		return error_set(e, ERR_INVALID, "setup script %s: is no text of UTF-8", path);
	return ERR_OK;
}

enum err setup_read(struct setup *s, const char *path, struct error *e)
{
	AUTO_BUF struct buf file = BUF_INIT(SCRIPT_MAX + PIECE);
	enum err kind;

	*s = (struct setup){ .path = path, .text = BUF_INIT(EXPANDED_MAX) };
	kind = read_file(path, &file, e);
	if (kind)
		return kind;
	setup_expand(buf_text(&file), file.len, &s->text);
	return buf_check(&s->text, "the expanded setup script", e);
}

/* It may hold keys. */
void setup_release(struct setup *s)
{
	if (s->text.bytes)
		explicit_bzero(s->text.bytes, s->text.len);
	buf_release(&s->text);
}

/* ---- Running it ---- */

/* Standard output is for the id of the sandbox. */
static enum err show(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)context, (void)stream;
	if (fwrite(bytes, 1, len, stderr) == len)
		return ERR_OK;
	return error_errno(e, errno, "standard error");
}

static enum err judge(const struct setup *s, const struct execute_result *result,
	int64_t timeout_ms, struct error *e)
{
	if (result->timed_out)
		return error_set(e, ERR_TIMEOUT,
			"setup script %s: not done after %g s; --setup-timeout gives it more",
			s->path, (double)timeout_ms / 1000);
	if (!result->has_exit_code)
		return error_set(e, ERR_IO, "setup script %s: how it ended could not be determined",
			s->path);
	if (result->exit_code)
		return error_set(
			e, ERR_IO, "setup script %s: exit status %d", s->path, result->exit_code);
	return ERR_OK;
}

enum err setup_run(const struct setup *s, struct provider *p, const struct call *call,
	int64_t timeout_ms, struct error *e)
{
	const struct call patient = patience_for_command(p, call);
	const struct execute_request request = { .command = command,
		.timeout_ms = timeout_ms,
		.input = s->text.len ? s->text.bytes : NULL,
		.input_len = s->text.len };
	struct execute_result result = { 0 };
	enum err kind = provider_execute(p, &patient, &request, show, NULL, &result, e);

	return kind ? kind : judge(s, &result, timeout_ms, e);
}
