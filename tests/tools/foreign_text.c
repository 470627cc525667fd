/*
 * Text of others in every message that carries it: a table of outputs, each of which gets every
 * byte and every harmful code point. This file decides by itself what is harmful, so that
 * providers/base/harmless.c is not its own judge.
 */
#include "cache/journal/journal.h"
#include "fs/control/text.h"
#include "fs/events.h"
#include "fs/control/exec_response.h"
#include "fs/control/job_text.h"
#include "fs/control/status_text.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "tests/support/scratch.h"
#include "tools/ctl/checks.h"
#include "tools/ctl/complete.h"
#include "tools/ctl/journal_list.h"
#include "tools/ctl/sandboxes.h"
#include "tools/ctl/status_list.h"
#include "tools/say.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <string.h>
#include <sys/mman.h>

TestSuite(foreign_text, .timeout = 600);

#define OUTPUT_MAX  65536
#define PRINTED_MAX (8 << 20)

/* ---- The texts ---- */

static const unsigned harmful_points[][2] = {
	{ 0x80, 0x9f },
	{ 0x61c, 0x61c },
	{ 0x200e, 0x200f },
	{ 0x2028, 0x2029 },
	{ 0x202a, 0x202e },
	{ 0x2066, 0x2069 },
};

/* Encodes a code point of up to three bytes. */
static size_t encode(unsigned point, char out[4])
{
	size_t len = 0;

	if (point >= 0x800) {
		out[len++] = (char)(0xe0 | point >> 12);
		out[len++] = (char)(0x80 | (point >> 6 & 0x3f));
	} else {
		out[len++] = (char)(0xc0 | point >> 6);
	}
	out[len++] = (char)(0x80 | (point & 0x3f));
	out[len] = '\0';
	return len;
}

#define TEXTS_MAX 400

/* Each byte but NUL and each harmful code point, between two letters; or as many harmless ones. */
static struct {
	size_t count;
	char bytes[TEXTS_MAX][8];
} texts;

static void add_text(const char *middle, bool is_harmless)
{
	cr_assert(lt(sz, texts.count, TEXTS_MAX));
	snprintf(texts.bytes[texts.count++], sizeof *texts.bytes, "a%sz",
		is_harmless ? "?" : middle);
}

static void make_texts(bool are_harmless)
{
	char point[4];

	texts.count = 0;
	for (int byte = 1; byte < 256; byte++)
		add_text((char[]){ (char)byte, '\0' }, are_harmless);
	for (size_t i = 0; i < sizeof harmful_points / sizeof *harmful_points; i++)
		for (unsigned at = harmful_points[i][0]; at <= harmful_points[i][1]; at++) {
			encode(at, point);
			add_text(point, are_harmless);
		}
}

/* ---- The rule ---- */

static bool is_harmful(unsigned point)
{
	bool is_found = point < 0x20 || point == 0x7f;

	for (size_t i = 0; i < sizeof harmful_points / sizeof *harmful_points; i++)
		is_found |= point >= harmful_points[i][0] && point <= harmful_points[i][1];
	return is_found;
}

