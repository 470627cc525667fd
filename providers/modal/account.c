#include "providers/modal/account.h"

#include "providers/base/cleanup.h"
#include "providers/key.h"
#include "providers/modal/toml.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PREFIX "MODAL_"
/* The profile that is active where no profile says that it is. */
#define USUAL "default"

/* ---- The profile ---- */

#define PLACE(member)  offsetof(struct modal_settings, member), false
#define SECRET(member) offsetof(struct modal_settings, member), true

/* A profile has each value under a name in small letters, without the prefix. */
static const struct {
	const char *variable;
	size_t place;
	bool is_secret;
} rows[] = {
	{ "MODAL_SERVER_URL", PLACE(server_url) },
	{ "MODAL_TOKEN_ID", PLACE(token_id) },
	{ "MODAL_TOKEN_SECRET", SECRET(token_secret) },
	{ "MODAL_OAUTH_REFRESH_TOKEN", SECRET(refresh_token) },
	{ "MODAL_OAUTH_CLIENT_ID", PLACE(client_id) },
	{ "MODAL_OAUTH_CLIENT_SECRET", SECRET(client_secret) },
	{ "MODAL_OAUTH_JWT_KEY", PLACE(signing_key) },
	{ "MODAL_ENVIRONMENT", PLACE(environment) },
	{ "MODAL_IMAGE_BUILDER_VERSION", PLACE(builder_version) },
	{ "MODAL_SANDBOX_V2", PLACE(v2) },
	{ "MODAL_MAX_THROTTLE_WAIT", PLACE(throttle_s) },
};

#define ROWS (sizeof rows / sizeof *rows)

static char **place_of(struct modal_settings *s, size_t row)
{
	return (char **)((char *)s + rows[row].place);
}

struct profile {
	const char *wanted; /* MODAL_PROFILE; NULL: the first that is active */
	char *name;         /* owned; NULL: none */
	struct modal_settings *settings;
	struct login file;   /* owned; the file's path, and the URL in the file */
	bool gives_secret;   /* the profile has a secret that no variable replaces */
	bool has_failed;     /* no memory */
	struct error unread; /* why the file is not read; kind 0: it is read, or does not exist */
};

static void profile_release(struct profile *p)
{
	free(p->name);
	login_release(&p->file);
}
#define AUTO_PROFILE __attribute__((cleanup(profile_release)))

static void keep(struct profile *p, char **place, const char *text)
{
	key_free(*place);
	*place = strdup(text);
	p->has_failed |= !*place;
}

static void find_active(void *context, const char *table, const char *key, const char *value)
{
	struct profile *p = context;

	if (!p->name && !strcmp(key, "active") && !strcmp(value, "true"))
		keep(p, &p->name, table);
}

static bool is_key_of(const char *key, const char *variable)
{
	for (variable += strlen(PREFIX); *variable; variable++)
		if (*key++ != tolower((unsigned char)*variable))
			return false;
	return !*key;
}

static void take_value(void *context, const char *table, const char *key, const char *value)
{
	struct profile *p = context;

	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(table, p->name) && is_key_of(key, rows[i].variable))
			keep(p, place_of(p->settings, i), value);
}

static enum err parse_file(struct profile *p, const char *text, size_t len, struct error *e)
{
	enum err kind = ERR_OK;

	if (p->wanted)
		keep(p, &p->name, p->wanted);
	else
		kind = toml_read(text, len, find_active, p, e);
	if (!kind && !p->name)
		keep(p, &p->name, USUAL);
	if (!kind && p->name)
		kind = toml_read(text, len, take_value, p, e);
	if (p->settings->server_url)
		keep(p, &p->file.url, p->settings->server_url);
	return kind;
}

static char *find_path(void)
{
	const char *given = variable("MODAL_CONFIG_PATH");

	return given ? strdup(given) : login_home_path(".modal.toml");
}

static enum err parse_named(struct profile *p, char *text, struct error *e)
{
	struct error why = { 0 };
	size_t len;
	enum err kind = login_text(p->file.path, text, &len, &why);

	/* An unreadable file is no error yet: the environment may have all settings. */
	if (kind == ERR_INVALID)
		p->unread = why;
	if (kind)
		return kind == ERR_NOT_FOUND || kind == ERR_INVALID
			? ERR_OK
			: error_set(e, kind, "modal: %s", why.text);
	kind = parse_file(p, text, len, &why);
	return kind ? error_set(e, kind, "modal: %s: %s", p->file.path, why.text) : ERR_OK;
}

static enum err read_text(struct profile *p, struct error *e)
{
	AUTO_FREE char *text = malloc(LOGIN_FILE_MAX);
	enum err kind;

	if (!text)
		return error_set(e, ERR_NO_MEMORY, "modal");
	kind = parse_named(p, text, e);
	explicit_bzero(text, LOGIN_FILE_MAX);
	return kind;
}

static enum err read_profile(struct profile *p, struct error *e)
{
	p->file.path = find_path();
	return p->file.path ? read_text(p, e) : ERR_OK;
}

/* The secret half of a token stands for both halves. */
static enum err read_login(struct login *out, const char *text, size_t len, struct error *e)
{
	struct modal_settings s = { 0 };
	AUTO_PROFILE struct profile p = { .wanted = variable("MODAL_PROFILE"), .settings = &s };
	enum err kind = parse_file(&p, text, len, e);

