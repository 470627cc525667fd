/* The daemon's socket, by the variables and the context of docker(1) and podman(1). */
#include "providers/base/cleanup.h"
#include "providers/command/engine.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

static struct scratch config;

static void open_config(void)
{
	static const char *const names[] = { "DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST",
		"CONTAINER_CONNECTION", "XDG_RUNTIME_DIR" };

	scratch_make(&config);
	setenv("DOCKER_CONFIG", config.path, 1);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unsetenv(names[i]);
}

static void close_config(void)
{
	scratch_remove(&config);
}

TestSuite(engine_socket, .init = open_config, .fini = close_config, .timeout = 300);

static void expect(char *found, const char *wanted)
{
	AUTO_FREE char *path = found;

	cr_expect(eq(str, path ? path : "none", (char *)wanted));
}

/* The directory is sha256("mine"). */
#define CONTEXT "contexts/meta/3fd30542fe3f61b14bd4a4b2dc0b6fb30fa6f63ebce52dd1778aaa8c4dc02cff"

static void make_context(const char *host)
{
	AUTO_FREE char *text = NULL;

	scratch_mkdir(&config, "contexts", 0700);
	scratch_mkdir(&config, "contexts/meta", 0700);
	scratch_mkdir(&config, CONTEXT, 0700);
	cr_assert(
		asprintf(&text, "{\"Name\":\"mine\",\"Endpoints\":{\"docker\":{\"Host\":\"%s\"}}}",
			host) > 0);
	scratch_write_text(&config, CONTEXT "/meta.json", text);
}

Test(engine_socket, docker_has_a_usual_one)
{
	expect(engine_socket_docker(), "/var/run/docker.sock");
	scratch_write_text(&config, "config.json", "{\"currentContext\":\"\"}");
	expect(engine_socket_docker(), "/var/run/docker.sock");
}

Test(engine_socket, docker_host_counts_first)
{
	scratch_write_text(&config, "config.json", "{\"currentContext\":\"mine\"}");
	setenv("DOCKER_HOST", "unix:///a/b", 1);
	expect(engine_socket_docker(), "/a/b");
	setenv("DOCKER_HOST", "tcp://127.0.0.1:2375", 1);
	expect(engine_socket_docker(), "none");
	setenv("DOCKER_HOST", "ssh://host", 1);
	expect(engine_socket_docker(), "none");
}

Test(engine_socket, then_the_context)
{
	make_context("unix:///mine");
	setenv("DOCKER_CONTEXT", "mine", 1);
	expect(engine_socket_docker(), "/mine");
	unsetenv("DOCKER_CONTEXT");
	expect(engine_socket_docker(), "/var/run/docker.sock");
	scratch_write_text(&config, "config.json", "{\"currentContext\":\"mine\"}");
	expect(engine_socket_docker(), "/mine");
	setenv("DOCKER_CONTEXT", "default", 1);
	expect(engine_socket_docker(), "/var/run/docker.sock");
	setenv("DOCKER_CONTEXT", "other", 1);
	expect(engine_socket_docker(), "none");
}

Test(engine_socket, a_context_elsewhere_is_the_programs)
{
	make_context("ssh://host");
	setenv("DOCKER_CONTEXT", "mine", 1);
	expect(engine_socket_docker(), "none");
}

Test(engine_socket, what_only_the_program_does_is_the_programs)
{
	scratch_write_text(&config, "config.json", "{\"proxies\":{\"default\":{}}}");
	setenv("DOCKER_HOST", "unix:///a/b", 1);
	expect(engine_socket_docker(), "none");
	scratch_write_text(&config, "config.json", "{");
	expect(engine_socket_docker(), "none");
}

Test(engine_socket, podman_has_the_users_own)
{
	setenv("XDG_RUNTIME_DIR", "/run/user/1", 1);
	expect(engine_socket_podman(), geteuid() ? "/run/user/1/podman/podman.sock" : "none");
	setenv("CONTAINER_CONNECTION", "there", 1);
	expect(engine_socket_podman(), "none");
	setenv("CONTAINER_HOST", "unix:///a/b", 1);
	expect(engine_socket_podman(), "/a/b");
	setenv("CONTAINER_HOST", "ssh://host", 1);
	expect(engine_socket_podman(), "none");
}
