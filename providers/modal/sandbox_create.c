/* Making a sandbox: its app, and the sandbox itself. */
#include "providers/base/cleanup.h"
#include "providers/modal/modal_answer.h"
#include "providers/modal/modal.pb-c.h"
#include "providers/modal/sandbox_create.h"
#include "providers/reach.h"
#include "providers/rest/rest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define CREATE_IF_MISSING 1
#define EPHEMERAL         5
#define NETWORK_OPEN      1
#define NETWORK_BLOCKED   2
#define NETWORK_ALLOWED   3

/*
 * A sandbox's time cannot be made longer afterwards, and at its end all is lost. So it is the
 * longest that Modal gives, not its default of 300 s. Source: Modal's guide to sandboxes.
 */
#define LIFETIME_MAX_S 86400

static void sandbox_create_release(struct sandbox_create *m)
{
	free(m->app_id);
	free(m->image_id);
	free(m->builder_version);
	free(m->secret_id);
}
#define AUTO_MAKING __attribute__((cleanup(sandbox_create_release)))

enum err sandbox_create_keep(char **out, const char *text, const char *what, struct error *e)
{
	if (!text || !*text)
		return error_set(
			e, ERR_PROTOCOL, "modal: making a sandbox: no %s in the answer", what);
	*out = strdup(text);
	return *out ? ERR_OK : error_set(e, ERR_NO_MEMORY, "modal");
}

enum err sandbox_create_ask(struct sandbox_create *m, const char *method,
	const ProtobufCMessage *message, const ProtobufCMessageDescriptor *type,
	ProtobufCMessage **answer, struct error *e)
{
	const struct control_ask wanted = {
		.method = method, .message = message, .type = type, .what = "making a sandbox"
	};

	enum grpc_status status;
	struct error why = { 0 };
	enum err kind = modal_control_call(m->c, m->call, &wanted, answer, &status, &why);

	/* In calls that make a sandbox this status means an exhausted quota, which lasts. */
	if (kind && status == GRPC_RESOURCE_EXHAUSTED)
		kind = ERR_QUOTA;
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* ---- The app ---- */

static enum err find_app(struct sandbox_create *m, struct error *e)
{
	Modal__AppGetOrCreateRequest request = MODAL__APP_GET_OR_CREATE_REQUEST__INIT;
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	enum err kind;

	request.app_name = (char *)(m->cfg->app ? m->cfg->app : SANDBOX_APP);
	request.environment_name = m->settings->environment;
	request.has_object_creation_type = 1;
	request.object_creation_type = CREATE_IF_MISSING;
	kind = sandbox_create_ask(m, "AppGetOrCreate", &request.base,
		&modal__app_get_or_create_response__descriptor, &answer, e);
	return kind ? kind
		    : sandbox_create_keep(&m->app_id,
			      ((Modal__AppGetOrCreateResponse *)answer)->app_id, "app", e);
}

/* ---- The sandbox ---- */

/* "NAME=value" each, as a map; owned. */
struct pairs {
	Modal__StringPair *list, **pointers;
	size_t count;
};

static void pairs_release(struct pairs *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->list[i].key);
	free(p->list);
	free(p->pointers);
}
#define AUTO_PAIRS __attribute__((cleanup(pairs_release)))

static enum err split(struct pairs *out, const char *const *entries, struct error *e)
{
	size_t count = 0;

	while (entries && entries[count])
		count++;
	*out = (struct pairs){ .list = calloc(count + 1, sizeof *out->list),
		.pointers = calloc(count + 1, sizeof *out->pointers) };
	if (!out->list || !out->pointers)
		return error_set(e, ERR_NO_MEMORY, "modal");
	for (; out->count < count; out->count++) {
		Modal__StringPair *pair = &out->list[out->count];
		char *equals;

		modal__string_pair__init(pair);
		pair->key = strdup(entries[out->count]);
		equals = pair->key ? strchr(pair->key, '=') : NULL;
		if (!equals) {
			free(pair->key);
			return error_set(e, ERR_INVALID, "modal: '%.100s' is not NAME=value",
				entries[out->count]);
		}
		*equals = 0;
		pair->value = equals + 1;
		out->pointers[out->count] = pair;
	}
	return ERR_OK;
}

/* In the first version the environment is a secret, which is made before. */
static enum err make_secret(struct sandbox_create *m, const struct pairs *env, struct error *e)
{
	Modal__SecretGetOrCreateRequest request = MODAL__SECRET_GET_OR_CREATE_REQUEST__INIT;
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	enum err kind;

