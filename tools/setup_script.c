#include "tools/setup_script.h"

#include "providers/base/cleanup.h"
#include "providers/base/utf8.h"
#include "providers/variables.h"
#include "tools/dotenv.h"
#include "tools/option_values.h"
#include "tools/say.h"
#include "tools/setup_names.h"
#include "tools/shown_run.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* No script that a person writes is larger; each name can become as long as the environment. */
#define SCRIPT_MAX   ((size_t)1024 * 1024)
#define EXPANDED_MAX ((size_t)16 * 1024 * 1024)
#define PIECE        65536

/*
 * Without bash, as in Alpine's images, sh is used. In an interpreter's line all behind the first
 * blank is one word, as in execve(2). The traps remove the file when the script ends, or is ended
 * by a signal that can be caught.
 */
static const char command[] =
	"umask 077 && script=$(mktemp) || exit 1\n"
	"trap 'rm -f \"$script\"' EXIT\n"
	"trap 'exit 143' HUP INT TERM\n"
	"cat >\"$script\" || exit 1\n"
	"umask 022\n"
	"IFS=' \t' read -r shell word <\"$script\"\n"
	"case $shell in\n"
	"'#!') shell=${word%%[ \t]*}; word=${word#\"$shell\"}; word=${word#\"${word%%[! \t]*}\"} "
	";;\n"
	"'#!'*) shell=${shell#??} ;;\n"
	"*) shell=; word= ;;\n"
	"esac\n"
	"if [ -n \"$shell\" ]; then :; elif command -v bash >/dev/null 2>&1; then shell=bash; else "
	"shell=sh; fi\n"
	"\"$shell\" ${word:+\"$word\"} \"$script\" </dev/null\n";

void setup_request_release(struct setup_request *r)
{
	free(r->path);
	free(r->names);
}

/* ---- Files ---- */

static enum err read_all(int fd, const char *what, size_t max, struct buf *out, struct error *e)
{
	ssize_t n;

	do {
		unsigned char *room = buf_reserve(out, PIECE);

		if (!room)
			return error_set(e, ERR_TOO_LARGE, "%s: more than %zu bytes", what, max);
		n = read(fd, room, PIECE);
		if (n < 0)
			return error_errno(e, errno, "%s", what);
		buf_filled(out, (size_t)n);
	} while (n);
	if (!utf8_valid(out->bytes, out->len) || memchr(out->bytes, 0, out->len))
		return error_set(e, ERR_INVALID, "%s: is no text of UTF-8", what);
	return ERR_OK;
}

static enum err read_script(const char *path, struct buf *out, struct error *e)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *what = NULL;

	if (fd < 0)
		return error_errno(e, errno, "setup script %s", path);
	if (asprintf(&what, "setup script %s", path) < 0) {
		what = NULL;
		return error_set(e, ERR_NO_MEMORY, "setup script %s", path);
	}
	return read_all(fd, what, SCRIPT_MAX, out, e);
}

/*
 * The file .env in the script's directory. A directory of that name, as some use for Python, does
 * not count.
 */
static char *dotenv_path(const char *script)
{
	const char *slash = strrchr(script, '/');
	char *path;

	if (asprintf(&path, "%.*s.env", slash ? (int)(slash + 1 - script) : 0, script) < 0)
		return NULL;
	return path;
}

static enum err read_dotenv(const char *path, char ***list, struct error *e)
{
	AUTO_BUF struct buf text = BUF_INIT(DOTENV_MAX + PIECE);
	AUTO_CLOSE int fd = -1;
	struct stat st;
	enum err kind;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return ERR_OK;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st))
		return error_errno(e, errno, "%s, beside the setup script", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return error_set(e, ERR_DENIED,
			"%s, beside the setup script, belongs to another user; move the script, or "
			"--setup-env none",
			path);
	kind = read_all(fd, path, DOTENV_MAX, &text, e);
	if (!kind)
		kind = dotenv_parse(path, buf_text(&text), list, e);
	if (text.bytes)
		explicit_bzero(text.bytes, text.len);
	return kind;
}

