#include "providers/shell_script.h"

#include "providers/base/cleanup.h"
#include "providers/base/hex.h"
#include "providers/base/path.h"
#include "providers/shell_functions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* The script of a batch, with its names and texts; and its contents. */
#define TEXT_MAX  ((size_t)128 * 1024 * 1024)
#define INPUT_MAX ((size_t)512 * 1024 * 1024)
/* Linux takes 128 KiB in one argument (MAX_ARG_STRLEN); quoting and vendors add their own. */
#define COMMAND_MAX ((size_t)96 * 1024)
/* A message: the names and attributes that one run of find's command got as arguments, or a file's own attributes. */
#define MESSAGE_MAX ((size_t)16 * 1024 * 1024)
/* What is kept of the script's standard error, for a person. */
#define COMPLAINT_MAX 512

/* ---- Building ---- */

static const char *const tools[] = { "chmod", "chown", "date", "dd", "fallocate", "find", "id",
	"link", "ln", "mkdir", "mknod", "mv", "readlink", "rm", "rmdir", "sleep", "stat", "sync",
	"touch", "truncate", "unlink" };

/* "busybox" of "busybox sh": the program that is every tool. */
static size_t multi_call_len(const char *shell)
{
	const char *space = strchr(shell, ' ');

	return space ? (size_t)(space - shell) : 0;
}

void script_tools(struct buf *out, const struct provider *p)
{
	int len = (int)multi_call_len(p->shell);

	for (size_t i = 0; len && i < sizeof tools / sizeof *tools; i++)
		buf_printf(out, "%s() { %.*s %s \"$@\"; }\n", tools[i], len, p->shell, tools[i]);
}

static void choose_word(char word[33])
{
	unsigned char bytes[16] = { 0 };

	/* A word that somebody guesses spoils nothing but his own answer. */
	if (getrandom(bytes, sizeof bytes, 0) < 0)
		memcpy(bytes, &(uint64_t){ (uint64_t)monotonic_ms() }, sizeof(uint64_t));
	hex_encode(word, bytes, sizeof bytes);
}

void script_init(struct script *s, const struct provider *p, const char *functions)
{
	*s = (struct script){
		.provider = p, .text = BUF_INIT(TEXT_MAX), .input = BUF_INIT(INPUT_MAX)
	};
	choose_word(s->word);
	script_tools(&s->text, p);
	buf_add_string(&s->text, shell_common_functions);
	buf_add_string(&s->text, functions);
	buf_printf(&s->text, "printf '%%s\\0' %s >&6\nhome", s->word);
	script_quote(&s->text, p->root);
	script_quote(&s->text, p->staging);
	buf_add_byte(&s->text, '\n');
}

void script_release(struct script *s)
{
	buf_release(&s->text);
	buf_release(&s->input);
}

/* In single quotes, where only the quote itself means anything. */
static void add_quoted(struct buf *out, const char *text, size_t len)
{
	const char *end = text + len;

	buf_add_byte(out, '\'');
	while (text < end) {
		const char *quote = memchr(text, '\'', (size_t)(end - text));

		buf_add(out, text, (size_t)((quote ? quote : end) - text));
		if (quote)
			buf_add_string(out, "'\\''");
		text = quote ? quote + 1 : end;
	}
	buf_add_byte(out, '\'');
}

void script_quote(struct buf *out, const char *argument)
{
	buf_add_byte(out, ' ');
	add_quoted(out, argument, strlen(argument));
}

void script_define(struct script *s, const char *name, const char *value)
{
	buf_printf(&s->text, "%s=", name);
	add_quoted(&s->text, value, strlen(value));
	buf_add_byte(&s->text, '\n');
}

static void add_dir(struct script *s, const char *base, const char *dir, size_t len)
{
	buf_printf(&s->text, " \"$%s\" ", base);
	add_quoted(&s->text, dir, len);
}

