/*
 * The vendors as the contract's subjects: each on its test server, or on the service itself; and
 * sandboxes that sshd and Docker reach, which are there before (tests/support/contract-of).
 *
 * Servers are started once for the whole program, by the process that starts those of the tests.
 * Test processes share a server's sandboxes: each takes a free one, makes one where there is none,
 * and empties its home. Root's tests work as root there as well, since files made from outside are
 * root's.
 *
 * Where LIVE_ID names a sandbox (tests/live/run), one test after the other uses that sandbox, no
 * server is started, and the view of other programs comes from execute.
 */
#include "providers/base/cleanup.h"
#include "providers/http/http.h"
#include "tests/providers/contract.h"
#include "tests/support/runner.h"
#include "tests/support/vendor_server.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <sys/file.h>

#define SUITES  "contract_"
#define LIVE_ID "SANDBOXFS_LIVE_ID"
/*
 * From the process that started a server to the tests: the folder of the server's sandboxes, or why
 * it did not start. From who reaches sandboxes otherwise to this program: a folder of the same kind.
 */
#define SANDBOXES "SANDBOXFS_TEST_SANDBOXES_"
#define COMPLAINT "SANDBOXFS_TEST_COMPLAINT_"

/* ---- The vendors ---- */

struct vendor {
	const char *name;
	unsigned lacks; /* in addition to what every sandbox lacks on this machine; enum lack */
	unsigned sandboxes_max; /* how many can be made */
};

#define VENDOR_ROW(vendor, lacks, sandboxes_max, ...)                                              \
	{ #vendor, (lacks) | LACKS_OTHER_OWNERS, sandboxes_max },
#define REACHED_ROW(reached, lacks, sandboxes_max, ...) { #reached, lacks, sandboxes_max },
static const struct vendor vendors[] = { EACH_VENDOR(VENDOR_ROW) EACH_REACHED(REACHED_ROW) };
#define VENDORS_COUNT (sizeof vendors / sizeof *vendors)

static struct vendor_server servers[VENDORS_COUNT];

/* ---- The servers ---- */

static const char *get(const char *what, const struct vendor *v)
{
	char name[64];

	snprintf(name, sizeof name, "%s%s", what, v->name);
	return getenv(name);
}

static void set(const char *what, const struct vendor *v, const char *value)
{
	char name[64];

	snprintf(name, sizeof name, "%s%s", what, v->name);
	setenv(name, value, 1);
}

static bool is_wanted(const struct vendor *v)
{
	char name[64];

	snprintf(name, sizeof name, SUITES "%s", v->name);
	return runner_has(name);
}

static void start(const struct vendor *v, struct vendor_server *server)
{
	struct error e = { 0 };

	if (vendor_server_start(server, v->name, &e)) {
		set(COMPLAINT, v, e.text);
		return;
	}
	set(SANDBOXES, v, server->sandboxes);
	vendor_server_announce(server);
}

void runner_begins(void)
{
	for (size_t n = 0; n < VENDORS_COUNT && !getenv(LIVE_ID); n++)
		if (is_wanted(&vendors[n]) && !get(SANDBOXES, &vendors[n]))
			start(&vendors[n], &servers[n]);
}

void runner_ends(void)
{
	for (size_t n = 0; n < VENDORS_COUNT; n++)
		vendor_server_stop(&servers[n]);
}

/* ---- A sandbox for one test ---- */

static int open_file(const char *sandboxes, unsigned number)
{
	char path[128];
	int file;

	snprintf(path, sizeof path, "%s/id-%u", sandboxes, number);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cr_assert(file >= 0, "%s: %s", path, strerror(errno));
	return file;
}

/*
 * The file with the id of a sandbox that this process has until it ends. It is empty where there is
 * no sandbox yet.
 */
static int take_file(const struct vendor *v, const char *sandboxes)
{
	int file;

	for (unsigned number = 0; number < v->sandboxes_max; number++) {
		file = open_file(sandboxes, number);
		if (flock(file, LOCK_EX | LOCK_NB) == 0)
			return file;
		close(file);
	}
	file = open_file(sandboxes, 0);
	cr_assert(eq(int, flock(file, LOCK_EX), 0), "%s", strerror(errno));
	return file;
}

static void make_sandbox(const struct subject *s, char id[128])
{
	const struct provider_config cfg = { 0 };
	struct error e = { 0 };

	cr_assert(eq(int, provider_create(s->ops, &cfg, NULL, id, &e), ERR_OK), "%s", e.text);
}

static void take_sandbox(
	const struct vendor *v, const struct subject *s, const char *sandboxes, char id[128])
{
	int file = take_file(v, sandboxes);
	ssize_t len = read(file, id, 127);

	cr_assert(len >= 0, "%s", strerror(errno));
	id[len] = 0;
	if (*id)
		return;
	make_sandbox(s, id);
	cr_assert(write(file, id, strlen(id)) == (ssize_t)strlen(id));
}

static void open_tree(struct subject *s, const char *sandboxes)
{
	char path[2048];

	snprintf(path, sizeof path, "%s/%s%s", sandboxes, s->id, s->root);
	s->tree.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(s->tree.fd >= 0, "%s: %s", path, strerror(errno));
}

/*
 * Removes the files of the test before, but not the helper, which also stays for users. While that
 * test's last programs end, a file may come or go during the removal: a minute is time enough for
 * them.
 */
static void empty_home(const struct subject *s)
{
	AUTO_RAN struct ran r = run(s,
		"tries=600\n"
		"until chmod -R u+rwX . && find . -mindepth 1 -maxdepth 1 ! -name .sandboxfs "
		"-exec rm -rf {} + && find .sandboxfs -mindepth 1 ! -name '*helper-*' "
		"! -name 'command-*' -delete; do\n"
		"	[ $((tries -= 1)) -gt 0 ] || exit 1\n"
		"	sleep 0.1\n"
		"done");

	cr_assert(eq(int, r.result.exit_code, 0), "%s", buf_text(&r.err_out));
}

static const struct vendor *find_vendor(const char *name)
{
	const struct vendor *v = vendors;

	while (strcmp(v->name, name))
		v++;
	return v;
}

static void connect_to_server(const struct vendor *v, struct subject *s)
{
	const char *sandboxes = get(SANDBOXES, v);
	char id[128];

	if (!sandboxes)
		cr_skip("%s", get(COMPLAINT, v) ? get(COMPLAINT, v) : "no server");
	take_sandbox(v, s, sandboxes, id);
	contract_connect(s, id);
	empty_home(s);
	open_tree(s, sandboxes);
}

static void connect_to_service(struct subject *s)
{
	s->lacks |= IS_ALONE;
	contract_connect(s, getenv(LIVE_ID));
	empty_home(s);
}

/* ---- A server in trouble ---- */

static struct vendor_server own;

void contract_use_own_server(struct subject *s)
{
	struct error e = { 0 };
	char id[128];

	if (getenv(LIVE_ID))
		cr_skip("a service has no faults on request");
	provider_release(take(s->p));
	cleanup_close(&s->tree.fd);
	cr_assert(eq(int, vendor_server_start(&own, s->name, &e), ERR_OK), "%s", e.text);
	vendor_server_announce(&own);
	make_sandbox(s, id);
	contract_connect(s, id);
	open_tree(s, own.sandboxes);
}

/* The answer, to be released. */
static struct json_object *ask_admin(enum http_method method, const char *path, const char *body)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct error e = { 0 };
	struct http *http;
	char url[300];

	snprintf(url, sizeof url, "%s/%s", own.admin_url, path);
	cr_assert(eq(int, http_new(&http, "tests", &e), ERR_OK), "%s", e.text);
	http_perform(http, NULL,
		&(struct http_request){
			.method = method, .url = url, .body = body, .body_len = strlen(body) },
		&answer, &e);
	http_free(http);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
	cr_assert(eq(int, answer.status, 200), "%s", buf_text(&answer.body));
	return json_tokener_parse(buf_text(&answer.body));
}

