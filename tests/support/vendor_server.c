#include "tests/support/vendor_server.h"

#include "providers/base/call.h"
#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <ftw.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* A loaded machine takes seconds until Node has read all modules. */
#define START_MS 60000
#define STOP_MS  10000

/* Names in the server's folder. */
#define SANDBOXES  "sandboxes"
#define COMPLAINTS "complaints"

/*
 * Runs the server in the child. Its output goes to `out`, its errors to a file next to the
 * sandboxes.
 */
static void become_server(const char *vendor, const char *dir, int out)
{
	char program[64], root[96], complaints[96];

	snprintf(program, sizeof program, "tests/servers/%s/main.mjs", vendor);
	snprintf(root, sizeof root, "%s/" SANDBOXES, dir);
	snprintf(complaints, sizeof complaints, "%s/" COMPLAINTS, dir);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(out, STDOUT_FILENO);
	dup2(open(complaints, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), STDERR_FILENO);
	execlp("node", "node", program, "--root", root, geteuid() ? NULL : "--user", "root", NULL);
	dprintf(STDERR_FILENO, "node: %s\n", strerror(errno));
	_exit(127);
}

/* Reads up to the end of a line, of the stream or of the time. The line has what arrived. */
static void read_line(int fd, char *line, size_t room)
{
	int64_t end_ms = monotonic_ms() + START_MS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t got;

	do {
		int64_t left_ms = end_ms - monotonic_ms();

		got = left_ms > 0 && poll(&p, 1, (int)left_ms) > 0
			? read(fd, line + len, room - 1 - len)
			: 0;
		len += got > 0 ? (size_t)got : 0;
		line[len] = 0;
	} while (got > 0 && len + 1 < room && !strchr(line, '\n'));
}

static void copy_field(struct json_object *answer, const char *name, char *out, size_t room)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(answer, name, &value);
	snprintf(out, room, "%s", value ? json_object_get_string(value) : "");
}

static bool read_answer(struct vendor_server *s, const char *line)
{
	struct json_object *answer = json_tokener_parse(line);

	if (!answer)
		return false;
	copy_field(answer, "api_url", s->api_url, sizeof s->api_url);
	copy_field(answer, "sandbox_url", s->sandbox_url, sizeof s->sandbox_url);
	copy_field(answer, "admin_url", s->admin_url, sizeof s->admin_url);
	copy_field(answer, "key", s->key, sizeof s->key);
	s->env = json_object_get(json_object_object_get(answer, "env"));
	json_object_put(answer);
	return true;
}

void vendor_server_announce(const struct vendor_server *s)
{
	json_object_object_foreach(s->env, name, value)
	{
		setenv(name, json_object_get_string(value), 1);
	}
}

/* The first line of the server's errors. */
static void read_complaint(const char *dir, char *why, size_t room)
{
	char path[96];
	FILE *file;

	snprintf(path, sizeof path, "%s/" COMPLAINTS, dir);
	snprintf(why, room, "it says nothing");
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(why, (int)room, file))
		why[strcspn(why, "\n")] = 0;
	fclose(file);
}

static enum err start_in(struct vendor_server *s, const char *vendor, struct error *e)
{
	AUTO_CLOSE int from_server = -1;
	char line[1024] = "", why[200];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return error_errno(e, errno, "pipe");
	from_server = ends[0];
	s->pid = fork();
	if (s->pid == 0)
		become_server(vendor, s->dir, ends[1]);
	close(ends[1]);
	read_line(from_server, line, sizeof line);
	if (read_answer(s, line))
		return ERR_OK;
	read_complaint(s->dir, why, sizeof why);
	return error_set(e, ERR_UNSUPPORTED, "no test server for %s: %s", vendor, why);
}

enum err vendor_server_start(struct vendor_server *out, const char *vendor, struct error *e)
{
	const char *parent = getenv("TMPDIR");
	enum err kind;

	*out = (struct vendor_server){ .pid = 0 };
	snprintf(out->dir, sizeof out->dir, "%s/sandboxfs-test-XXXXXX",
		parent && *parent ? parent : "/var/tmp");
	if (!mkdtemp(out->dir))
		return error_errno(e, errno, "%s", out->dir);
	kind = start_in(out, vendor, e);
	snprintf(out->sandboxes, sizeof out->sandboxes, "%s/" SANDBOXES, out->dir);
	if (kind)
		vendor_server_stop(out);
	return kind;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
	(void)st, (void)place;
	if (type == FTW_DNR)
		chmod(path, 0700);
	return remove(path), 0;
}

static bool has_ended(pid_t pid, int64_t within_ms)
{
	int64_t end_ms = monotonic_ms() + within_ms;

	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (monotonic_ms() > end_ms)
			return false;
		poll(NULL, 0, 5);
	}
	return true;
}

void vendor_server_stop(struct vendor_server *s)
{
	if (s->pid > 0) {
		kill(s->pid, SIGTERM);
		if (!has_ended(s->pid, STOP_MS)) {
			kill(s->pid, SIGKILL);
			waitpid(s->pid, NULL, 0);
		}
	}
	if (*s->dir)
		nftw(s->dir, remove_one, 64, FTW_DEPTH | FTW_PHYS);
	json_object_put(s->env);
	*s = (struct vendor_server){ 0 };
}
