#include "providers/modal/modal_settings.h"

#include "providers/base/cleanup.h"
#include "providers/home.h"
#include "providers/key.h"
#include "providers/modal/toml.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SERVER_URL "https://api.modal.com"
#define FILE_MAX   ((size_t)256 * 1024)

/* NULL: not set, or empty, which is the same. */
static const char *environment(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

/* ---- The profile ---- */

enum value {
	SERVER,
	TOKEN_ID,
	TOKEN_SECRET,
	REFRESH_TOKEN,
	CLIENT_ID,
	CLIENT_SECRET,
	SIGNING_KEY,
	ENVIRONMENT,
	BUILDER,
	V2,
	THROTTLE,
	VALUES,
};

static const struct {
	const char *variable, *key, *otherwise;
} sources[VALUES] = {
	[SERVER] = { "MODAL_SERVER_URL", "server_url", SERVER_URL },
	[TOKEN_ID] = { "MODAL_TOKEN_ID", "token_id", "" },
	[TOKEN_SECRET] = { "MODAL_TOKEN_SECRET", "token_secret", "" },
	[REFRESH_TOKEN] = { "MODAL_OAUTH_REFRESH_TOKEN", "oauth_refresh_token", "" },
	[CLIENT_ID] = { "MODAL_OAUTH_CLIENT_ID", "oauth_client_id", "" },
	[CLIENT_SECRET] = { "MODAL_OAUTH_CLIENT_SECRET", "oauth_client_secret", "" },
	[SIGNING_KEY] = { "MODAL_OAUTH_JWT_KEY", "oauth_jwt_key", "" },
	[ENVIRONMENT] = { "MODAL_ENVIRONMENT", "environment", "" },
	[BUILDER] = { "MODAL_IMAGE_BUILDER_VERSION", "image_builder_version", "" },
	[V2] = { "MODAL_SANDBOX_V2", "sandbox_v2", "true" },
	[THROTTLE] = { "MODAL_MAX_THROTTLE_WAIT", "max_throttle_wait", "-1" },
};

struct profile {
	const char *wanted; /* MODAL_PROFILE; NULL: the first that is active */
	char *name;         /* owned; NULL: none */
	char *values[VALUES];
	bool has_failed; /* no memory */
};

static void wipe(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

static void profile_release(struct profile *p)
{
	free(p->name);
	for (size_t i = 0; i < VALUES; i++)
		wipe(&p->values[i]);
}
#define AUTO_PROFILE __attribute__((cleanup(profile_release)))

static void keep(struct profile *p, char **place, const char *text)
{
	wipe(place);
	*place = strdup(text);
	p->has_failed |= !*place;
}

static void find_active(void *context, const char *table, const char *key, const char *value)
{
	struct profile *p = context;

	if (!p->name && !strcmp(key, "active") && !strcmp(value, "true"))
		keep(p, &p->name, table);
}

static void take_value(void *context, const char *table, const char *key, const char *value)
{
	struct profile *p = context;

	for (size_t i = 0; i < VALUES; i++)
		if (!strcmp(table, p->name) && !strcmp(key, sources[i].key))
			keep(p, &p->values[i], value);
}

/* Its length; negative: it cannot be read, which is as if it were empty. */
static ssize_t read_file(const char *path, char text[FILE_MAX])
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;
	ssize_t got = 1;

	while (fd >= 0 && len < FILE_MAX && (got = read(fd, text + len, FILE_MAX - len)) > 0)
		len += (size_t)got;
	return fd < 0 || got < 0 ? -1 : (ssize_t)len;
}

static enum err parse_file(struct profile *p, const char *text, size_t len, struct error *e)
{
	enum err kind = ERR_OK;

	if (p->wanted)
		keep(p, &p->name, p->wanted);
	else
		kind = toml_read(text, len, find_active, p, e);
	if (!kind && p->name)
		kind = toml_read(text, len, take_value, p, e);
	return kind;
}

static enum err read_profile(struct profile *p, struct error *e)
{
	const char *given = environment("MODAL_CONFIG_PATH");
	AUTO_FREE char *path = NULL, *home = home_dir(), *text = malloc(FILE_MAX);
	struct error why = { 0 };
	ssize_t len;

	*p = (struct profile){ .wanted = environment("MODAL_PROFILE") };
	if (asprintf(&path, "%s%s",
		    given          ? given
			    : home ? home
				   : "",
		    given ? "" : "/.modal.toml") < 0)
		path = NULL;
	if (!path || !text)
		return error_set(e, ERR_NO_MEMORY, "modal");
	len = read_file(path, text);
	if (len > 0 && parse_file(p, text, (size_t)len, &why))
		return error_set(e, ERR_INVALID, "modal: %s: %s", path, why.text);
	explicit_bzero(text, FILE_MAX);
	return p->has_failed ? error_set(e, ERR_NO_MEMORY, "modal") : ERR_OK;
}

/* ---- The settings ---- */

static const char *value_of(const struct profile *p, enum value which)
{
	const char *set = environment(sources[which].variable);

	return set ? set : p->values[which] ? p->values[which] : sources[which].otherwise;
}

static bool is_off(const char *text)
{
	return !strcmp(text, "0") || !strcasecmp(text, "false");
}

static char *without_slashes(const char *url)
{
	size_t len = strlen(url);

	while (len && url[len - 1] == '/')
		len--;
	return strndup(url, len);
}

/* Both halves, or the secret one alone. */
static enum err take_key_file(struct modal_settings *s, const char *file, struct error *e)
{
	static const char *const no_variables[] = { NULL };
	char *key = NULL, *colon;
	enum err kind = key_read(&key, file, no_variables, "modal", e);

	if (kind)
		return kind;
	colon = strchr(key, ':');
	wipe(&s->token_secret);
	s->token_secret = strdup(colon ? colon + 1 : key);
	if (colon) {
		wipe(&s->token_id);
		s->token_id = strndup(key, (size_t)(colon - key));
	}
	key_free(key);
	return s->token_id && s->token_secret ? ERR_OK : error_set(e, ERR_NO_MEMORY, "modal");
}

static enum err check_token(const struct modal_settings *s, struct error *e)
{
	const char *lacking = !*s->token_id ? "MODAL_TOKEN_ID"
		: !*s->token_secret         ? "MODAL_TOKEN_SECRET"
					    : NULL;

	return lacking ? error_set(e, ERR_AUTH,
				 "modal: %s is not set, and no profile of ~/.modal.toml has it; -o "
				 "key_file= names "
				 "a file with TOKEN_ID:TOKEN_SECRET",
				 lacking)
		       : ERR_OK;
}

/* As Modal's own SDK takes it; what it signs with a key, where it has one, we do not. */
static enum err check_oauth(const struct modal_settings *s, bool has_key, struct error *e)
{
	enum value lacking = !*s->refresh_token ? REFRESH_TOKEN
		: !*s->client_id                ? CLIENT_ID
						: CLIENT_SECRET;

	if (*s->token_id || *s->token_secret)
		return error_set(e, ERR_INVALID,
			"modal: there is a token (MODAL_TOKEN_ID, MODAL_TOKEN_SECRET) and OAuth "
			"(MODAL_OAUTH_...), and only one of them can count");
	if (has_key && !*s->client_secret)
		return error_set(e, ERR_UNSUPPORTED,
			"modal: MODAL_OAUTH_JWT_KEY cannot be used here; MODAL_OAUTH_CLIENT_SECRET "
			"can");
	return *s->refresh_token && *s->client_id && *s->client_secret
		? ERR_OK
		: error_set(e, ERR_AUTH, "modal: %s is not set, which OAuth needs",
			  sources[lacking].variable);
}

/* A key file is what was asked for, whatever else is there. */
static enum err settle_credentials(
	struct modal_settings *s, const char *key_file, bool has_key, struct error *e)
{
	enum err kind = key_file ? take_key_file(s, key_file, e) : ERR_OK;

	if (kind)
		return kind;
	s->is_oauth =
		!key_file && (*s->refresh_token || *s->client_id || *s->client_secret || has_key);
	return s->is_oauth ? check_oauth(s, has_key, e) : check_token(s, e);
}

static enum err fill(
	struct modal_settings *s, const struct profile *p, const char *key_file, struct error *e)
{
	double throttle_s = strtod(value_of(p, THROTTLE), NULL);

	*s = (struct modal_settings){ .server_url = without_slashes(value_of(p, SERVER)),
		.token_id = strdup(value_of(p, TOKEN_ID)),
		.token_secret = strdup(value_of(p, TOKEN_SECRET)),
		.refresh_token = strdup(value_of(p, REFRESH_TOKEN)),
		.client_id = strdup(value_of(p, CLIENT_ID)),
		.client_secret = strdup(value_of(p, CLIENT_SECRET)),
		.environment = strdup(value_of(p, ENVIRONMENT)),
		.builder_version = strdup(value_of(p, BUILDER)),
		.is_v1 = is_off(value_of(p, V2)),
		.throttle_max_ms =
			throttle_s >= 0 && throttle_s < 1e9 ? (int64_t)(throttle_s * 1000) : -1 };
	if (!s->server_url || !s->token_id || !s->token_secret || !s->refresh_token ||
		!s->client_id || !s->client_secret || !s->environment || !s->builder_version)
		return error_set(e, ERR_NO_MEMORY, "modal");
	return settle_credentials(s, key_file, *value_of(p, SIGNING_KEY), e);
}

enum err modal_settings_read(struct modal_settings *out, const char *key_file, struct error *e)
{
	AUTO_PROFILE struct profile profile;
	enum err kind = read_profile(&profile, e);

	*out = (struct modal_settings){ 0 };
	if (!kind)
		kind = fill(out, &profile, key_file, e);
	if (kind)
		modal_settings_release(out);
	return kind;
}

void modal_settings_release(struct modal_settings *s)
{
	wipe(&s->token_id);
	wipe(&s->token_secret);
	wipe(&s->refresh_token);
	wipe(&s->client_secret);
	free(s->client_id);
	free(s->server_url);
	free(s->environment);
	free(s->builder_version);
	*s = (struct modal_settings){ 0 };
}