void script_place(struct script *s, const char *path)
{
	const char *name = path_name(path);

	if (path_is_staged(path))
		add_dir(s, "S", "", 0);
	else
		add_dir(s, "R", path, name > path ? (size_t)(name - path - 1) : 0);
	buf_add_string(&s->text, *name ? " ./" : " .");
	add_quoted(&s->text, name, strlen(name));
}

void script_dir(struct script *s, const char *path)
{
	add_dir(s, "R", path, strlen(path));
}

void script_expect(struct script *s, const struct expect *x)
{
	if (!x->dev && !x->ino && !x->btime_ns)
		buf_add_string(&s->text, " ''");
	else if (!x->btime_ns)
		buf_printf(&s->text, " '%" PRIu64 " %" PRIu64 " -'", x->dev, x->ino);
	else
		buf_printf(&s->text, " '%" PRIu64 " %" PRIu64 " %" PRIu64 ".%09" PRIu64 "'", x->dev,
			x->ino, x->btime_ns / 1000000000, x->btime_ns % 1000000000);
}

/* ---- Running ---- */

static bool is_plain_sh(const struct provider *p)
{
	return !strcmp(p->shell, "sh") || !strcmp(p->shell, "/bin/sh");
}

/* Too long for an argument: a small script reads it from standard input, where the contents follow. */
static void add_loader(struct buf *command, const struct script *s)
{
	const char *shell = s->provider->shell;
	int len = (int)multi_call_len(shell);

	buf_printf(command,
		"exec %s -c 'eval \"$(%.*s%sdd bs=%zu count=1 iflag=fullblock 2>/dev/null)\"'",
		shell, len, shell, len ? " " : "", s->text.len);
}

/* Returns whether the script itself has to come on standard input. */
static bool add_command(struct buf *command, const struct script *s)
{
	if (is_plain_sh(s->provider)) {
		buf_add(command, s->text.bytes, s->text.len);
	} else {
		buf_printf(command, "exec %s -c ", s->provider->shell);
		add_quoted(command, buf_text(&s->text), s->text.len);
	}
	if (command->len <= COMMAND_MAX && !command->failed)
		return false;
	buf_reset(command);
	add_loader(command, s);
	return true;
}

/* One run of a script. */
struct run {
	const struct script *script;
	const struct script_reader *reader;
	struct buf pending;       /* what is not yet a whole message */
	size_t scanned;           /* of it */
	size_t records, expected; /* of the message that is being gathered */
	uint64_t raw;
	bool has_begun, has_ended;
	enum err stopped; /* by the reader */
	char complaint[COMPLAINT_MAX];
	size_t complaint_len;
};

/* Whatever came before the script's first word is a greeting. */
static bool find_beginning(struct run *r)
{
	size_t len = strlen(r->script->word) + 1;
	const unsigned char *found = memmem(r->pending.bytes, r->pending.len, r->script->word, len);

	if (!found)
		return false;
	buf_consume(&r->pending, (size_t)(found - r->pending.bytes) + len);
	r->has_begun = true;
	return true;
}

static enum err tell_message(struct run *r, char *message, struct error *e)
{
	AUTO_FREE char **records = calloc(r->records + 1, sizeof *records);

	if (!records)
		return error_set(e, ERR_NO_MEMORY, "%zu records", r->records);
	for (size_t i = 0; i < r->records; i++) {
		records[i] = message;
		message += strlen(message) + 1;
	}
	return r->reader->message(r->reader->context, records, r->records, &r->raw, e);
}

/* Some more of the contents that were announced. *used: how much of it that is. */
static enum err take_bytes(struct run *r, size_t at, size_t *used, struct error *e)
{
	size_t there = r->pending.len - at;

	*used = r->raw < there ? (size_t)r->raw : there;
	r->raw -= *used;
	if (!*used)
		return ERR_OK;
	return r->reader->bytes(r->reader->context, r->pending.bytes + at, *used, e);
}