/* ---- Values ---- */

/* The values that names of the script may get. */
struct expansion {
	const char *asked;     /* as in struct setup_request */
	char *file;            /* the path of .env */
	char **variables;      /* from that file */
	struct path_set given; /* names to which the script gives a value */
	struct path_set done;  /* names that were replaced */
	struct setup *setup;
};

static void end_expansion(struct expansion *x)
{
	for (char **one = x->variables; one && *one; one++)
		explicit_bzero(*one, strlen(*one));
	option_list_free(x->variables);
	path_set_release(&x->given);
	path_set_release(&x->done);
	free(x->file);
}

/* Includes keys that were taken out of the environment. */
static const char *value_of_environment(const char *name)
{
	const struct variable *v;

	for (size_t i = 0; (v = variable_at(i)); i++)
		if (!strcmp(v->name, name))
			return variable_value(v);
	return getenv(name);
}

/* The last line of .env that gives a value counts, and the environment before the file. */
static const char *value_here(const struct expansion *x, const char *name)
{
	const char *value = value_of_environment(name);
	size_t len = strlen(name);

	if (value)
		return value;
	for (char **one = x->variables; one && *one; one++)
		if (!strncmp(*one, name, len) && (*one)[len] == '=')
			value = *one + len + 1;
	return value;
}

/* The next name of a list; NULL: no more. */
static const char *next_name(const char *list, size_t *len)
{
	list += strspn(list, ",: ");
	*len = strcspn(list, ",: ");
	return *len ? list : NULL;
}

static bool is_asked(const struct expansion *x, const char *name)
{
	size_t len;

	for (const char *one = x->asked; (one = next_name(one, &len)); one += len)
		if (strlen(name) == len && !memcmp(one, name, len))
			return true;
	return false;
}

static bool is_replaced(const struct expansion *x, const char *name)
{
	if (x->asked)
		return is_asked(x, name);
	return !setup_name_is_of_machine(name) && !path_set_has(&x->given, name);
}

static enum err check_name(const struct expansion *x, const char *name, struct error *e)
{
	if (setup_name_len(name) != strlen(name))
		return error_set(e, ERR_INVALID,
			"setup script %s: '%.60s' is no name of a variable; give names with ',' "
			"between, or none",
			x->setup->request->path, name);
	if (!value_here(x, name))
		return error_set(e, ERR_INVALID,
			"setup script %s: %.60s is to be replaced, but is set neither here nor in "
			"%s",
			x->setup->request->path, name, x->file);
	return ERR_OK;
}

static enum err check_asked(const struct expansion *x, struct error *e)
{
	enum err kind = ERR_OK;
	size_t len;

	if (!x->asked)
		return ERR_OK;
	for (const char *one = x->asked; !kind && (one = next_name(one, &len)); one += len) {
		AUTO_FREE char *name = strndup(one, len);

		kind = name ? check_name(x, name, e) : error_set(e, ERR_NO_MEMORY, "setup script");
	}
	return kind;
}

/* ---- The text ---- */

static enum err note_replaced(
	struct expansion *x, const char *name, const char *value, struct error *e)
{
	struct buf *names = &x->setup->names;

	if (path_set_has(&x->done, name))
		return ERR_OK;
	if (!path_set_put(&x->done, name))
		return error_set(e, ERR_NO_MEMORY, "setup script");
	buf_printf(names, "%s%s", names->len ? ", " : "", name);
	return option_set_word(NULL, value, &x->setup->values, e);
}

/* The reference at `dollar`, of *len bytes; *value NULL: the reference stays. */
static enum err expand_one(
	struct expansion *x, const char *dollar, size_t *len, const char **value, struct error *e)
{
	bool is_braced = dollar[1] == '{';
	size_t name_len = setup_name_len(dollar + 1 + is_braced);
	AUTO_FREE char *name = strndup(dollar + 1 + is_braced, name_len);