/* Decodes by hand: valid UTF-8 of two or three bytes; no output here has longer characters. */
static size_t decode(const unsigned char *at, unsigned *point)
{
	if (*at < 0x80) {
		*point = *at;
		return 1;
	}
	if (*at >= 0xc2 && *at <= 0xdf && (at[1] & 0xc0) == 0x80) {
		*point = (*at & 0x1fu) << 6 | (at[1] & 0x3fu);
		return 2;
	}
	if (*at >= 0xe0 && *at <= 0xef && (at[1] & 0xc0) == 0x80 && (at[2] & 0xc0) == 0x80) {
		*point = (*at & 0xfu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
		return 3;
	}
	return 0;
}

/* `allowed`: harmful ones that the program itself prints. */
static bool is_harmless(const char *text, const char *allowed)
{
	const unsigned char *at = (const unsigned char *)text;
	unsigned point;

	for (size_t step; *at; at += step) {
		step = decode(at, &point);
		if (!step || (is_harmful(point) && (point > 0x7f || !strchr(allowed, *at))))
			return false;
	}
	return true;
}

static size_t count(const char *text, char what)
{
	size_t found = 0;

	for (; *text; text++)
		found += *text == what;
	return found;
}

/* ---- The outputs ---- */

static void print_buf(const struct buf *text)
{
	cr_assert(not(text->failed));
	fwrite(text->bytes, 1, text->len, stdout);
}

static void an_error(const char *foreign)
{
	struct error e;

	error_set(&e, ERR_IO, "vendor: %s", foreign);
	printf("%s\n", e.text);
}

static void an_error_of_the_system(const char *foreign)
{
	struct error e;

	error_errno(&e, EIO, "%s", foreign);
	printf("%s\n", e.text);
}

static void a_line_of_the_log(const char *foreign)
{
	log_setup("test", "debug", false, NULL);
	log_warn(LOG_PROVIDER, "Modal warns: %s", foreign);
	log_debug(LOG_FS, "%s", foreign);
}

static void a_line(const char *foreign)
{
	say(stderr, "sandboxctl: %s", foreign);
}

static void a_question(const char *foreign)
{
	say_part(stderr, "Give up the changes in %s? ", foreign);
}

static void a_line_of_progress(const char *foreign)
{
	say_over("%s: 3 left", foreign);
}

static void a_finding(const char *foreign)
{
	AUTO_TABLE struct table t;
	struct finding f;

	finding_set(&f, FINDING_WARN, "it says: %s", foreign);
	table_init(&t, (const char *const[]){ "CHECK", "FINDING", NULL });
	table_add(&t, (const char *const[]){ foreign, f.text });
	table_note(&t, "below: %s", foreign);
	table_print(&t, stdout, NULL);
}

static void print_sandboxes(const char *foreign, bool is_json)
{
	const char *const labels[] = { foreign, NULL };
	AUTO_SANDBOXES struct sandboxes s;

	sandboxes_init(&s, is_json, true);
	sandboxes_add(&s, "e2b",
		&(struct sandbox_entry){ .id = foreign, .expires_s = 7, .labels = labels });
	sandboxes_print(&s, NULL);
}

static void sandboxes_in_a_table(const char *foreign)
{
	print_sandboxes(foreign, false);
}

static void sandboxes_as_json(const char *foreign)
{
	print_sandboxes(foreign, true);
}

static void candidates(const char *foreign)
{
	const struct completion c = { "", stdout };

	offer(&c, "", foreign, strlen(foreign), "help");
	offer(&c, "", "candidate", 9, foreign);
}

/* Prints the status that another user's mount reports, with any text it likes. */
static void print_status(const char *foreign, bool as_json)
{
	struct mounted m = { .dir = (char *)foreign, .source = (char *)foreign };
	struct mounted ours[] = { m, m };
	const struct mounts mounts = { ours, 2 };
	struct mount_answer answers[] = {
		{ .state = MOUNT_ALIVE, .text = BUF_INIT(OUTPUT_MAX) },
		{ .state = MOUNT_DEAD, .text = BUF_INIT(OUTPUT_MAX) },
	};
	struct json_writer w = { .out = &answers[0].text };

	json_put_open(&w, NULL);
	json_put_integer(&w, "pending_changes", 1);
	for (int i = 0; i < 3; i++) {
		static const char *const lists[][3] = { { "journal", "parked", "error" },
			{ "", "last_errors", "text" }, { "stream", "", "error" } };

		if (*lists[i][0])
			json_put_open(&w, lists[i][0]);
		if (*lists[i][1]) {
			json_put_open_list(&w, lists[i][1]);
			json_put_open(&w, NULL);
		}
		json_put_text(&w, "state", "broken");
		json_put_text(&w, "op", foreign);
		json_put_path(&w, foreign);
		json_put_text(&w, lists[i][2], foreign);
		if (*lists[i][1]) {
			json_put_close(&w);
			json_put_close_list(&w);
		}
		if (*lists[i][0])
			json_put_close(&w);
	}
	json_put_text(&w, foreign, foreign);
	json_put_close(&w);
	status_list(&mounts, answers, as_json, NULL);
	buf_release(&answers[0].text);
	buf_release(&answers[1].text);
}

static void mounts_in_a_table(const char *foreign)
{
	print_status(foreign, false);
}

static void mounts_as_json(const char *foreign)
{
	print_status(foreign, true);
}

/* One journal in which all texts were refused, and one of each name that cannot be read. */
static void print_journals(bool as_json)
{
	struct scratch scratch;
	char dir[100], file[100];
	struct journal_found found[TEXTS_MAX + 1] = { { .name = "left", .dir = dir } };
	const struct journals journals = { found, texts.count + 1 };
	struct journal *j;
	struct journal_extent where;
	uint64_t number;

	scratch_make(&scratch);
	snprintf(dir, sizeof dir, "%s/journal", scratch.path);
	snprintf(file, sizeof file, "%s/file", scratch.path);
	scratch_write_text(&scratch, "file", "no directory");
	cr_assert(zero(int, journal_open(&j, &(struct journal_options){ .dir = dir }, NULL)));
	for (size_t i = 0; i < texts.count; i++) {
		const struct change change = { .op = CHANGE_UNLINK, .path = texts.bytes[i] };

		cr_assert(zero(int, journal_add(j, &change, &number, &where, NULL)));
		cr_assert(zero(int, journal_note_failed(j, number, ERR_IO, texts.bytes[i], NULL)));
		found[i + 1] = (struct journal_found){
			.name = texts.bytes[i], .dir = file, .source = texts.bytes[i]
		};
	}
	journal_close(j);
	journal_list(&journals, as_json, NULL);
	scratch_remove(&scratch);
}

static void journals_in_a_table(void)
{
	print_journals(false);
}

static void journals_as_json(void)
{
	print_journals(true);
}

static void the_status_of_a_mount(const char *foreign)
{
	AUTO_BUF struct buf text = BUF_INIT(OUTPUT_MAX);
	struct sandbox_info info = { .state = SANDBOX_RUNNING };
	struct cache_status status = { .failed_count = 1,
		.errors_count = 1,
		.journal_dir = foreign,
		.contents_dir = foreign,
		.foreign = { .count = 1 } };

	snprintf(info.id, sizeof info.id, "%s", foreign);
	snprintf(info.root, sizeof info.root, "%s", foreign);
	snprintf(status.failed[0].path, sizeof status.failed[0].path, "%s", foreign);
	snprintf(status.failed[0].error, sizeof status.failed[0].error, "%s", foreign);
	snprintf(status.errors[0].path, sizeof status.errors[0].path, "%s", foreign);
	snprintf(status.errors[0].text, sizeof status.errors[0].text, "%s", foreign);
	snprintf(status.stream_why, sizeof status.stream_why, "%s", foreign);
	snprintf(status.foreign.text, sizeof status.foreign.text, "%s", foreign);
	status_text(foreign, &info, &status, &text);
	print_buf(&text);
}

static void the_status_of_a_job(const char *foreign)
{
	AUTO_BUF struct buf text = BUF_INIT(OUTPUT_MAX);
	struct job_facts facts = { .id = 1, .command = foreign };

	snprintf(facts.error, sizeof facts.error, "%s", foreign);
	job_text(&facts, &text);
	print_buf(&text);
}

static void the_response_of_a_command(const char *foreign)
{
	struct exec_capture out = EXEC_CAPTURE_INIT(1000), err = EXEC_CAPTURE_INIT(1000);
	struct exec_response *r;

	exec_capture_add(&out, foreign, strlen(foreign));
	exec_capture_end(&out);
	exec_capture_end(&err);
	r = exec_response_new(&(struct exec_outcome){ .error = foreign }, &out, &err);
	print_buf(exec_response_text(r));
	exec_response_put(r);
	exec_capture_release(&out);
	exec_capture_release(&err);
}

static void wake_nobody(void *context)
{
	(void)context;
}

static void an_event(const char *foreign)
{
	struct events *events;
	struct events_reader *reader;
	char line[1000];
	size_t len;

	cr_assert(zero(int, events_new(&events, NULL)));
	reader = events_reader_new(events, wake_nobody, NULL);
	events_add(events, WATCH_CREATED, foreign, false);
	len = events_reader_take(reader, line, sizeof line);
	fwrite(line, 1, len, stdout);
	events_reader_free(reader);
	events_free(events);
}

static void a_control_file_of_a_line(const char *foreign)
{
	AUTO_BUF struct buf text = BUF_INIT(OUTPUT_MAX);

	text_add_line(&text, foreign);
	print_buf(&text);
}

struct output {
	const char *name;
	void (*print)(const char *foreign); /* NULL: print_all() prints all texts at once */
	void (*print_all)(void);
	const char *allowed; /* the harmful characters that the program itself prints */
	bool is_json;        /* nothing of the text is lost */
};

static const struct output outputs[] = {
	{ "error", an_error, NULL, "\n", false },
	{ "error of the system", an_error_of_the_system, NULL, "\n", false },
	{ "log", a_line_of_the_log, NULL, "\n", false },
	{ "line", a_line, NULL, "\n", false },
	{ "question", a_question, NULL, "", false },
	{ "progress", a_line_of_progress, NULL, "\r\033", false },
	{ "doctor", a_finding, NULL, "\n", false },
	{ "list", sandboxes_in_a_table, NULL, "\n", false },
	{ "list --json", sandboxes_as_json, NULL, "\n", true },
	{ "completion", candidates, NULL, "\n\t", false },
	{ "status", mounts_in_a_table, NULL, "\n", false },
	{ "status --json", mounts_as_json, NULL, "\n", true },
	{ "journal list", NULL, journals_in_a_table, "\n", false },
	{ "journal list --json", NULL, journals_as_json, "\n", true },
	{ ".sandbox/status", the_status_of_a_mount, NULL, "\n", true },
	{ ".sandbox/jobs/N/status", the_status_of_a_job, NULL, "\n", true },
	{ ".sandbox/exec", the_response_of_a_command, NULL, "\n", true },
	{ ".sandbox/events", an_event, NULL, "\n", true },
	{ ".sandbox/id", a_control_file_of_a_line, NULL, "\n", false },
};

#define OUTPUTS (sizeof outputs / sizeof *outputs)

static void print_texts(const struct output *o)
{
	for (size_t i = 0; o->print && i < texts.count; i++)
		o->print(texts.bytes[i]);
	if (o->print_all)
		o->print_all();
}

/* Captures standard output and error. */
static void capture(const struct output *o, char printed[PRINTED_MAX])
{
	int fd = memfd_create("printed", MFD_CLOEXEC), before[] = { dup(1), dup(2) };
	ssize_t len;

	fflush(NULL);
	dup2(fd, 1);
	dup2(fd, 2);
	print_texts(o);
	fflush(NULL);
	dup2(before[0], 1);
	dup2(before[1], 2);
	len = pread(fd, printed, PRINTED_MAX - 1, 0);
	cr_assert(lt(long, len, PRINTED_MAX - 1L));
	printed[len > 0 ? len : 0] = '\0';
	close(before[0]);
	close(before[1]);
	close(fd);
}

/* ---- For people ---- */

static void expect_harmless(const struct output *o)
{
	static char printed[PRINTED_MAX], plain[PRINTED_MAX];
	/* candidates leave out what a terminal cannot show */
	bool leaves_out = o->print == candidates;

	make_texts(false);
	capture(o, printed);
	make_texts(true);
	capture(o, plain);
	cr_expect(is_harmless(printed, o->allowed), "%s", o->name);
	for (const char *each = o->allowed; *each; each++)
		if (leaves_out)
			cr_expect(
				lt(sz, count(printed, *each), count(plain, *each)), "%s", o->name);
		else
			cr_expect(eq(sz, count(printed, *each), count(plain, *each)), "%s: \\x%02x",
				o->name, *each);
}

Test(foreign_text, reaches_no_terminal_as_a_control_and_makes_no_line_of_its_own)
{
	for (size_t i = 0; i < OUTPUTS; i++)
		expect_harmless(&outputs[i]);
}

/* ---- JSON ---- */

static bool has_text(struct json_object *value, const char *text)
{
	bool is_found = false;

	if (json_object_is_type(value, json_type_string))
		return strstr(json_object_get_string(value), text) != NULL;
	if (json_object_is_type(value, json_type_array))
		for (size_t i = 0; i < json_object_array_length(value) && !is_found; i++)
			is_found = has_text(json_object_array_get_idx(value, i), text);
	if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, name, member)
		{
			is_found |= strstr(name, text) || has_text(member, text);
		}
	}
	return is_found;
}