/* One more record of the message that begins at `begin` is whole. */
static enum err take_record(struct run *r, size_t begin, struct error *e)
{
	char *message = (char *)r->pending.bytes + begin;
	enum err k;

	if (r->records == 0) {
		if (!strcmp(message, r->script->word)) {
			r->has_ended = true;
			return ERR_OK;
		}
		r->expected = r->reader->follow(r->reader->context, message);
		if (r->expected >= MESSAGE_MAX)
			return error_set(e, ERR_PROTOCOL, "'%.40s' is no message", message);
		r->expected++;
	}
	if (++r->records < r->expected)
		return ERR_OK;
	k = tell_message(r, message, e);
	r->records = 0;
	return k;
}

static enum err take_pending(struct run *r, struct error *e)
{
	size_t begin = 0; /* of the message */
	enum err k = ERR_OK;

	while (k == ERR_OK && !r->has_ended) {
		const unsigned char *nul;

		if (r->raw) {
			size_t used;

			k = take_bytes(r, begin, &used, e);
			begin = r->scanned = begin + used;
			if (r->raw)
				break;
			continue;
		}
		nul = memchr(r->pending.bytes + r->scanned, 0, r->pending.len - r->scanned);
		if (!nul) {
			r->scanned = r->pending.len;
			break;
		}
		r->scanned = (size_t)(nul - r->pending.bytes) + 1;
		k = take_record(r, begin, e);
		if (!r->records)
			begin = r->scanned;
	}
	buf_consume(&r->pending, begin);
	r->scanned -= begin;
	return k;
}

static void complain(struct run *r, const char *text, size_t len)
{
	size_t room = sizeof r->complaint - 1 - r->complaint_len;

	len = len < room ? len : room;
	memcpy(r->complaint + r->complaint_len, text, len);
	r->complaint_len += len;
}

static enum err hear(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct run *r = context;

	if (stream == STREAM_ERR) {
		complain(r, bytes, len);
		return ERR_OK;
	}
	if (r->has_ended)
		return ERR_OK;
	if (!buf_add(&r->pending, bytes, len))
		return r->stopped = error_set(e, ERR_TOO_LARGE, "the shell's answer");
	if (!r->has_begun && !find_beginning(r))
		return ERR_OK;
	r->stopped = take_pending(r, e);
	return r->stopped;
}

static enum err check_end(const struct run *r, const struct execute_result *result, struct error *e)
{
	if (r->has_ended)
		return ERR_OK;
	if (result->timed_out)
		return error_set(e, ERR_TIMEOUT, "the sandbox's shell");
	return error_set(e, ERR_PROTOCOL, "the sandbox's shell ended early (%d): %s",
		result->exit_code, r->complaint_len ? r->complaint : "without a word");
}

/* `input`: the script itself comes first, where it was too long for a command. */
static enum err run_command(struct run *r, struct provider *p, const struct call *call,
	const struct buf *command, const struct buf *input, struct error *e)
{
	const struct execute_request request = { .command = buf_text(command),
		.input = input->len ? input->bytes : NULL,
		.input_len = input->len };
	struct execute_result result = { 0 };
	enum err k = provider_execute(p, call, &request, hear, r, &result, e);

	if (r->stopped)
		return r->stopped;
	return k == ERR_OK ? check_end(r, &result, e) : k;
}

enum err script_run(struct script *s, struct provider *p, const struct call *call,
	const struct script_reader *reader, struct error *e)
{
	AUTO_BUF struct buf command = BUF_INIT(4 * TEXT_MAX + COMMAND_MAX);
	AUTO_BUF struct buf input = BUF_INIT(TEXT_MAX + INPUT_MAX);
	struct run r = { .script = s, .reader = reader, .pending = BUF_INIT(MESSAGE_MAX) };
	enum err k;

	buf_printf(&s->text, "printf '%%s\\0' %s >&6\n", s->word);
	if (add_command(&command, s))
		buf_add(&input, s->text.bytes, s->text.len);
	buf_add(&input, s->input.bytes, s->input.len);
	k = buf_check(&s->text, "a script", e);
	if (k == ERR_OK)
		k = buf_check(&s->input, "a script's contents", e);
	if (k == ERR_OK)
		k = buf_check(&input, "a script's input", e);
	if (k == ERR_OK)
		k = run_command(&r, p, call, &command, &input, e);
	buf_release(&r.pending);
	return k;
}

