/*
 * start.c - sandboxctl start: the container that is a provider's one sandbox, by docker or podman.
 *
 * The container has a name of ours, by which a stopped one is started again.
 */
#include "providers/base/cleanup.h"
#include "providers/spawn.h"
#include "tools/ctl/target.h"
#include "tools/say.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define PORT_DEFAULT 8080
#define WORDS_MAX    32
#define PAUSE_MS     500

enum key { KEY_PULL = 0x6000, KEY_PORT };

struct request {
	const char *provider;
	char *image; /* NULL: the vendor's own */
	int pull;
	unsigned port;
};

struct starting {
	const struct request *request;
	const struct provider_container *container;
	const char *image, *program; /* "docker", "podman" */
	char name[64];
};

/* ---- The program ---- */

/*
 * *code: the program's exit code. Its output goes to standard error where `is_shown`.
 * ERR_NOT_FOUND: the program is not installed.
 */
static enum err run_words(const char *const *words, bool is_shown, int *code, struct error *e)
{
	AUTO_CLOSE int nothing = spawn_fd(open("/dev/null", O_RDWR | O_CLOEXEC));
	AUTO_CLOSE int shown = spawn_fd(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
	const int fds[] = { nothing, is_shown ? shown : nothing, is_shown ? shown : nothing };
	int status = 0;
	pid_t pid;
	enum err kind = spawn_client(&pid, SPAWN_INHERITS, (char *const *)words, fds, 3, e);

	while (!kind && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	*code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return kind;
}
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Whether `program WHAT inspect NAME` succeeds. */
static bool has(const char *program, const char *what, const char *name)
{
	int code;

	return !run_words(WORDS(program, what, "inspect", name), false, &code, NULL) && !code;
}

/* The first that has the container, else the image, else works: docker needs its daemon. */
static enum err find_program(struct starting *s, struct error *e)
{
	static const char *const programs[] = { "docker", "podman" };
	int code;

	for (size_t i = 0; i < 4; i++) {
		bool is_image = i > 1;

		s->program = programs[i % 2];
		if (has(s->program, is_image ? "image" : "container",
			    is_image ? s->image : s->name))
			return ERR_OK;
	}
	for (size_t i = 0; i < 2; i++) {
		s->program = programs[i];
		if (!run_words(WORDS(s->program, "version"), false, &code, NULL) && !code)
			return ERR_OK;
	}
	return error_set(e, ERR_UNSUPPORTED,
		"neither docker nor podman works here; one of them runs the container");
}

static enum err do_words(const struct starting *s, const char *const *words, struct error *e)
{
	int code;
	enum err kind = run_words(words, true, &code, e);

	if (kind || !code)
		return kind;
	return error_set(e, ERR_IO, "%s %s: exit status %d", s->program, words[1], code);
}

/* ---- The container ---- */

static enum err fetch(const struct starting *s, struct error *e)
{
	if (has(s->program, "image", s->image))
		return ERR_OK;
	if (!s->request->pull)
		return error_set(e, ERR_NOT_FOUND,
			"the image %.200s is not here; --pull has %s fetch it", s->image,
			s->program);
	return do_words(s, WORDS(s->program, "pull", s->image), e);
}

/* Only this machine reaches the port. */
static enum err make(const struct starting *s, struct error *e)
{
	const char *words[WORDS_MAX] = { s->program, "run", "--detach", "--name", s->name,
		"--publish" };
	size_t count = 6;
	char publish[64];

	snprintf(publish, sizeof publish, "127.0.0.1:%u:%u", s->request->port, s->container->port);
	words[count++] = publish;
	for (const char *const *o = s->container->options; *o; o++)
		words[count++] = *o;
	words[count] = s->image;
	return do_words(s, words, e);
}

static enum err start(struct starting *s, struct error *e)
{
	enum err kind = find_program(s, e);

	if (kind)
		return kind;
	if (has(s->program, "container", s->name)) {
		if (s->request->image)
			say(stderr,
				"sandboxctl: %s is there already, so --image does not count; "
				"%s rm -f %s removes it",
				s->name, s->program, s->name);
		return do_words(s, WORDS(s->program, "start", s->name), e);
	}
	kind = fetch(s, e);
	return kind ? kind : make(s, e);
}

/* ---- The sandbox inside ---- */

static enum err wait_for_answer(struct target *t, struct error *e)
{
	int64_t end_ms = monotonic_ms() + call_ready_ms(&t->call);
	struct error why = { 0 };
	enum err kind = target_reach_account(t, &why);

	while (kind && kind != ERR_INTERRUPTED && monotonic_ms() < end_ms) {
		if (call_sleep(&t->call, PAUSE_MS, e))
			return ERR_INTERRUPTED;
		kind = target_reach_account(t, &why);
	}
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

static enum err start_provider(
	const struct request *r, const struct ctl_common *common, struct error *e)
{
	AUTO_TARGET struct target t = { 0 };
	struct starting s = { .request = r };
	enum err kind = target_parse_provider(&t, r->provider, common, e);

	if (kind)
		return kind;
	s.container = t.source.ops->container;
	if (!s.container)
		return error_set(e, ERR_UNSUPPORTED,
			"%s: its sandboxes are no containers of this machine; sandboxctl create "
			"makes one",
			t.source.ops->name);
	s.image = r->image ? r->image : s.container->image;
	snprintf(s.name, sizeof s.name, "sandboxfs-%s-%u", t.source.ops->name, r->port);
	kind = start(&s, e);
	if (!kind && asprintf(&t.source.id, "localhost_%u", r->port) < 0)
		return error_set(e, ERR_NO_MEMORY, "%s", s.name);
	if (kind)
		return kind;
	t.config.id = t.source.id;
	kind = wait_for_answer(&t, e);
	if (kind)
		return kind;
	say(stderr, "sandboxctl: %s stop %s ends it", s.program, s.name);
	say(stdout, "%s:%s", t.source.ops->name, t.source.id);
	return ERR_OK;
}

/* ---- Words ---- */

static error_t take_word(int key, char *value, struct argp_state *state)
{
	static const struct ctl_value values[] = {
		{ 'i', "--image=", "NAME", option_set_text, offsetof(struct request, image) },
		{ KEY_PULL, "--pull", NULL, option_set_flag, offsetof(struct request, pull) },
		{ 0 },
	};
	struct request *r = state->input;
	char *end;

	switch (key) {
	case KEY_PORT:
		r->port = (unsigned)strtoul(value, &end, 10);
		return *end || !r->port || r->port > 65535
			? ctl_usage(state, "'%.60s': a port is a number from 1 to 65535", value)
			: 0;
	case ARGP_KEY_ARG:
		if (r->provider)
			return ARGP_ERR_UNKNOWN;
		r->provider = value;
		return 0;
	case ARGP_KEY_NO_ARGS: return ctl_usage(state, "the provider is missing");
	default: return ctl_take_value(values, key, value, state);
	}
}

static enum err run(struct ctl_run *run, struct error *e)
{
	struct request request = { .port = PORT_DEFAULT };
	struct ctl_common common;
	enum err kind = ctl_parse(run, &request, &common, e);

	if (!kind)
		kind = start_provider(&request, &common, e);
	free(request.image);
	return kind;
}

static const struct argp_option options[] = {
	{ "image", 'i', "NAME", 0, "another image than the vendor's own", 0 },
	{ "pull", KEY_PULL, NULL, 0, "fetch the image where it is not here", 0 },
	{ "port", KEY_PORT, "PORT", 0, "of this machine, at which it is reached (8080)", 0 },
	{ 0 },
};

const struct ctl_command ctl_start = {
	.name = "start",
	.arguments = "PROVIDER",
	.summary = "Start the container that is a provider's sandbox, by docker or podman",
	.details = "It prints the name when the sandbox answers. This machine alone reaches the "
		   "container. One that was stopped is started again.",
	.flags = CTL_ACCOUNT,
	.argp = &(const struct argp){ .options = options, .parser = take_word },
	.run = run,
};
