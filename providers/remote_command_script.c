/*
 * A command without the helper program: one script that lasts as long as the command and tells its output once a second.
 *
 * What it tells are lines that begin with the marker, and base64 between them, so that both streams and every byte get
 * through a transport of text that has one stream. A command that is too long for an argument, and input, are uploaded
 * before.
 */
#include "providers/base/base64.h"
#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/remote_command_inside.h"
#include "providers/shell_script.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* What a file has beside the command, and what names it: paths in quotes. */
#define TEXT_EXTRA ((size_t)8 * PATH_LENGTH_MAX)
/* From TERM to KILL. */
#define GRACE_MS 5000

/* ---- The script ---- */

/*
 * $1 the directory to run in, $2 the marker, $3 the command, $4 its time limit in seconds or nothing, $5 a file with its
 * input or nothing, $6 the script that sends signals (reaper.h), $7 staging, the rest its environment. Files lose their names before
 * the command runs, and are read on by descriptors 7 and 8. What sends the signals has no marker in its environment; it
 * ends with 3 when it had to.
 */
static const char script_text[] =
	"dir=$1 marker=$2 text=$3 limit=$4 input=$5 signals=$6 base=$7/command-$2\n"
	"shift 7\n"
	"tell() {\n"
	"	printf '%s' \"$marker\"\n"
	"	printf ' %s' \"$@\"\n"
	"	echo\n"
	"}\n"
	"umask 077\n"
	"command -v base64 >/dev/null || { tell lacks; exit 0; }\n"
	"exec 5>\"$base-out\" 6>\"$base-err\" 7<\"$base-out\" 8<\"$base-err\"\n"
	"rm -f \"$base-out\" \"$base-err\"\n"
	"exec 4<\"${input:-/dev/null}\"\n"
	"[ -z \"$input\" ] || rm -f \"$input\"\n"
	"cd -- \"$dir\" 2>/dev/null || { tell nowhere; exit 0; }\n"
	"unset OLDPWD\n"
	"umask 022\n"

	"all() {\n"
	"	/bin/sh -c \"$signals\" sh \"$1\" \"$marker\" \"$2\"\n"
	"}\n"
	/* The command's shell may end before the time is up; what else it started then has the rest of it. */
	"nap() {\n"
	"	sleep \"$1\" &\n"
	"	nap=$!\n"
	"	wait \"$nap\"\n"
	"}\n"
	"guard() {\n"
	"	trap 'kill \"$nap\"; exit 0' TERM\n"
	"	nap \"$limit\"\n"
	"	early=\n"
	"	trap 'kill \"$nap\"; early=yes' TERM\n"
	"	all TERM 1\n"
	"	[ \"$early\" ] || nap 5\n"
	"	[ \"$(all 0 1)\" ] || exit 3\n"
	"	[ -z \"$early\" ] || sleep 4\n"
	"	all KILL 10\n"
	"	exit 3\n"
	"}\n"
	"guard=\n"
	"[ -z \"$limit\" ] || { guard >/dev/null 2>&1 4<&- 5>&- 6>&- 7<&- 8<&- & guard=$!; }\n"
	/* What is new; a base64 that has begun is never interrupted. */
	"dump() {\n"
	"	tell out\n"
	"	base64 <&7\n"
	"	tell err\n"
	"	base64 <&8\n"
	"}\n"
	"pump() {\n"
	"	over=\n"
	"	trap over=yes TERM\n"
	"	while [ -z \"$over\" ] && kill -0 $$; do\n"
	"		sleep 1 >/dev/null &\n"
	"		wait $!\n"
	"		dump\n"
	"	done 2>/dev/null\n"
	"}\n"
	"pump 4<&- 5>&- 6>&- &\n"
	"pump=$!\n"
	"env " MARKER_NAME "=\"$marker\" \"$@\" /bin/sh -c \"$text\" "
	"<&4 >&5 2>&6 4<&- 5>&- 6>&- 7<&- 8<&-\n"
	"code=$?\n"
	"late=0\n"
	"[ -z \"$guard\" ] || { kill \"$guard\"; wait \"$guard\"; late=$?; } 2>/dev/null\n"
	"{ kill \"$pump\"; wait \"$pump\"; } 2>/dev/null\n"
	"dump\n"
	"tell end \"$code\" \"$late\"\n";

/* ---- What it tells ---- */

/* The lines of base64 are short; others come from who knows whom. */
#define LINE_MAX_LEN ((size_t)64 * 1024)
/* Passed on in pieces of about this size. */
#define PIECE_ENOUGH ((size_t)64 * 1024)