	request.environment_name = m->settings->environment;
	request.has_object_creation_type = 1;
	request.object_creation_type = EPHEMERAL;
	request.app_id = m->app_id;
	request.n_env_dict = env->count;
	request.env_dict = env->pointers;
	kind = sandbox_create_ask(m, "SecretGetOrCreate", &request.base,
		&modal__secret_get_or_create_response__descriptor, &answer, e);
	return kind ? kind
		    : sandbox_create_keep(&m->secret_id,
			      ((Modal__SecretGetOrCreateResponse *)answer)->secret_id, "secret", e);
}

struct definition {
	Modal__SandboxDefinition sandbox;
	Modal__NetworkAccess network;
	char **allowed; /* the strings of network.allowed_* */
	Modal__Resources resources;
	Modal__GpuConfig gpu;
	Modal__SchedulerPlacement placement;
	Modal__PortSpecs ports;
	Modal__PortSpec *port_list, **port_pointers; /* owned, both */
	char gpu_type[64];
	char *secret_ids[1], *regions[1];
};

/* "a100-80gb:4" is four of "A100-80GB". */
static void set_gpu(struct definition *d, const char *text)
{
	size_t len = strcspn(text, ":");

	for (size_t i = 0; i < len && i < sizeof d->gpu_type - 1; i++)
		d->gpu_type[i] = (char)toupper((unsigned char)text[i]);
	d->gpu.gpu_type = d->gpu_type;
	d->gpu.has_count = 1;
	d->gpu.count = text[len] ? (uint32_t)strtoul(text + len + 1, NULL, 10) : 1;
	d->resources.gpu_config = &d->gpu;
}

static void set_resources(struct definition *d, const struct provider_config *cfg)
{
	d->resources.has_milli_cpu = cfg->cpus > 0;
	d->resources.milli_cpu = (uint32_t)(cfg->cpus * 1000);
	d->resources.has_memory_mb = cfg->memory_mb > 0;
	d->resources.memory_mb = (uint32_t)cfg->memory_mb;
	if (cfg->gpu)
		set_gpu(d, cfg->gpu);
	d->sandbox.resources = &d->resources;
}

/* The place is in Modal's words: "us-east". */
static void set_place(struct definition *d, const struct provider_config *cfg)
{
	if (!cfg->region)
		return;
	d->regions[0] = (char *)cfg->region;
	d->placement.n_regions = 1;
	d->placement.regions = d->regions;
	d->sandbox.scheduler_placement = &d->placement;
}

/* TLS ends before these ports: their programs get the content without it. */
static enum err set_ports(struct definition *d, const uint16_t *ports, struct error *e)
{
	size_t count = 0;

	while (ports && ports[count])
		count++;
	if (!count)
		return ERR_OK;
	d->port_list = calloc(count, sizeof *d->port_list);
	d->port_pointers = calloc(count, sizeof *d->port_pointers);
	if (!d->port_list || !d->port_pointers)
		return error_set(e, ERR_NO_MEMORY, "modal");
	for (size_t i = 0; i < count; i++) {
		modal__port_spec__init(&d->port_list[i]);
		d->port_list[i].has_port = 1;
		d->port_list[i].port = ports[i];
		d->port_pointers[i] = &d->port_list[i];
	}
	d->ports.n_ports = count;
	d->ports.ports = d->port_pointers;
	d->sandbox.open_ports = &d->ports;
	return ERR_OK;
}

/* One array has the addresses at its begin and the names at its end. */
static enum err set_network(
	struct definition *d, const struct provider_config *cfg, struct error *e)
{
	Modal__NetworkAccess *network = &d->network;
	size_t count = 0;

	network->has_network_access_type = 1;
	network->network_access_type = cfg->allowed ? NETWORK_ALLOWED
		: cfg->block_network                ? NETWORK_BLOCKED
						    : NETWORK_OPEN;
	d->sandbox.network_access = network;
	if (!cfg->allowed)
		return ERR_OK;
	while (cfg->allowed[count])
		count++;
	d->allowed = calloc(count, sizeof *d->allowed);
	if (!d->allowed)
		return error_set(e, ERR_NO_MEMORY, "modal");
	network->allowed_cidrs = d->allowed;
	network->allowed_domains = d->allowed + count;
	for (size_t i = 0; i < count; i++)
		if (reach_is_addresses(cfg->allowed[i])) {
			network->allowed_cidrs[network->n_allowed_cidrs++] =
				(char *)cfg->allowed[i];
		} else {
			*--network->allowed_domains = (char *)cfg->allowed[i];
			network->n_allowed_domains++;
		}
	return ERR_OK;
}

static void definition_release(struct definition *d)
{
	free(d->allowed);
	free(d->port_list);
	free(d->port_pointers);
}
#define AUTO_DEFINITION __attribute__((cleanup(definition_release)))

