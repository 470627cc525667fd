/*
 * doctor.c - sandboxctl doctor: the state of this machine and of providers, with remedies.
 */
#include "providers/json.h"
#include "providers/variables.h"
#include "tools/ctl/checks.h"
#include "tools/ctl/command.h"
#include "tools/ctl/live.h"
#include "tools/ctl/output.h"

#include <stdarg.h>
#include <stdio.h>

#define JSON_MAX (256 * 1024)

static const struct {
	const char *name;
	void (*check)(struct finding *out);
} checks[] = {
	{ "kernel", check_kernel },
	{ "fuse", check_device },
	{ "fusermount3", check_fusermount },
	{ "libfuse", check_libfuse },
	{ "bubblewrap", check_bubblewrap },
	{ "namespaces", check_namespaces },
	{ "slirp4netns", check_translation },
	{ "containers", check_containers },
	{ "helper", check_helper },
	{ "cache", check_cache },
	{ "journal", check_journal },
};

/* The output. */
struct report {
	struct table table;
	struct buf json;
	struct json_writer writer; /* into `json` */
	size_t failures;
};

const char *finding_word(enum finding_level level)
{
	switch (level) {
	case FINDING_OK: return "ok";
	case FINDING_UNUSED: return "unused";
	case FINDING_WARN: return "warn";
	case FINDING_FAIL: return "fail";
	}
	return "unknown";
}

void finding_set(struct finding *f, enum finding_level level, const char *format, ...)
{
	va_list arguments;

	f->level = level;
	va_start(arguments, format);
	vsnprintf(f->text, sizeof f->text, format, arguments);
	va_end(arguments);
}

static void add(struct report *r, const char *name, const struct finding *f)
{
	const char *word = finding_word(f->level);
	struct json_writer *w = &r->writer;

	r->failures += f->level == FINDING_FAIL;
	table_add(&r->table, (const char *const[]){ word, name, f->text });
	json_put_open(w, NULL);
	json_put_text(w, "check", name);
	json_put_text(w, "result", word);
	json_put_text(w, "text", f->text);
	json_put_close(w);
}

static void check_all(struct report *r)
{
	const struct provider_ops *ops;
	struct finding f;

	json_put_open_list(&r->writer, NULL);
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
		checks[i].check(&f);
		add(r, checks[i].name, &f);
	}
	for (size_t i = 0; (ops = provider_at(i)); i++) {
		check_provider(ops, &f);
		add(r, ops->name, &f);
	}
	json_put_close_list(&r->writer);
}

/* The table of variables, and which of them count here; no value is shown. */
static void tell_variables(struct report *r)
{
	struct json_writer *w = &r->writer;
	const struct variable *v;

	json_put_open_list(w, NULL);
	for (size_t i = 0; (v = variable_at(i)); i++) {
		bool is_set = variable_value(v) != NULL;

		table_add(&r->table,
			(const char *const[]){ v->name, is_set ? "set" : "-",
				*v->provider ? v->provider : "all", v->help });
		json_put_open(w, NULL);
		json_put_text(w, "variable", v->name);
		json_put_boolean(w, "is_set", is_set);
		json_put_text(w, "provider", v->provider);
		json_put_text(w, "text", v->help);
		json_put_close(w);
	}
	json_put_close_list(w);
}

/* A live_sink. */
static void add_step(void *context, const char *step, const struct finding *f)
{
	add(context, step, f);
}

static enum err try_live(
	struct report *r, const char *provider, const struct ctl_common *common, struct error *e)
{
	enum err kind;

	json_put_open_list(&r->writer, NULL);
	kind = live_try(provider, common, add_step, r, e);
	json_put_close_list(&r->writer);
	return kind;
}

enum key { KEY_LIVE = 0x5000, KEY_VARIABLES };

struct request {
	const char *live; /* PROVIDER; NULL: this machine, and every provider's key */
	bool variables;   /* the table of variables, and no check */
};

static error_t take_word(int key, char *value, struct argp_state *state)
{
	struct request *r = state->input;

	switch (key) {
	case KEY_LIVE: r->live = value; return 0;
	case KEY_VARIABLES: r->variables = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static enum err check(const struct request *r, const struct ctl_common *common, struct ctl_run *run,
	struct error *e)
{
	if ((!common->key_file && !common->url) || r->live)
		return ERR_OK;
	run->status = CTL_WRONG_USAGE;
	return error_set(e, ERR_INVALID,
		"doctor: %s of one provider: name that, as in sandboxctl doctor --live e2b",
		common->key_file ? "--key-file is the key" : "--url is the address");
}

static const char *const titles[][5] = {
	{ "RESULT", "CHECK", "FINDING", NULL },
	{ "VARIABLE", "HERE", "PROVIDER", "MEANING", NULL },
};

static enum err run(struct ctl_run *run, struct error *e)
{
	struct report r = { .json = BUF_INIT(JSON_MAX) };
	struct request request = { 0 };
	struct ctl_common common;
	enum err kind = ctl_parse(run, &request, &common, e);

	if (!kind)
		kind = check(&request, &common, run, e);
	if (kind)
		return kind;
	r.writer.out = &r.json;
	table_init(&r.table, titles[request.variables]);
	if (request.variables)
		tell_variables(&r);
	else if (request.live)
		kind = try_live(&r, request.live, &common, e);
	else
		check_all(&r);
	if (!kind)
		kind = common.json ? print_json(&r.json, stdout, e)
				   : table_print(&r.table, stdout, e);
	table_release(&r.table);
	buf_release(&r.json);
	if (!kind && r.failures)
		run->status = CTL_FAILED;
	return kind;
}

const struct ctl_command ctl_doctor = {
	.name = "doctor",
	.summary = "Look at what this machine has and lacks, and tell the way out",
	.details = "A provider is asked for its sandboxes with the key that a mount would use: "
		   "which source that is of is told, the key is shown nowhere. With --live a "
		   "sandbox is made and deleted again, which costs what it costs: its verbs, its "
		   "stream of changes, 10 MB up and down, a link that is cut in a download. Exit "
		   "status 1 when something fails.",
	.flags = CTL_JSON | CTL_ACCOUNT,
	.argp =
		&(const struct argp){
			.options =
				(const struct argp_option[]){
					{ "live", KEY_LIVE, "PROVIDER", 0,
						"try all that a sandbox of PROVIDER can do, in one "
						"that is made for it",
						0 },
					{ "variables", KEY_VARIABLES, NULL, 0,
						"print which variables are read and which of them "
						"are set, and nothing else",
						0 },
					{ 0 },
				},
			.parser = take_word,
		},
	.run = run,
};
