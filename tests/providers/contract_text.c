/*
 * The contract's subjects for vendors that only run programs and give their output as text, with
 * both streams in one (providers/remote/remote.h): a provider without a vendor, on this machine.
 * Output comes at a program's end alone, and large output is left in a file.
 */
#include "providers/remote/command.h"
#include "tests/providers/contract.h"
#include "tests/support/host_remote.h"

#include <fcntl.h>
#include <stdio.h>

static const struct subject text = {
	.name = "text", .is_remote = true, .lacks = LACKS_WATCH | IS_ALONE | LACKS_PORTS
};

struct host {
	struct provider base;
	struct host_remote remote_host;
	struct remote remote;
	char id[128];
};

static struct host *host_of(struct provider *p)
{
	return (struct host *)p;
}

static void host_release(struct provider *p)
{
	remote_release(&host_of(p)->remote);
	free(p);
}

static const struct provider_ops host_provider;

static void fill(struct host *h, const struct provider_config *cfg)
{
	h->base = (struct provider){ .ops = &host_provider,
		.helper = h->remote.helper,
		.staging = h->remote.staging,
		.root = h->remote.root };
	snprintf(h->id, sizeof h->id, "%s", cfg->id);
}

/*
 * The sandbox is the subject's scratch directory. Its tree is the home of commands, as in other
 * sandboxes.
 */
static enum err host_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	struct host *h = calloc(1, sizeof *h);
	struct remote_ops ops;
	char home[128];
	enum err kind;

	cr_assert(h != NULL);
	snprintf(home, sizeof home, "%s/user", contract_subject()->scratch.path);
	host_remote_init(&h->remote_host, home);
	h->remote_host.is_text = true;
	h->remote_host.is_merged = true;
	h->remote_host.is_late = true;
	h->remote_host.inline_max = 4000;
	h->remote_host.download_min = 20000;
	ops = host_remote_ops(&h->remote_host);
	kind = remote_attach(&h->remote, &ops, cfg, NULL, call, e);
	if (kind) {
		free(h);
		return kind;
	}
	fill(h, cfg);
	*out = &h->base;
	return ERR_OK;
}

static enum err host_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	const struct host *h = host_of(p);

	(void)call, (void)e;
	*out = (struct sandbox_info){
		.state = SANDBOX_RUNNING, .expires_s = -1, .identity = h->remote.identity
	};
	snprintf(out->id, sizeof out->id, "%s", h->id);
	snprintf(out->root, sizeof out->root, "%s", h->remote.root);
	return ERR_OK;
}

static enum err host_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	return remote_command(&host_of(p)->remote, call, request, sink, context, result, e);
}

static const struct provider_ops host_provider = { .name = "host",
	.title = "Host",
	.key_names = "",
	.caps = PROVIDER_NAMES_IDS,
	.connect = host_connect,
	.release = host_release,
	.info = host_info,
	.execute = host_execute };

static void set_up(const struct subject *row)
{
	struct subject *s = contract_subject();

	contract_begin(row, &host_provider);
	scratch_make(&s->scratch);
	scratch_mkdir(&s->scratch, "user", 0755);
	contract_connect(s, "contract");
	s->tree.fd = openat(s->scratch.fd, "user", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(s->tree.fd >= 0);
}

static void set_up_text(void)
{
	set_up(&text);
}

TestSuite(contract_text, .init = set_up_text, .fini = contract_end, .timeout = 300);
