#include "providers/rest/account.h"

#include "providers/base/cleanup.h"
#include "providers/key.h"

#include <stdio.h>

/* `value`: of the header that carries the key; NULL: there is none. */
static enum err init_rest(struct rest_account *a, const struct rest_account_facts *facts,
	const char *value, struct error *e)
{
	AUTO_FREE char *base = rest_without_slashes(
		facts->url ? facts->url : variable_first(facts->vendor, VARIABLE_URL));
	AUTO_FREE struct http_header *headers = calloc(facts->more_count + 1, sizeof *headers);
	AUTO_FREE char *url = NULL;
	size_t count = 0;

	if (!headers || !base ||
		asprintf(&url, "%s%s", base, facts->below ? facts->below : "") < 0) {
		url = NULL;
		return error_set(e, ERR_NO_MEMORY, "%s", facts->vendor);
	}
	if (value)
		headers[count++] = (struct http_header){
			.name = facts->header, .value = value, .is_secret = true
		};
	for (size_t i = 0; i < facts->more_count; i++)
		headers[count++] = facts->more[i];
	enum err kind =
		rest_init(&a->rest, a->http, facts->vendor, url, headers, count, facts->judge, e);

	a->rest.frame = facts->frame;
	return kind;
}

static enum err open_with_key(struct rest_account *a, const struct rest_account_facts *facts,
	const char *key, struct error *e)
{
	char *value = NULL;
	enum err kind = http_new(&a->http, "sandboxfs/" SANDBOXFS_VERSION, e);

	if (kind)
		return kind;
	if (key && asprintf(&value, "%s%s", facts->scheme, key) < 0)
		return error_set(e, ERR_NO_MEMORY, "%s", facts->vendor);
	kind = init_rest(a, facts, value, e);
	key_free(value);
	return kind;
}

enum err rest_account_open(struct rest_account *out, const struct rest_account_facts *facts,
	const struct provider_config *cfg, struct error *e)
{
	enum variable_role role = facts->is_token ? VARIABLE_TOKEN : VARIABLE_KEY;
	bool has_key = cfg->key_file || !facts->may_lack_key || variable_first(facts->vendor, role);
	struct rest_account a = { 0 };
	char *key = NULL;
	enum err kind = has_key ? key_read(&key, cfg->key_file, facts->vendor, role, e) : ERR_OK;

	if (kind)
		return kind;
	kind = open_with_key(&a, facts, key, e);
	key_free(key);
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

enum err rest_account_reach(const struct rest_account *a, const char *url, rest_judge judge,
	const struct vendor_frame *frame, struct rest *out, struct error *e)
{
	struct error why = { 0 };
	enum err kind = http_check_told_url(url, a->rest.base_url, &why);

	if (kind)
		return error_set(e, kind, "%s: %s", a->rest.vendor, why.text);
	kind = rest_init(out, a->http, a->rest.vendor, url, a->rest.headers, a->rest.headers_count,
		judge, e);
	out->frame = frame;
	return kind;
}
