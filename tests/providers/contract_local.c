/* The embedded sandbox as the contract's subject, in each of the ways its verbs can be done. */
#include "tests/providers/contract.h"
#include "tests/support/host_remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

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

/* ---- The helper started anew for each request, as a vendor does it: in place of the one that serves ---- */

static struct {
	struct host_remote host;
	struct remote remote;
	struct helper_client *serving; /* the provider's own */
} runs;

static void set_up_helper_runs(void)
{
	const struct provider_config cfg = { .path = "user" };
	struct remote_ops ops;
	struct error e = { 0 };
	char home[128];

	set_up(&helper_runs);
	snprintf(home, sizeof home, "%s/sandboxfs/contract/tree", contract_subject()->scratch.path);
	host_remote_init(&runs.host, home);
	/* So that every way of a request is gone. */
	runs.host.inline_max = 200;
	ops = host_remote_ops(&runs.host);
	remote_attach(&runs.remote, &ops, &cfg, NULL, NULL, &e);
	cr_assert(runs.remote.helper != NULL, "attach: %s", e.text);
	runs.serving = contract_subject()->p->helper;
	contract_subject()->p->helper = runs.remote.helper;
}

static void tear_down_helper_runs(void)
{
	if (runs.serving)
		contract_subject()->p->helper = runs.serving;
	remote_release(&runs.remote);
	contract_end();
}

TestSuite(contract_in_process, .init = set_up_in_process, .fini = contract_end, .timeout = 300);
TestSuite(contract_helper_process, .init = set_up_helper_process, .fini = contract_end,
	.timeout = 300);
TestSuite(contract_helper_runs, .init = set_up_helper_runs, .fini = tear_down_helper_runs,
	.timeout = 300);