struct telling {
	struct remote_run *run;
	struct buf line;    /* not yet whole */
	struct buf output;  /* of the stream, not yet passed on */
	enum stream stream; /* 0: what comes is not the script's */
	bool has_end, is_nowhere, lacks_base64;
	int code, late;
};

static enum err pass_on(struct telling *t, struct error *e)
{
	enum err kind = ERR_OK;

	if (t->output.len)
		kind = remote_run_output(t->run, t->stream, t->output.bytes, t->output.len, e);
	buf_reset(&t->output);
	return kind;
}

static enum err take_word(struct telling *t, const char *word, struct error *e)
{
	enum err kind = pass_on(t, e);

	t->stream = strcmp(word, "out") == 0 ? STREAM_OUT
		: strcmp(word, "err") == 0   ? STREAM_ERR
					     : 0;
	t->is_nowhere |= strcmp(word, "nowhere") == 0;
	t->lacks_base64 |= strcmp(word, "lacks") == 0;
	t->has_end |= sscanf(word, "end %d %d", &t->code, &t->late) == 2;
	return kind;
}

static enum err take_line(struct telling *t, struct error *e)
{
	const char *line = buf_text(&t->line);
	size_t marker_len = strlen(t->run->marker);
	enum err kind;

	if (strncmp(line, t->run->marker, marker_len) == 0 && line[marker_len] == ' ')
		return take_word(t, line + marker_len + 1, e);
	if (!t->stream)
		return ERR_OK;
	kind = base64_decode(&t->output, line, t->line.len, e);
	return kind == ERR_OK && t->output.len >= PIECE_ENOUGH ? pass_on(t, e) : kind;
}

static enum err take_text(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct telling *t = context;
	const char *text = bytes;
	enum err kind = ERR_OK;

	if (stream != STREAM_OUT)
		return ERR_OK;
	while (len && kind == ERR_OK) {
		const char *newline = memchr(text, '\n', len);
		size_t part = newline ? (size_t)(newline - text) : len;

		if (!buf_add(&t->line, text, part))
			return buf_check(&t->line, "a line of a command's output", e);
		part += newline != NULL;
		if (newline) {
			/* A terminal's line ends have two characters. */
			if (t->line.len && t->line.bytes[t->line.len - 1] == '\r')
				t->line.bytes[--t->line.len] = 0;
			kind = take_line(t, e);
			buf_reset(&t->line);
		}
		text += part;
		len -= part;
	}
	return kind;
}

static enum err judge(const struct telling *t, struct error *e)
{
	struct execute_result *result = t->run->result;

	result->may_have_run = !t->is_nowhere && !t->lacks_base64;
	if (t->is_nowhere)
		return error_set(e, ERR_NOT_FOUND, "%s: no such directory to run in", t->run->cwd);
	if (t->lacks_base64)
		return error_set(e, ERR_UNSUPPORTED,
			"without the helper program commands need base64 in the sandbox");
	if (!t->has_end)
		return error_set(e, ERR_UNREACHABLE, "the output of the command was cut off");
	result->has_exit_code = true;
	result->timed_out = t->late == 3;
	result->exit_code = result->timed_out ? 124 : t->code;
	return ERR_OK;
}

/* ---- What it is given ---- */

struct script_run {
	const struct remote *r;
	char *dir, *input, *file; /* owned */
	struct buf text;          /* of the command */
	const char **argv;
	char limit[32];
};

static void script_run_release(struct script_run *s)
{
	free(s->dir);
	free(s->input);
	free(s->file);
	free(s->argv);
	buf_release(&s->text);
}
#define AUTO_SCRIPT_RUN __attribute__((cleanup(script_run_release)))

static enum err no_memory(struct error *e)
{
	return error_set(e, ERR_NO_MEMORY, "a command");
}

static enum err find_dir(struct script_run *s, const struct remote_run *run, struct error *e)
{
	/* "/" has its slash already. */
	const char *slash = *run->cwd && s->r->root[1] ? "/" : "";

	if (asprintf(&s->dir, "%s%s%s", s->r->root, slash, run->cwd) >= 0)
		return ERR_OK;
	s->dir = NULL;
	return no_memory(e);
}

/* A file of staging, "command-MARKER-WHAT". */
static enum err find_path(struct script_run *s, const struct remote_run *run, const char *what,
	char **path, struct error *e)
{
	if (asprintf(path, "%s/command-%s-%s", s->r->staging, run->marker, what) >= 0)
		return ERR_OK;
	*path = NULL;
	return no_memory(e);
}

