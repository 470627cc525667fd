/* The embedded sandbox as the contract's subject, in each of the ways its verbs can be done. */
#include "providers/client/image.h"
#include "tests/providers/contract.h"
#include "tests/providers/processor.h"
#include "tests/support/host_remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct subject in_process = { .name = "local, in process", .helper = HELPER_AUTO };
static const struct subject helper_process = { .name = "local, helper process",
	.helper = HELPER_PROCESS };
static const struct subject helper_runs = {
	.name = "local, helper runs", .helper = HELPER_PROCESS, .lacks = LACKS_WATCH
};

static void set_up(const struct subject *row)
{
	struct subject *s = contract_subject();

	contract_begin(row, provider_find("local", 5));
	scratch_make(&s->scratch);
	setenv("XDG_DATA_HOME", s->scratch.path, 1);
	contract_connect(s, "contract");
	s->tree.fd = openat(
		s->scratch.fd, "sandboxfs/contract/tree/user", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(s->tree.fd >= 0, "%s", strerror(errno));
}

static void set_up_in_process(void)
{
	set_up(&in_process);
}

static void set_up_helper_process(void)
{
	set_up(&helper_process);
}

/* ---- The helper started anew for each request, as a vendor starts it ---- */

static struct {
	struct host_remote host;
	struct remote remote;
	struct helper_client *serving; /* the provider's own */
} runs;

static void attach_runs(const char *programs)
{
	const struct provider_config cfg = { .path = "user" };
	struct remote_ops ops;
	struct error e = { 0 };
	char home[128];

	set_up(&helper_runs);
	snprintf(home, sizeof home, "%s/sandboxfs/contract/tree", contract_subject()->scratch.path);
	host_remote_init(&runs.host, home);
	runs.host.path = programs;
	/* A low limit, so that requests go each way there is. */
	runs.host.inline_max = 200;
	ops = host_remote_ops(&runs.host);
	remote_attach(&runs.remote, &ops, &cfg, NULL, NULL, &e);
	cr_assert(runs.remote.helper != NULL, "attach: %s", e.text);
	runs.serving = contract_subject()->p->helper;
	contract_subject()->p->helper = runs.remote.helper;
}

static void set_up_helper_runs(void)
{
	attach_runs(NULL);
}

/* ---- The helper on another processor ---- */

static struct scratch programs;
static char programs_path[256]; /* a PATH that begins there */

static void write_program(const char *name, const char *text)
{
	scratch_write(&programs, name, text, strlen(text));
	cr_assert(fchmodat(programs.fd, name, 0755, 0) == 0);
}

/*
 * A sandbox whose processor is `machine`, as far as the provider sees: uname says so, no file may
 * be executed, and python3, which would run the helper from memory, has qemu run it (and make it
 * executable, as qemu wants it).
 */
static void set_up_processor(const char *machine)
{
	char runner[64], text[200];
	struct helper_image image;

	if (!helper_image_find(machine, &image))
		cr_skip_test("no helper for %s was built: no compiler for it", machine);
	if (!processor_find_runner(machine, runner, sizeof runner))
		cr_skip_test("no qemu-%s here to run the helper with", machine);
	scratch_make(&programs);
	snprintf(text, sizeof text, "#!/bin/sh\necho %s\n", machine);
	write_program("uname", text);
	write_program("chmod", "#!/bin/sh\n");
	snprintf(text, sizeof text, "#!/bin/sh\nshift 3\n/bin/chmod 700 \"$1\"\nexec %s \"$@\"\n",
		runner);
	write_program("python3", text);
	snprintf(programs_path, sizeof programs_path, "%s:/usr/bin:/bin", programs.path);
	attach_runs(programs_path);
	cr_assert(runs.remote.loader && *runs.remote.loader, "the helper is this machine's");
}

static void tear_down_helper_runs(void)
{
	if (runs.serving)
		contract_subject()->p->helper = runs.serving;
	remote_release(&runs.remote);
	contract_end();
}

static void tear_down_processor(void)
{
	tear_down_helper_runs();
	scratch_remove(&programs);
}

#define PROCESSOR_SUITE(machine, ...)                                                              \
	static void set_up_##machine(void)                                                         \
	{                                                                                          \
		set_up_processor(#machine);                                                        \
	}                                                                                          \
	TestSuite(contract_##machine, .init = set_up_##machine, .fini = tear_down_processor,       \
		.timeout = 300);

EACH_MACHINE(PROCESSOR_SUITE, )
TestSuite(contract_in_process, .init = set_up_in_process, .fini = contract_end, .timeout = 300);
TestSuite(contract_helper_process, .init = set_up_helper_process, .fini = contract_end,
	.timeout = 300);
TestSuite(contract_helper_runs, .init = set_up_helper_runs, .fini = tear_down_helper_runs,
	.timeout = 300);
