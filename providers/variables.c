#include "providers/variables.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct variable variables[] = {
	{ "aio", "SANDBOX_API_KEY", VARIABLE_KEY, NULL,
		"the key, or the JWT, of a container that was started with one" },
	{ "aio", "SANDBOX_HOST", VARIABLE_URL, "localhost",
		"the container's host, which may have a port, or a URL" },
	{ "aio", "SANDBOX_PORT", VARIABLE_PORT, NULL,
		"the container's port (8080, else 8090; on another machine 443)" },

	{ "daytona", "DAYTONA_API_KEY", VARIABLE_KEY, NULL, "the key" },
	{ "daytona", "DAYTONA_JWT_TOKEN", VARIABLE_TOKEN, NULL,
		"the token of a person's login, where there is no key" },
	{ "daytona", "DAYTONA_ORGANIZATION_ID", VARIABLE_OTHER, NULL,
		"the organization, which a token does not say" },
	{ "daytona", "DAYTONA_API_URL", VARIABLE_URL, "https://app.daytona.io/api",
		"the base URL of the API" },
	{ "daytona", "DAYTONA_SERVER_URL", VARIABLE_URL, NULL,
		"an older name; DAYTONA_API_URL counts before it" },
	{ "daytona", "DAYTONA_TARGET", VARIABLE_OTHER, NULL,
		"the region of new sandboxes without region=" },
	{ "daytona", "DAYTONA_CONFIG_DIR", VARIABLE_OTHER, NULL,
		"the directory of the config.json that daytona login writes "
		"($XDG_CONFIG_HOME/daytona, or ~/.config/daytona)" },

	{ "e2b", "E2B_API_KEY", VARIABLE_KEY, NULL, "the key" },
	{ "e2b", "E2B_DOMAIN", VARIABLE_OTHER, "e2b.app", "the vendor's domain" },
	{ "e2b", "E2B_API_URL", VARIABLE_URL, NULL,
		"the base URL of the control plane, in place of https://api. and the domain" },
	{ "e2b", "E2B_SANDBOX_URL", VARIABLE_OTHER, NULL,
		"the base URL of the daemon of every sandbox" },
	{ "e2b", "E2B_API_HEADERS", VARIABLE_OTHER, NULL,
		"more headers of every request to the control plane, as lines of NAME: VALUE" },
	{ "e2b", "E2B_TIMEOUT", VARIABLE_OTHER, NULL,
		"for how many seconds a new sandbox lives at first, without lifetime= or --timeout "
		"(the vendor's own default: 300)" },
	{ "e2b", "E2B_DEBUG", VARIABLE_OTHER, NULL,
		"true: a daemon at http://localhost:49983, without a control plane" },

	{ "langsmith", "LANGSMITH_API_KEY", VARIABLE_KEY, NULL, "the key" },
	{ "langsmith", "LANGCHAIN_API_KEY", VARIABLE_KEY, NULL,
		"an older name; LANGSMITH_API_KEY counts before it" },
	{ "langsmith", "LANGSMITH_ENDPOINT", VARIABLE_URL, "https://api.smith.langchain.com",
		"the base URL of the API, with or without /api or /api/v1" },
	{ "langsmith", "LANGCHAIN_ENDPOINT", VARIABLE_URL, NULL,
		"an older name; LANGSMITH_ENDPOINT counts before it" },
	{ "langsmith", "LANGSMITH_TENANT_ID", VARIABLE_OTHER, NULL,
		"the workspace, where a key is of several" },
	{ "langsmith", "LANGSMITH_WORKSPACE_ID", VARIABLE_OTHER, NULL,
		"another name; LANGSMITH_TENANT_ID counts before it" },
	{ "langsmith", "LANGSMITH_CONFIG_FILE", VARIABLE_OTHER, NULL,
		"the file that langsmith auth login writes (~/.langsmith/config.json)" },
	{ "langsmith", "LANGSMITH_PROFILE", VARIABLE_OTHER, NULL,
		"the profile in it, where it is not the one that is current there" },

	{ "modal", "MODAL_TOKEN_ID", VARIABLE_KEY, NULL, "the token's id" },
	{ "modal", "MODAL_TOKEN_SECRET", VARIABLE_KEY, NULL, "the token's secret" },
	{ "modal", "MODAL_OAUTH_REFRESH_TOKEN", VARIABLE_TOKEN, NULL,
		"OAuth, with the next two, in place of a token" },
	{ "modal", "MODAL_OAUTH_CLIENT_ID", VARIABLE_TOKEN, NULL, "the OAuth client's id" },
	{ "modal", "MODAL_OAUTH_CLIENT_SECRET", VARIABLE_TOKEN, NULL, "the OAuth client's secret" },
	{ "modal", "MODAL_OAUTH_JWT_KEY", VARIABLE_TOKEN, NULL,
		"refused: of OAuth's clients those with a secret are served" },
	{ "modal", "MODAL_SERVER_URL", VARIABLE_URL, "https://api.modal.com",
		"the URL of the control plane, of https" },
	{ "modal", "MODAL_ENVIRONMENT", VARIABLE_OTHER, NULL,
		"the environment, where it is not the workspace's default" },
	{ "modal", "MODAL_CONFIG_PATH", VARIABLE_OTHER, NULL,
		"the file with the profiles (~/.modal.toml), which have what no variable says" },
	{ "modal", "MODAL_PROFILE", VARIABLE_OTHER, NULL,
		"the profile, where it is not the one that is active" },
	{ "modal", "MODAL_IMAGE_BUILDER_VERSION", VARIABLE_OTHER, NULL,
		"the version of the image builder, where it is not the environment's" },
	{ "modal", "MODAL_SANDBOX_V2", VARIABLE_OTHER, "true",
		"0 or false: new sandboxes are of the first version, as those with a GPU are" },
	{ "modal", "MODAL_MAX_THROTTLE_WAIT", VARIABLE_OTHER, NULL,
		"for how many seconds in all a call waits because the server asks it to; 0: "
		"never" },

	{ "runloop", "RUNLOOP_API_KEY", VARIABLE_KEY, NULL, "the key" },
	{ "runloop", "RUNLOOP_BASE_URL", VARIABLE_URL, "https://api.runloop.ai",
		"the base URL of the API" },
	{ "runloop", "RUNLOOP_CUSTOM_HEADERS", VARIABLE_OTHER, NULL,
		"more headers of every request, as lines of NAME: VALUE" },

	{ "", "SANDBOX_PROVIDER", VARIABLE_OTHER, NULL,
		"the provider of a source that names none, as in :ID, and of sandboxctl create "
		"without one" },
	{ "", "SANDBOXFS_INSECURE_HTTP", VARIABLE_OTHER, NULL,
		"1: as -o insecure_http, a URL of http that leads to another machine is used, "
		"unencrypted" },
	{ "", "SANDBOXFS_HEADERS", VARIABLE_OTHER, NULL,
		"as -o header=, more headers of every request to the API, as lines of NAME: "
		"VALUE" },
	{ "", "CREDENTIALS_DIRECTORY", VARIABLE_OTHER, NULL,
		"where a key is read from a file that is named like its variable: systemd sets it "
		"for LoadCredential=" },
};

