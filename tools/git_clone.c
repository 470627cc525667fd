#include "tools/git_clone.h"

#include "providers/base/cleanup.h"
#include "providers/key.h"
#include "providers/shell_quote.h"
#include "tools/shown_run.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX ((size_t)64 * 1024)

/*
 * git asks for a password by the variable's name, so that no process has the token among its
 * arguments. The token is only for the URL's own host: a redirection is not followed. The empty
 * helper removes the sandbox's own helpers.
 */
static const char credentials[] =
	"IFS= read -r SANDBOXFS_GIT_TOKEN && export SANDBOXFS_GIT_TOKEN\n"
	"set -- -c http.followRedirects=false -c credential.helper= -c "
	"credential.\"$host\".helper='!f() { [ \"$1\" = get ] && "
	"printf \"username=x-access-token\\npassword=%s\\n\" \"$SANDBOXFS_GIT_TOKEN\"; }; f'\n";

void git_request_release(struct git_request *r)
{
	free(r->url);
	free(r->token_file);
}

/* Whether the URL "scheme://USER:PASSWORD@host/" has a password, or a token in its place. */
static bool has_password(const char *url)
{
	const char *host = strstr(url, "://");
	size_t len = host ? strcspn(host + 3, "/#") : 0;
	const char *at = host ? memchr(host + 3, '@', len) : NULL;
	bool is_http = !strncmp(url, "http", 4);

	return at && (is_http || memchr(host + 3, ':', (size_t)(at - host - 3)));
}

/* Nothing leaves the sandbox over loopback. */
static bool is_here(const char *url)
{
	static const char *const hosts[] = { "http://127.0.0.1", "http://localhost",
		"http://[::1]" };

	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
		size_t len = strlen(hosts[i]);

		if (!strncmp(url, hosts[i], len) && (!url[len] || strchr(":/", url[len])))
			return true;
	}
	return false;
}

enum err git_request_check(const struct git_request *r, struct error *e)
{
	char *token = NULL;

	if (!r->url && r->token_file)
		return error_set(e, ERR_INVALID, "--git-token-file goes with --git");
	if (!r->url)
		return ERR_OK;
	if (*r->url == '-' || *r->url == '#')
		return error_set(e, ERR_INVALID, "--git: '%.100s' is no URL", r->url);
	if (strstr(r->url, "#-"))
		return error_set(e, ERR_INVALID, "--git: '%.100s': no REF begins with '-'", r->url);
	if (r->token_file && strncmp(r->url, "https://", 8) != 0 && !is_here(r->url))
		return error_set(e, ERR_INVALID,
			"--git: a token goes by https alone, and not to '%.100s'", r->url);
	if (r->token_file && key_read(&token, r->token_file, "--git", VARIABLE_KEY, e))
		return e->kind;
	key_free(token);
	if (has_password(r->url))
		return error_set(e, ERR_INVALID,
			"--git: a name or password in the URL would stand in lists of processes "
			"and in the clone; leave it out and give --git-token-file");
	return ERR_OK;
}

/* "scheme://host:port" of the URL. */
static void add_credentials(struct buf *out, const char *url)
{
	const char *host = strstr(url, "://");
	size_t len = host ? (size_t)(host - url) + 3 + strcspn(host + 3, "/") : strlen(url);
	AUTO_FREE char *own = strndup(url, len);

	buf_add_string(out, "host=");
	shell_quote(out, own ? own : "");
	buf_add_byte(out, '\n');
	buf_add_string(out, credentials);
}

/*
 * The name that git gives a clone: the last part of the path, without ".git". To be freed; NULL: no
 * memory.
 */
static char *name_of(const char *url)
{
	size_t end = strlen(url), begin;

	while (end && url[end - 1] == '/')
		end--;
	if (end > 5 && !strncmp(url + end - 5, "/.git", 5))
		end -= 5;
	else if (end > 4 && !strncmp(url + end - 4, ".git", 4))
		end -= 4;
	for (begin = end; begin && url[begin - 1] != '/' && url[begin - 1] != ':'; begin--)
		;
	return strndup(url + begin, end - begin);
}

static void add_command(struct buf *out, const struct git_request *r, bool has_token, bool is_empty)
{
	size_t len = strcspn(r->url, "#");
	AUTO_FREE char *url = strndup(r->url, len);
	const char *ref = r->url[len] ? r->url + len + 1 : NULL;

	buf_add_string(out, "export GIT_TERMINAL_PROMPT=0\nset --\n");
	if (has_token)
		add_credentials(out, url ? url : "");
	buf_add_string(out, "git \"$@\" clone --");
	shell_argument(out, url ? url : "");
	if (is_empty) {
		buf_add_string(out, " . || exit\n");
	} else {
		AUTO_FREE char *dir = name_of(url ? url : "");

		shell_argument(out, dir ? dir : "");
		buf_add_string(out, " && cd --");
		shell_argument(out, dir ? dir : "");
		buf_add_string(out, " || exit\n");
	}
	if (!ref || !*ref)
		return;
	buf_add_string(out, "git \"$@\" checkout");
	shell_argument(out, ref);
	buf_add_string(out, " --\n");
}

static enum err run_clone(const struct git_request *r, struct provider *p, const struct call *call,
	const char *token, bool is_empty, struct error *e)
{
	AUTO_BUF struct buf command = BUF_INIT(TEXT_MAX), input = BUF_INIT(TEXT_MAX);
	const char *const secrets[] = { token, NULL };
	enum err kind;

	add_command(&command, r, token != NULL, is_empty);
	if (token)
		buf_printf(&input, "%s\n", token);
	kind = buf_check(&command, "the URL of the repository", e);
	if (!kind)
		kind = shown_run(p, call,
			&(struct shown_command){ .what = "git clone",
				.command = buf_text(&command),
				.input = &input,
				.secrets = secrets },
			e);
	if (input.bytes)
		explicit_bzero(input.bytes, input.len);
	return kind;
}

enum err git_clone(const struct git_request *r, const struct provider_ops *ops,
	const struct provider_config *cfg, const struct call *call, bool is_empty, struct error *e)
{
	struct provider *p = NULL;
	char *token = NULL;
	enum err kind = ERR_OK;

	if (r->token_file)
		kind = key_read(&token, r->token_file, "git", VARIABLE_KEY, e);
	if (!kind)
		kind = provider_connect(ops, cfg, call, &p, e);
	if (!kind)
		kind = run_clone(r, p, call, token, is_empty, e);
	provider_release(p);
	key_free(token);
	return kind;
}