/* ---- Understanding ---- */

/* "2020-01-02 03:04:05.123456789 +0000": only the fraction, the seconds stand in a field of their own. */
static bool fraction(const char *text, long *ns)
{
	const char *dot = strchr(text, '.');
	long value = 0;

	*ns = 0;
	if (!dot)
		return true;
	for (int i = 1; i <= 9; i++) {
		if (dot[i] < '0' || dot[i] > '9')
			return false;
		value = 10 * value + (dot[i] - '0');
	}
	*ns = value;
	return true;
}

/* "1600000000.123456789", or whatever else a stat(1) that does not know says. */
static uint64_t birth_ns(const char *text)
{
	char *end;
	unsigned long long seconds = strtoull(text, &end, 10);
	long ns;

	if (text[0] < '1' || text[0] > '9' || seconds > UINT64_MAX / 1000000000 - 1 ||
		!fraction(end, &ns))
		return 0;
	return seconds * 1000000000 + (uint64_t)ns;
}

bool script_attr(const char *line, struct attr *out)
{
	struct attr a = { 0 };
	unsigned major_number, minor_number;
	char birth[64], clock[3][64];
	int64_t seconds[3];
	struct timespec *const times[3] = { &a.atime, &a.mtime, &a.ctime };
	int got = sscanf(line,
		"%" SCNu64 " %" SCNu64 " %63s %" SCNx32 " %" SCNu32 " %" SCNu32 " %" SCNu32
		" %x %x %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNd64 " %" SCNd64 " %" SCNd64
		" %*s %63s %*s %*s %63s %*s %*s %63s",
		&a.dev, &a.ino, birth, &a.mode, &a.nlink, &a.uid, &a.gid, &major_number,
		&minor_number, &a.size, &a.blocks, &a.blksize, &seconds[0], &seconds[1],
		&seconds[2], clock[0], clock[1], clock[2]);

	if (got != 18)
		return false;
	for (int i = 0; i < 3; i++) {
		times[i]->tv_sec = (time_t)seconds[i];
		if (!fraction(clock[i], &times[i]->tv_nsec))
			return false;
	}
	a.btime_ns = birth_ns(birth);
	if ((a.mode & S_IFMT) == S_IFCHR || (a.mode & S_IFMT) == S_IFBLK)
		a.rdev = makedev(major_number, minor_number);
	*out = a;
	return true;
}