	*len = 1;
	*value = NULL;
	if (!name)
		return error_set(e, ERR_NO_MEMORY, "setup script");
	if (dollar[1] == '$') {
		*len = 2;
		*value = "$";
		return ERR_OK;
	}
	if (!name_len || (is_braced && dollar[2 + name_len] != '}'))
		return ERR_OK;
	*len = 1 + name_len + 2 * is_braced;
	*value = is_replaced(x, name) ? value_here(x, name) : NULL;
	return *value ? note_replaced(x, name, *value, e) : ERR_OK;
}

static enum err expand(struct expansion *x, const char *text, struct error *e)
{
	struct buf *out = &x->setup->text;
	enum err kind = ERR_OK;
	const char *dollar, *value;
	size_t len;

	for (; !kind && (dollar = strchr(text, '$')); text = dollar + len) {
		kind = expand_one(x, dollar, &len, &value, e);
		buf_add(out, text, (size_t)(dollar - text));
		buf_add(out, value ? value : dollar, value ? strlen(value) : len);
	}
	buf_add_string(out, text);
	return kind ? kind : buf_check(out, "the expanded setup script", e);
}

static enum err fill_in(struct setup *s, const char *text, struct error *e)
{
	struct expansion x = { .asked = s->request->names, .setup = s };
	enum err kind = ERR_OK;

	x.file = dotenv_path(s->request->path);
	if (!x.file)
		kind = error_set(e, ERR_NO_MEMORY, "setup script");
	if (!kind)
		kind = read_dotenv(x.file, &x.variables, e);
	if (!kind)
		kind = check_asked(&x, e);
	if (!kind)
		kind = setup_names_given(text, &x.given, e);
	if (!kind)
		kind = expand(&x, text, e);
	end_expansion(&x);
	return kind;
}

enum err setup_read(struct setup *s, const struct setup_request *request, struct error *e)
{
	AUTO_BUF struct buf file = BUF_INIT(SCRIPT_MAX + PIECE);
	enum err kind;

	*s = (struct setup){
		.request = request, .text = BUF_INIT(EXPANDED_MAX), .names = BUF_INIT(SCRIPT_MAX)
	};
	kind = read_script(request->path, &file, e);
	if (kind)
		return kind;
	if (!request->names || strcmp(request->names, "none"))
		return fill_in(s, buf_text(&file), e);
	buf_add(&s->text, file.bytes, file.len);
	return buf_check(&s->text, "the setup script", e);
}

void setup_release(struct setup *s)
{
	if (s->text.bytes)
		explicit_bzero(s->text.bytes, s->text.len);
	buf_release(&s->text);
	buf_release(&s->names);
	for (char **one = s->values; one && *one; one++)
		explicit_bzero(*one, strlen(*one));
	option_list_free(s->values);
	s->values = NULL;
}

void setup_tell(const struct setup *s, const char *program)
{
	if (s->names.len && isatty(STDERR_FILENO))
		say(stderr, "%s: setup script %s: replaced by what they are here: %s", program,
			s->request->path, buf_text(&s->names));
}

/* ---- Running it ---- */

static enum err run(
	const struct setup *s, struct provider *p, const struct call *call, struct error *e)
{
	AUTO_FREE char *what = NULL;

	if (asprintf(&what, "setup script %s", s->request->path) < 0) {
		what = NULL;
		return error_set(e, ERR_NO_MEMORY, "setup script %s", s->request->path);
	}
	return shown_run(p, call,
		&(struct shown_command){ .what = what,
			.way_out = "--setup-timeout, or -o setup_timeout=, gives it more",
			.command = command,
			.input = &s->text,
			.timeout_ms = s->request->timeout_ms,
			.secrets = (const char *const *)s->values },
		e);
}

enum err setup_run(const struct setup *s, const struct provider_ops *ops,
	const struct provider_config *cfg, const struct call *call, struct error *e)
{
	struct provider *p = NULL;
	enum err kind = provider_connect(ops, cfg, call, &p, e);

	if (!kind)
		kind = run(s, p, call, e);
	provider_release(p);
	return kind;
}