static enum err upload(struct script_run *s, const struct call *call, const char *path,
	const void *bytes, size_t len, struct error *e)
{
	const struct remote_upload file = { path, bytes, len };

	return s->r->ops.upload(s->r->ops.context, call, &file, e);
}

static enum err upload_input(struct script_run *s, const struct remote_run *run,
	const struct call *call, struct error *e)
{
	enum err kind = find_path(s, run, "in", &s->input, e);

	if (kind != ERR_OK)
		return kind;
	return upload(s, call, s->input, run->request->input, run->request->input_len, e);
}

/* The file loses its name first: the shell has it open. */
static enum err upload_text(struct script_run *s, const struct remote_run *run,
	const struct call *call, struct error *e)
{
	AUTO_BUF struct buf file = BUF_INIT(strlen(run->request->command) + TEXT_EXTRA);
	enum err kind = find_path(s, run, "text", &s->file, e);

	if (kind != ERR_OK)
		return kind;
	buf_add_string(&file, "rm -f --");
	script_quote(&file, s->file);
	buf_add_byte(&file, '\n');
	buf_add_string(&file, run->request->command);
	kind = buf_check(&file, "a command", e);
	if (kind == ERR_OK)
		kind = upload(s, call, s->file, file.bytes, file.len, e);
	buf_add_byte(&s->text, '.');
	script_quote(&s->text, s->file);
	return kind == ERR_OK ? buf_check(&s->text, "a command", e) : kind;
}

static enum err make_argv(struct script_run *s, const struct remote_run *run, struct error *e)
{
	const char *signals[REAPER_ARGC];
	const int64_t limit_ms = run->request->timeout_ms;
	const char *const *env = run->request->env;
	size_t count = 0, at = 0;

	while (env && env[count])
		count++;
	s->argv = calloc(count + 12, sizeof *s->argv);
	if (!s->argv)
		return no_memory(e);
	if (limit_ms > 0)
		snprintf(s->limit, sizeof s->limit, "%" PRId64 ".%03d", limit_ms / 1000,
			(int)(limit_ms % 1000));
	reaper_argv(signals, run->marker, SIGTERM);
	const char *const first[] = { "/bin/sh", "-c", script_text, "sandboxfs", s->dir,
		run->marker, s->file ? buf_text(&s->text) : run->request->command, s->limit,
		s->input ? s->input : "", signals[REAPER_SCRIPT], s->r->staging };

	for (; at < sizeof first / sizeof *first; at++)
		s->argv[at] = first[at];
	for (size_t i = 0; i < count; i++)
		s->argv[at++] = env[i];
	return ERR_OK;
}

static enum err prepare(struct script_run *s, const struct remote_run *run, const struct call *call,
	struct error *e)
{
	enum err kind = find_dir(s, run, e);

	if (kind == ERR_OK && run->request->input && run->request->input_len)
		kind = upload_input(s, run, call, e);
	if (kind == ERR_OK && strlen(run->request->command) >= s->r->ops.argument_max)
		kind = upload_text(s, run, call, e);
	return kind == ERR_OK ? make_argv(s, run, e) : kind;
}

/* Where all comes at the end, nothing comes as long as the command runs, and that has its own limit. */
static struct call patience(const struct remote_run *run, const struct call *call)
{
	struct call out = call ? *call : (struct call){ 0 };
	int64_t timeout_ms = run->request->timeout_ms, limit_ms = call_progress_ms(call);

	if (!run->r->ops.is_live)
		out.progress_ms =
			timeout_ms > 0 && limit_ms > 0 ? timeout_ms + GRACE_MS + limit_ms : -1;
	return out;
}

enum err remote_run_script(struct remote_run *run, const struct call *call, struct error *e)
{
	AUTO_SCRIPT_RUN struct script_run s = { .r = run->r, .text = BUF_INIT(TEXT_EXTRA) };
	struct telling t = {
		.run = run, .line = BUF_INIT(LINE_MAX_LEN), .output = BUF_INIT(2 * PIECE_ENOUGH)
	};
	const struct call inner = patience(run, call);
	enum err kind = prepare(&s, run, call, e);
	int exit_code;

	if (kind != ERR_OK)
		return kind;
	run->result->may_have_run = true;
	kind = run->r->ops.run(
		run->r->ops.context, &inner, s.argv, 0, NULL, take_text, &t, &exit_code, e);
	if (kind == ERR_OK)
		kind = judge(&t, e);
	buf_release(&t.line);
	buf_release(&t.output);
	return kind;
}