/* As glibc, musl and the shells say it. */
static const struct words {
	const char *text;
	enum err kind;
} words[] = {
	{ "No such file or directory", ERR_NOT_FOUND },
	{ "Directory nonexistent", ERR_NOT_FOUND },
	{ "nonexistent directory", ERR_NOT_FOUND },
	{ "File exists", ERR_EXISTS },
	{ "cannot overwrite existing file", ERR_EXISTS },
	{ "Permission denied", ERR_DENIED },
	{ "Operation not permitted", ERR_NOT_OWNER },
	{ "Not a directory", ERR_NOT_DIR },
	{ "Is a directory", ERR_IS_DIR },
	{ "Directory not empty", ERR_NOT_EMPTY },
	{ "Invalid argument", ERR_INVALID },
	{ "File name too long", ERR_NAME_TOO_LONG },
	{ "Filename too long", ERR_NAME_TOO_LONG },
	{ "Too many levels of symbolic links", ERR_LOOP },
	{ "Symbolic link loop", ERR_LOOP },
	{ "Invalid cross-device link", ERR_CROSS_DEVICE },
	{ "Cross-device link", ERR_CROSS_DEVICE },
	{ "Too many links", ERR_TOO_MANY_LINKS },
	{ "File too large", ERR_TOO_LARGE },
	{ "No space left on device", ERR_NO_SPACE },
	{ "Disk quota exceeded", ERR_QUOTA },
	{ "Quota exceeded", ERR_QUOTA },
	{ "Read-only file system", ERR_READ_ONLY },
	{ "Text file busy", ERR_TEXT_BUSY },
	{ "Device or resource busy", ERR_BUSY },
	{ "Resource busy", ERR_BUSY },
	{ "No data available", ERR_NO_XATTR },
	{ "No such attribute", ERR_NO_XATTR },
	{ "Numerical result out of range", ERR_RANGE },
	{ "Result not representable", ERR_RANGE },
	{ "No such device or address", ERR_NO_DATA },
	{ "Operation not supported", ERR_UNSUPPORTED },
	{ "Not supported", ERR_UNSUPPORTED },
	{ "Function not implemented", ERR_UNSUPPORTED },
	{ "not found", ERR_UNSUPPORTED }, /* the shell's, of a tool */
	{ "Stale file handle", ERR_STALE },
	{ "Cannot allocate memory", ERR_NO_MEMORY },
	{ "Out of memory", ERR_NO_MEMORY },
	{ "Argument list too long", ERR_TOO_BIG_XATTR },
	{ "Too many open files", ERR_FILES_LIMIT },
	{ "No file descriptors available", ERR_FILES_LIMIT },
	{ "Value too large for defined data type", ERR_OVERFLOW },
	{ "Value too large for data type", ERR_OVERFLOW },
};

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len > end_len + 1 && text[len - end_len - 1] == ' ' &&
		!memcmp(text + len - end_len, end, end_len);
}

/* mv(1) of a directory into itself is refused by GNU before the kernel is asked. */
static bool is_into_itself(const char *text, size_t len)
{
	static const char said[] = " to a subdirectory of itself, ";

	return memmem(text, len, said, sizeof said - 1) != NULL && text[len - 1] == '\'';
}

static enum err kind_said(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (ends_with(text, len, words[i].text))
			return words[i].kind;
	return len && is_into_itself(text, len) ? ERR_INVALID : ERR_IO;
}

/* "1+0 records in": the whole line, which a name's end never is, since the words follow it. */
static bool is_count_line(const char *line, size_t len)
{
	unsigned whole, partial;
	char direction[4];
	int used = 0;

	return sscanf(line, "%u+%u records %3s%n", &whole, &partial, direction, &used) == 3 &&
		(size_t)used == len;
}

/* dd(1) ends with what it counted. */
static size_t without_counts(const char *text, size_t len)
{
	for (;;) {
		const char *newline = len ? memrchr(text, '\n', len) : NULL;
		size_t begin = newline ? (size_t)(newline - text) + 1 : 0;

		if (!newline || !is_count_line(text + begin, len - begin))
			return len;
		len = begin - 1;
	}
}

/* `sentence` for a person, on one line. */
static void tell_why(char *why, size_t why_size, const char *sentence, size_t len)
{
	snprintf(why, why_size, "%.*s", (int)(len < why_size ? len : why_size), sentence);
	for (char *c = why; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

enum err script_reason(const char *text, char *why, size_t why_size)
{
	size_t len = strlen(text);
	enum err kind;

	*why = 0;
	if (!len)
		return ERR_OK;
	if (text[0] == '@') {
		size_t name_len = strcspn(text, " ");
		const char *sentence = text + name_len + 1;

		kind = error_named(text + 1, name_len - 1);
		if (!text[name_len])
			sentence = error_words(kind);
		tell_why(why, why_size, sentence, strlen(sentence));
		return kind;
	}
	len = without_counts(text, len);
	tell_why(why, why_size, text, len);
	return kind_said(text, len);
}