void contract_fault(const char *kind, const char *action, int times)
{
	char body[5000];

	snprintf(body, sizeof body, "{\"match\":{\"kind\":\"/%s/\",\"times\":%d},\"action\":%s}",
		kind, times, action);
	json_object_put(ask_admin(HTTP_POST, "faults", body));
}

int contract_mend(void)
{
	struct json_object *answer = ask_admin(HTTP_DELETE, "faults", ""), *taken = NULL;
	int number;

	json_object_object_get_ex(answer, "taken", &taken);
	number = json_object_get_int(taken);
	json_object_put(answer);
	return number;
}

const char *contract_secret(size_t number)
{
	static struct json_object *secrets;
	char path[200];

	snprintf(path, sizeof path, "secrets/%s", contract_subject()->id);
	if (!secrets)
		secrets = ask_admin(HTTP_GET, path, "");
	if (number == 0)
		return own.key;
	return number <= json_object_array_length(secrets)
		? json_object_get_string(json_object_array_get_idx(secrets, number - 1))
		: NULL;
}

static void end(void)
{
	contract_end();
	vendor_server_stop(&own);
}

/* ---- The suites ---- */

static void set_up(const char *name)
{
	const struct vendor *v = find_vendor(name);
	const struct subject row = { .name = v->name, .is_remote = true, .lacks = v->lacks };

	if (!provider_find(name, strlen(name)))
		cr_skip("no such vendor here");
	contract_begin(&row, provider_find(name, strlen(name)));
	if (getenv(LIVE_ID))
		connect_to_service(contract_subject());
	else
		connect_to_server(v, contract_subject());
}

#define VENDOR_SUITES(vendor, ...)                                                                 \
	static void set_up_##vendor(void)                                                          \
	{                                                                                          \
		set_up(#vendor);                                                                   \
	}                                                                                          \
	TestSuite(contract_##vendor, .init = set_up_##vendor, .fini = end, .timeout = 300);

EACH_VENDOR(VENDOR_SUITES)
EACH_REACHED(VENDOR_SUITES)