#define COUNT (sizeof variables / sizeof *variables)

const struct variable *variable_at(size_t index)
{
	return index < COUNT ? &variables[index] : NULL;
}

const struct variable *variable_of(const char *provider, enum variable_role role, size_t index)
{
	for (size_t i = 0; i < COUNT; i++)
		if (variables[i].role == role && !strcmp(variables[i].provider, provider) &&
			!index--)
			return &variables[i];
	return NULL;
}

/* By place in the table; owned by the process until its end. */
static struct {
	bool is_hidden;
	char *values[COUNT];
} hidden;

/* By place in the table. */
static bool was_chosen[COUNT];

/* One name may be in the environment several times. */
static void overwrite(const char *name)
{
	size_t len = strlen(name);

	for (char **entry = environ; entry && *entry; entry++)
		if (!strncmp(*entry, name, len) && (*entry)[len] == '=')
			explicit_bzero(*entry + len + 1, strlen(*entry + len + 1));
	unsetenv(name);
}

void variables_hide(void)
{
	for (size_t i = 0; i < COUNT; i++) {
		const char *value = secure_getenv(variables[i].name);

		hidden.values[i] = value ? strdup(value) : NULL;
		overwrite(variables[i].name);
	}
	hidden.is_hidden = true;
}

bool variable_choose(const struct variable *v, const char *value)
{
	char **place = &hidden.values[v - variables];

	was_chosen[v - variables] = true;
	if (!hidden.is_hidden)
		return setenv(v->name, value, 1) == 0;
	free(*place);
	*place = strdup(value);
	return *place != NULL;
}

const char *variable_value(const struct variable *v)
{
	const char *value =
		hidden.is_hidden ? hidden.values[v - variables] : secure_getenv(v->name);

	return value && *value ? value : NULL;
}

static const struct variable *find(const char *name)
{
	const struct variable *v = variables;

	while (v < variables + COUNT && strcmp(v->name, name))
		v++;
	assert(v < variables + COUNT);
	return v;
}

bool variable_choose_named(const char *name, const char *value)
{
	return variable_choose(find(name), value);
}

bool variable_is_chosen(const char *name)
{
	return was_chosen[find(name) - variables];
}

const char *variable_set(const char *name)
{
	return variable_value(find(name));
}

const char *variable(const char *name)
{
	const char *value = variable_set(name);

	return value ? value : find(name)->otherwise;
}

const struct variable *variable_chosen(const char *provider, enum variable_role role)
{
	const struct variable *v;

	for (size_t i = 0; (v = variable_of(provider, role, i)); i++)
		if (variable_value(v))
			return v;
	return NULL;
}

const char *variable_first(const char *provider, enum variable_role role)
{
	const struct variable *first = variable_of(provider, role, 0),
			      *chosen = variable_chosen(provider, role);

	return chosen ? variable_value(chosen) : first ? first->otherwise : NULL;
}