/* A text that is UTF-8 comes back, any other one as U+FFFD. */
static const char *read_back(const char *text)
{
	unsigned point;

	return decode((const unsigned char *)text + 1, &point) ? text : "a\xef\xbf\xbdz";
}

static struct json_object *parse(const char *line)
{
	struct json_tokener *reader = json_tokener_new();
	struct json_object *value;

	json_tokener_set_flags(reader, JSON_TOKENER_VALIDATE_UTF8);
	value = json_tokener_parse_ex(reader, line, (int)strlen(line) + 1);
	json_tokener_free(reader);
	return value;
}

/* A line for each text, or one that has them all. */
static void expect_json(const struct output *o)
{
	static char printed[PRINTED_MAX];
	char *rest = printed, *line;
	size_t lines = 0;

	make_texts(false);
	capture(o, printed);
	for (; (line = strsep(&rest, "\n")) && *line; lines++) {
		struct json_object *value = parse(line);

		cr_expect(ne(ptr, value, NULL), "%s: %s", o->name, line);
		for (size_t n = 0; n < texts.count; n++)
			if (o->print_all || n == lines)
				cr_expect(has_text(value, read_back(texts.bytes[n])), "%s: %zu: %s",
					o->name, n, line);
		json_object_put(value);
	}
	cr_expect(eq(sz, lines, o->print_all ? 1 : texts.count), "%s", o->name);
}

Test(foreign_text, is_valid_json_of_which_nothing_is_lost)
{
	for (size_t i = 0; i < OUTPUTS; i++)
		if (outputs[i].is_json)
			expect_json(&outputs[i]);
}

Test(foreign_text, a_path_that_is_not_utf_8_is_printed_in_base64_besides)
{
	static const struct output *const with_paths[] = { &outputs[13], &outputs[14],
		&outputs[17] };
	static char printed[PRINTED_MAX];

	for (size_t i = 0; i < sizeof with_paths / sizeof *with_paths; i++) {
		texts.count = 0;
		add_text("\x9b", false);
		capture(with_paths[i], printed);
		cr_expect(ne(ptr, strstr(printed, "\"path_b64\": \"YZt6\""), NULL), "%s: %s",
			with_paths[i]->name, printed);
		texts.count = 0;
		add_text("\xc2\x9b", false);
		capture(with_paths[i], printed);
		cr_expect(eq(ptr, strstr(printed, "path_b64"), NULL), "%s: %s", with_paths[i]->name,
			printed);
	}
}