static enum err define(struct definition *d, const struct sandbox_create *m, struct error *e)
{
	enum err kind;

	*d = (struct definition){ .sandbox = MODAL__SANDBOX_DEFINITION__INIT,
		.network = MODAL__NETWORK_ACCESS__INIT,
		.resources = MODAL__RESOURCES__INIT,
		.gpu = MODAL__GPU_CONFIG__INIT,
		.placement = MODAL__SCHEDULER_PLACEMENT__INIT,
		.ports = MODAL__PORT_SPECS__INIT,
		.secret_ids = { m->secret_id } };
	d->sandbox.image_id = m->image_id;
	d->sandbox.name = (char *)m->cfg->name;
	d->sandbox.has_timeout_secs = 1;
	d->sandbox.timeout_secs =
		(uint32_t)(m->cfg->lifetime_s ? m->cfg->lifetime_s : LIFETIME_MAX_S);
	d->sandbox.n_secret_ids = m->secret_id ? 1 : 0;
	d->sandbox.secret_ids = d->secret_ids;
	d->sandbox.has_idle_timeout_secs = m->cfg->idle_s > 0;
	d->sandbox.idle_timeout_secs = (uint32_t)m->cfg->idle_s;
	set_resources(d, m->cfg);
	set_place(d, m->cfg);
	kind = set_network(d, m->cfg, e);
	return kind ? kind : set_ports(d, m->cfg->ports, e);
}

/* There is no idempotency key: where the answer is lost, the user must look. */
static enum err sandbox_lost_answer(enum err kind, const struct error *why, struct error *e)
{
	switch (kind) {
	case ERR_INTERRUPTED:
	case ERR_PROTOCOL:
	case ERR_TIMEOUT:
	case ERR_UNREACHABLE:
		return error_set(e, kind, "%.250s" REST_MAY_EXIST, why->text, "modal");
	default: return error_set(e, kind, "%s", why->text);
	}
}

static enum err make(struct sandbox_create *m, const struct pairs *env, const struct pairs *labels,
	char id[SANDBOX_ID_MAX], struct error *e)
{
	Modal__SandboxCreateRequest request = MODAL__SANDBOX_CREATE_REQUEST__INIT;
	Modal__StringMap map = MODAL__STRING_MAP__INIT;
	Modal__SecretSource source = MODAL__SECRET_SOURCE__INIT, *sources[] = { &source };
	AUTO_ANSWER ProtobufCMessage *answer = NULL;
	AUTO_DEFINITION struct definition definition;
	struct error why = { 0 };
	const char *made;
	enum err kind = define(&definition, m, e);

	if (kind)
		return kind;
	map.n_contents = env->count;
	map.contents = env->pointers;
	source.env = &map;
	request.app_id = m->app_id;
	request.definition = &definition.sandbox;
	/* A tag is such a pair as well: two strings, 1 and 2. */
	request.n_tags = labels->count;
	request.tags = labels->pointers;
	request.n_secret_sources = env->count && !m->is_v1 ? 1 : 0;
	request.secret_sources = sources;
	kind = sandbox_create_ask(m, m->is_v1 ? "SandboxCreate" : "SandboxCreateV2", &request.base,
		&modal__sandbox_create_response__descriptor, &answer, &why);
	if (kind)
		return sandbox_lost_answer(kind, &why, e);
	made = ((Modal__SandboxCreateResponse *)answer)->sandbox_id;
	if (sandbox_check_id(made ? made : "", &why))
		return sandbox_lost_answer(ERR_PROTOCOL, &why, e);
	snprintf(id, SANDBOX_ID_MAX, "%s", made);
	return ERR_OK;
}

enum err sandbox_create(struct modal_control *c, const struct call *call,
	const struct modal_settings *settings, const struct provider_config *cfg,
	char id[SANDBOX_ID_MAX], struct error *e)
{
	AUTO_MAKING struct sandbox_create m = { .c = c,
		.call = call,
		.settings = settings,
		.cfg = cfg,
		.is_v1 = settings->is_v1 || cfg->gpu };
	AUTO_PAIRS struct pairs env = { 0 }, labels = { 0 };
	enum err kind = split(&env, cfg->env, e);

	if (!kind)
		kind = split(&labels, cfg->labels, e);
	if (!kind)
		kind = find_app(&m, e);
	if (!kind)
		kind = sandbox_create_image(&m, e);
	if (!kind && m.is_v1 && env.count)
		kind = make_secret(&m, &env, e);
	return kind ? kind : make(&m, &env, &labels, id, e);
}
