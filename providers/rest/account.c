#include "providers/rest/account.h"

#include "providers/base/cleanup.h"
#include "providers/key.h"
#include "providers/more_headers.h"
#include "providers/plain_http.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

/* The key, the headers of a login, and the vendor's own. */
#define FACTS_HEADERS_MAX 8

/* The user's URL counts before the login's. */
static const char *choose_url(const struct rest_account_facts *facts, const struct login *login)
{
	const char *own = facts->url ? facts->url : variable_first(facts->vendor, VARIABLE_URL);

	return login->url && !variable_chosen(facts->vendor, VARIABLE_URL) ? login->url : own;
}

static enum err check_login(const struct rest_account_facts *facts, const struct login *login,
	const char *url, struct error *e)
{
	const struct variable *v = variable_of(facts->vendor, VARIABLE_URL, 0);
	struct error why = { 0 };
	const char *own = facts->own_url ? facts->own_url : v ? v->otherwise : NULL;
	enum err kind = v ? login_check_url(login, own, url, &why) : ERR_OK;

	return kind ? error_set(e, kind, "%s: %s", facts->vendor, why.text) : ERR_OK;
}

static bool has_header(const struct rest_account_facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->more_count; i++)
		if (!strcasecmp(facts->more[i].name, name))
			return true;
	return false;
}

/* `value`: of the header with the key; NULL: no key. */
static size_t put_headers(struct http_header *headers, const struct rest_account_facts *facts,
	const struct login *login, const char *value)
{
	size_t count = 0;

	if (value)
		headers[count++] = (struct http_header){ .name = login->is_token ? "Authorization"
										 : facts->header,
			.value = value,
			.is_secret = true };
	/* A variable counts before a login. */
	if (login->tenant && !has_header(facts, facts->login->tenant_header))
		headers[count++] = (struct http_header){ .name = facts->login->tenant_header,
			.value = login->tenant };
	assert(count + facts->more_count <= FACTS_HEADERS_MAX);
	for (size_t i = 0; i < facts->more_count; i++)
		headers[count++] = facts->more[i];
	return count;
}

/* Whether and how the key may be sent to `url`. */
static enum err check_url(const struct rest_account *a, const struct rest_account_facts *facts,
	const struct login *login, const char *url, struct error *e)
{
	enum err kind = check_login(facts, login, url, e);

	return kind ? kind : plain_http_allow(a->http, url, facts->is_plain_asked, e);
}

static enum err init_rest(struct rest_account *a, const struct rest_account_facts *facts,
	const struct login *login, const char *value, const char *url, struct error *e)
{
	struct http_header headers[FACTS_HEADERS_MAX + MORE_HEADERS_MAX];
	AUTO_MORE_HEADERS struct more_headers more = { 0 };
	enum err kind = more_headers_read(&more, facts->headers_variable, e);
	size_t count;

	if (kind)
		return kind;
	count = put_headers(headers, facts, login, value);
	for (size_t i = 0; i < more.count; i++)
		headers[count++] = more.headers[i];
	kind = rest_init(&a->rest, a->http, facts->vendor, url, headers, count, facts->verdict, e);
	a->rest.frame = facts->frame;
	return kind;
}

static enum err open_at_url(struct rest_account *a, const struct rest_account_facts *facts,
	const struct login *login, const char *value, struct error *e)
{
	const char *chosen = choose_url(facts, login);
	AUTO_FREE char *base = facts->root ? facts->root(chosen) : rest_without_slashes(chosen);
	AUTO_FREE char *url = NULL;
	enum err kind;

	if (!base || asprintf(&url, "%s%s", base, facts->below ? facts->below : "") < 0) {
		url = NULL;
		return error_set(e, ERR_NO_MEMORY, "%s", facts->vendor);
	}
	kind = check_url(a, facts, login, url, e);
	return kind ? kind : init_rest(a, facts, login, value, url, e);
}

static enum err open_with_key(struct rest_account *a, const struct rest_account_facts *facts,
	const struct login *login, struct error *e)
{
	const char *scheme = login->is_token ? "Bearer " : facts->scheme;
	AUTO_KEY char *value = NULL;
	enum err kind = http_new(&a->http, "sandboxfs/" SANDBOXFS_VERSION, e);

	if (kind)
		return kind;
	if (login->key && asprintf(&value, "%s%s", scheme, login->key) < 0) {
		value = NULL;
		return error_set(e, ERR_NO_MEMORY, "%s", facts->vendor);
	}
	return open_at_url(a, facts, login, value, e);
}

enum err rest_account_open(struct rest_account *out, const struct rest_account_facts *facts,
	const struct provider_config *cfg, struct error *e)
{
	enum variable_role role = facts->is_token ? VARIABLE_TOKEN : VARIABLE_KEY;
	bool has_key = cfg->key_file || !facts->may_lack_key || variable_first(facts->vendor, role);
	struct rest_account a = { 0 };
	AUTO_LOGIN struct login login = { 0 };
	enum err kind = has_key
		? key_find(&login, cfg->key_file, facts->vendor, role, facts->login, e)
		: ERR_OK;

	if (kind)
		return kind;
	kind = open_with_key(&a, facts, &login, e);
	if (kind)
		rest_account_close(&a);
	else
		*out = a;
	return kind;
}

void rest_account_close(struct rest_account *a)
{
	rest_release(&a->rest);
	if (a->http)
		http_free(a->http);
	*a = (struct rest_account){ 0 };
}

enum err rest_account_reach(const struct rest_account *a, const char *url, rest_verdict verdict,
	const struct vendor_frame *frame, struct rest *out, struct error *e)
{
	struct error why = { 0 };
	enum err kind = http_check_named_url(url, a->rest.base_url, &why);

	if (kind)
		return error_set(e, kind, "%s: %s", a->rest.vendor, why.text);
	kind = rest_init(out, a->http, a->rest.vendor, url, a->rest.headers, a->rest.headers_count,
		verdict, e);
	out->frame = frame;
	return kind;
}
