#include "tools/ctl/command_line.h"

#include "providers/base/cleanup.h"
#include "providers/shell_quote.h"
#include "providers/user_session.h"
#include "tools/ctl/code.h"
#include "tools/ctl/command.h"

/* ---- The words ---- */

void command_line_release(struct command_line *line)
{
	free(line->dir);
	free(line->shell);
	free(line->language);
	free(line->file);
	free(line->session);
	option_list_free(line->env);
}

static enum err set_session(const struct opt *o, const char *value, void *field, struct error *e)
{
	if (!user_session_name_is_valid(value))
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': a name of letters, digits, '-', '_' and '.', as in "
			"%sbuild",
			o->name, value, o->name);
	return option_set_text(o, value, field, e);
}

error_t command_line_take(int key, const char *value, const struct argp_state *state)
{
	static const struct ctl_value values[] = {
		{ 'w', "--workdir=", "DIR", option_set_text, offsetof(struct command_line, dir) },
		{ 'e', "--env=", "NAME=VALUE", option_set_variable,
			offsetof(struct command_line, env) },
		{ COMMAND_LINE_SHELL, "--shell=", "SHELL", option_set_shell,
			offsetof(struct command_line, shell) },
		{ 'm', "--merge", NULL, option_set_flag, offsetof(struct command_line, merges) },
		{ COMMAND_LINE_LANG, "--lang=", code_languages, option_set_text,
			offsetof(struct command_line, language) },
		{ COMMAND_LINE_FILE, "--file=", "FILE", option_set_text,
			offsetof(struct command_line, file) },
		{ COMMAND_LINE_SESSION, "--session=", "NAME", set_session,
			offsetof(struct command_line, session) },
		{ 't', "--timeout=", "SECONDS", option_set_seconds,
			offsetof(struct command_line, timeout_ms) },
		{ 0 },
	};

	return ctl_take_value(values, key, value, state);
}

error_t command_line_take_words(struct command_line *line, struct argp_state *state)
{
	line->words = state->argv + state->next - 1;
	line->count = (size_t)(state->argc - state->next + 1);
	state->next = state->argc;
	return 0;
}

/* ---- The text ---- */

static void add_dir(struct buf *out, const char *dir)
{
	AUTO_BUF struct buf complaint = BUF_INIT(COMMAND_LINE_MAX);

	buf_printf(&complaint, "sandboxctl: %s: no such directory in the sandbox", dir);
	buf_add_string(out, "cd --");
	shell_argument(out, dir);
	buf_add_string(out, " 2>/dev/null || { printf '%s\\n'");
	shell_argument(out, buf_text(&complaint));
	buf_add_string(out, " >&2; exit 125; }\n");
}

bool command_line_is_empty(const struct command_line *line)
{
	return !line->count && !line->language;
}

/* The code is in a file, the first word, or standard input. */
static enum err add_code(
	const struct command_line *line, const struct call *call, struct buf *out, struct error *e)
{
	AUTO_BUF struct buf code = BUF_INIT(COMMAND_LINE_MAX);
	size_t taken = line->count && !line->file;
	enum err kind = ERR_OK;

	if (taken)
		buf_add_string(&code, line->words[0]);
	else
		kind = code_read(&code, line->file ? line->file : "-", call, e);
	return kind ? kind
		    : code_command(out, line->language, &code, line->words + taken,
			      line->count - taken, e);
}

enum err command_line_text(
	const struct command_line *line, const struct call *call, struct buf *out, struct error *e)
{
	if (line->file && !line->language)
		return error_set(e, ERR_INVALID, "--file goes with --lang=%s", code_languages);
	if (line->merges)
		buf_add_string(out, "exec 2>&1\n");
	if (line->session)
		user_session_begin(out, line->session, line->env);
	if (line->dir)
		add_dir(out, line->dir);
	if (line->language)
		return add_code(line, call, out, e);
	if (line->count == 1)
		buf_add_string(out, line->words[0]);
	for (size_t n = 0; line->count > 1 && n < line->count; n++)
		shell_argument(out, line->words[n]);
	return buf_check(out, "the command", e);
}
