/* Where the daemon's socket is, by the rules of docker(1) and podman(1). */
#include "providers/base/cleanup.h"
#include "providers/base/hex.h"
#include "providers/base/sha256.h"
#include "providers/command/engine.h"
#include "providers/login.h"

#include <stdio.h>
#include <string.h>

#define DOCKER_SOCKET "/var/run/docker.sock"
#define PODMAN_BELOW  "podman/podman.sock"

static const char *environment(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

/* NULL: the daemon is elsewhere. */
static char *path_of(const char *address)
{
	const char *begin = "unix://";

	return strncmp(address, begin, strlen(begin)) || address[strlen(begin)] != '/'
		? NULL
		: strdup(address + strlen(begin));
}

/* ---- docker ---- */

static char *config_dir_of_docker(void)
{
	const char *chosen = environment("DOCKER_CONFIG");

	return chosen ? strdup(chosen) : login_home_path(".docker");
}

/* ERR_OK with *out NULL: there is no such file. */
static enum err read_json(const char *path, struct json_object **out)
{
	AUTO_BUF struct buf text = BUF_INIT(LOGIN_FILE_MAX);
	unsigned char *room = buf_reserve(&text, LOGIN_FILE_MAX);
	size_t len = 0;
	enum err kind = room ? login_text(path, (char *)room, &len, NULL) : ERR_NO_MEMORY;

	*out = NULL;
	if (kind)
		return kind == ERR_NOT_FOUND ? ERR_OK : kind;
	buf_filled(&text, len);
	return rest_parse(&text, out) ? ERR_OK : ERR_INVALID;
}

/* A context is a file in a directory that is named by the hash of the context's name. */
static char *socket_of_context(const char *dir, const char *name)
{
	AUTO_JSON struct json_object *json = NULL;
	AUTO_FREE char *path = NULL;
	unsigned char hash[SHA256_SIZE];
	char digits[2 * SHA256_SIZE + 1];

	if (!strcmp(name, "default"))
		return strdup(DOCKER_SOCKET);
	sha256(name, strlen(name), hash);
	hex_encode(digits, hash, sizeof hash);
	if (asprintf(&path, "%s/contexts/meta/%s/meta.json", dir, digits) < 0)
		path = NULL;
	if (!path || read_json(path, &json))
		return NULL;
	return path_of(
		rest_text(rest_member(rest_member(json, "Endpoints"), "docker"), "Host", ""));
}

/*
 * The proxies of config.json become variables of containers that the program makes: they need the
 * program.
 */
char *engine_socket_docker(void)
{
	const char *host = environment("DOCKER_HOST"), *name = environment("DOCKER_CONTEXT");
	AUTO_FREE char *dir = config_dir_of_docker();
	AUTO_FREE char *path = NULL;
	AUTO_JSON struct json_object *config = NULL;

	if (!dir || asprintf(&path, "%s/config.json", dir) < 0)
		path = NULL;
	if (path && (read_json(path, &config) || rest_member(config, "proxies")))
		return NULL;
	if (host)
		return path_of(host);
	if (!name)
		name = rest_text(config, "currentContext", "");
	if (!*name)
		name = "default";
	return socket_of_context(dir ? dir : "", name);
}

/* ---- podman ---- */

/*
 * podman(1) needs no daemon, so one counts that the user chose or that is the user's own. Root has
 * none: its /run/podman/podman.sock may be of another storage than the program's.
 */
char *engine_socket_podman(void)
{
	const char *host = environment("CONTAINER_HOST");
	const char *runtime = environment("XDG_RUNTIME_DIR");
	char *path;

	if (host)
		return path_of(host);
	if (!runtime || !geteuid() || environment("CONTAINER_CONNECTION") ||
		asprintf(&path, "%s/" PODMAN_BELOW, runtime) < 0)
		return NULL;
	return path;
}