	if (!kind && p.has_failed)
		kind = error_set(e, ERR_NO_MEMORY, "modal");
	out->key = s.token_secret ? take(s.token_secret) : take(s.refresh_token);
	out->url = take(s.server_url);
	modal_settings_release(&s);
	return kind;
}

const struct login_format modal_login = {
	.path = find_path,
	.read = read_login,
	.command = "modal token new",
	.is_in_halves = true,
};

/* ---- The settings ---- */

/* A variable counts before the profile, and the profile before the default. */
static void take_variables(struct profile *p)
{
	for (size_t i = 0; i < ROWS; i++) {
		char **place = place_of(p->settings, i);
		const char *value =
			*place ? variable_set(rows[i].variable) : variable(rows[i].variable);

		p->gives_secret |= rows[i].is_secret && *place && !value;
		if (value || !*place)
			keep(p, place, value ? value : "");
	}
}

static bool is_off(const char *text)
{
	return !strcmp(text, "0") || !strcasecmp(text, "false");
}

static void strip_slashes(char *url)
{
	size_t len = strlen(url);

	while (len && url[len - 1] == '/')
		url[--len] = 0;
}

/* The line has both halves of the token, or the secret alone. */
static enum err take_key_file(struct modal_settings *s, const char *file, struct error *e)
{
	char *key = NULL, *colon;
	enum err kind = key_read(&key, file, "modal", VARIABLE_KEY, e);

	if (kind)
		return kind;
	colon = strchr(key, ':');
	key_free(s->token_secret);
	s->token_secret = strdup(colon ? colon + 1 : key);
	if (colon) {
		key_free(s->token_id);
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
				 "modal: %s is not set, and no profile of ~/.modal.toml that is "
				 "active or default has it; -o key_file= names a file with "
				 "TOKEN_ID:TOKEN_SECRET",
				 lacking)
		       : ERR_OK;
}

/* OAuth as Modal's own SDK does it, except for signing with a key, which is not supported here. */
static enum err check_oauth(const struct modal_settings *s, struct error *e)
{
	const char *lacking = !*s->refresh_token ? "MODAL_OAUTH_REFRESH_TOKEN"
		: !*s->client_id                 ? "MODAL_OAUTH_CLIENT_ID"
		: !*s->client_secret             ? "MODAL_OAUTH_CLIENT_SECRET"
						 : NULL;

	if (*s->token_id || *s->token_secret)
		return error_set(e, ERR_INVALID,
			"modal: there is a token (MODAL_TOKEN_ID, MODAL_TOKEN_SECRET) and OAuth "
			"(MODAL_OAUTH_...), and only one of them can count");
	if (*s->signing_key && !*s->client_secret)
		return error_set(e, ERR_UNSUPPORTED,
			"modal: MODAL_OAUTH_JWT_KEY cannot be used here; MODAL_OAUTH_CLIENT_SECRET "
			"can");
	return lacking ? error_set(e, ERR_AUTH, "modal: %s is not set, which OAuth needs", lacking)
		       : ERR_OK;
}

/* A key file is the user's choice, so it wins over all other credentials. */
static enum err choose_credentials(struct modal_settings *s, const char *key_file, struct error *e)
{
	enum err kind = key_file ? take_key_file(s, key_file, e) : ERR_OK;

	if (kind)
		return kind;
	s->is_oauth = !key_file &&
		(*s->refresh_token || *s->client_id || *s->client_secret || *s->signing_key);
	return s->is_oauth ? check_oauth(s, e) : check_token(s, e);
}

static enum err complete_settings(struct modal_settings *s, const char *key_file, struct error *e)
{
	double throttle_s = *s->throttle_s ? strtod(s->throttle_s, NULL) : -1;

	strip_slashes(s->server_url);
	s->is_v1 = is_off(s->v2);
	s->throttle_max_ms =
		throttle_s >= 0 && throttle_s < 1e9 ? (int64_t)(throttle_s * 1000) : -1;
	return choose_credentials(s, key_file, e);
}

/* The secret of a profile goes to the profile's server, or to the vendor's. */
static enum err check_server(
	const struct profile *p, const struct modal_settings *s, struct error *e)
{
	const char *own = variable_of("modal", VARIABLE_URL, 0)->otherwise;
	struct error why = { 0 };
	enum err kind =
		p->gives_secret ? login_check_url(&p->file, own, s->server_url, &why) : ERR_OK;

	return kind ? error_set(e, kind, "modal: %s", why.text) : ERR_OK;
}

enum err modal_settings_read(struct modal_settings *out, const char *key_file, struct error *e)
{
	AUTO_PROFILE struct profile profile = { .wanted = variable("MODAL_PROFILE"),
		.settings = out };
	enum err kind;

	*out = (struct modal_settings){ 0 };
	kind = read_profile(&profile, e);
	if (!kind) {
		take_variables(&profile);
		kind = profile.has_failed ? error_set(e, ERR_NO_MEMORY, "modal")
					  : complete_settings(out, key_file, e);
	}
	if (kind && profile.unread.kind)
		kind = error_set(e, profile.unread.kind, "modal: %s", profile.unread.text);
	if (!kind && !key_file)
		kind = check_server(&profile, out, e);
	if (kind)
		modal_settings_release(out);
	return kind;
}

void modal_settings_release(struct modal_settings *s)
{
	for (size_t i = 0; i < ROWS; i++)
		key_free(*place_of(s, i));
	*s = (struct modal_settings){ 0 };
}
