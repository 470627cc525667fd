/* Sandboxes from their making to their end, on Modal's wire. */
#include "providers/base/call.h"
#include "providers/modal/sandbox.h"
#include "tests/modal/modal_server.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

static struct modal_server server;

static void set_up(void)
{
	modal_server_start(&server);
}

static void tear_down(void)
{
	modal_server_stop(&server);
}

TestSuite(modal_life, .init = set_up, .fini = tear_down, .timeout = 300);

static const struct provider_ops *ops(void)
{
	return provider_find("modal", 5);
}

static void create(const struct provider_config *cfg, char id[128])
{
	struct error e = { 0 };

	cr_assert(eq(int, provider_create(ops(), cfg, NULL, id, &e), ERR_OK), "%s", e.text);
}

static enum err create_fails(const struct provider_config *cfg, struct error *e)
{
	char id[128];

	return provider_create(ops(), cfg, NULL, id, e);
}

static void delete (const char *id)
{
	const struct provider_config cfg = { .id = id };
	struct error e = { 0 };

	cr_expect(eq(int, provider_delete(ops(), &cfg, NULL, &e), ERR_OK), "%s", e.text);
}

static enum err count(void *context, const struct sandbox_entry *entry, struct error *e)
{
	(void)entry, (void)e;
	++*(unsigned *)context;
	return ERR_OK;
}

static unsigned listed(void)
{
	const struct provider_config cfg = { 0 };
	unsigned found = 0;
	struct error e = { 0 };

	provider_list_sandboxes(ops(), &cfg, NULL, count, &found, &e);
	cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
	return found;
}

static void attach(const char *id)
{
	const struct provider_config cfg = { .id = id, .helper = HELPER_PROCESS };
	struct error e = { 0 };

	cr_assert(
		eq(int, provider_connect(ops(), &cfg, NULL, &server.p, &e), ERR_OK), "%s", e.text);
}

static void expect_said(const char *command, const char *want)
{
	char *said = modal_server_run(&server, command);

	cr_expect(eq(str, said, (char *)want));
	free(said);
}

Test(modal_life, a_new_sandbox_has_what_was_asked_for)
{
	static const char *const env[] = { "GREETING=good day", "EMPTY=", NULL };
	static const char *const labels[] = { "owner=tests", NULL };
	const struct provider_config cfg = { .env = env, .labels = labels, .lifetime_s = 1000 };
	struct sandbox_info info;
	struct error e = { 0 };
	char id[128];

	create(&cfg, id);
	cr_expect(not(sandbox_is_v1(id)), "%s", id);
	attach(id);
	expect_said("echo \"$GREETING$EMPTY\"", "good day\n");
	cr_expect(eq(int, provider_info(server.p, NULL, &info, &e), ERR_OK), "%s", e.text);
	cr_expect(le(i64, info.expires_s, 1000));
	cr_expect(info.expires_s > 700);
	/* No call prolongs the sandbox; an end sooner than asked for is reported. */
	cr_expect(eq(int, provider_extend(server.p, NULL, 60, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, provider_extend(server.p, NULL, 5000, &e), ERR_UNSUPPORTED));
	delete (id);
}

/* The service's default of five minutes would end the sandbox under a mount. */
Test(modal_life, without_a_wish_it_lives_as_long_as_it_may)
{
	const struct provider_config cfg = { 0 };
	struct sandbox_info info;
	struct error e = { 0 };
	char id[128];

	create(&cfg, id);
	attach(id);
	cr_expect(eq(int, provider_info(server.p, NULL, &info, &e), ERR_OK), "%s", e.text);
	cr_expect(ge(i64, info.expires_s, 12 * 3600));
	delete (id);
}

Test(modal_life, a_sandbox_that_does_not_start_is_not_left_behind)
{
	const struct provider_config cfg = { 0 };
	struct error e = { 0 };

	modal_server_fault(
		&server, "SandboxGetTaskIdV2", "{\"type\":\"grpc_status\",\"status\":3}", 1);
	cr_expect(eq(int, create_fails(&cfg, &e), ERR_INVALID), "%s", e.text);
	cr_expect(eq(uint, listed(), 0));
}

Test(modal_life, a_sandbox_that_could_not_be_deleted_is_reported)
{
	const struct provider_config cfg = { 0 };
	struct error e = { 0 };
	char id[128];

	create(&cfg, id);
	modal_server_fault(
		&server, "SandboxTerminateV2", "{\"type\":\"grpc_status\",\"status\":7}", 1);
	cr_expect(eq(int, provider_delete(ops(), &(struct provider_config){ .id = id }, NULL, &e),
		ERR_AUTH));
	cr_expect(eq(uint, listed(), 1));
	delete (id);
}

Test(modal_life, the_first_version_works_as_the_second)
{
	static const char *const env[] = { "GREETING=good day", NULL };
	const struct provider_config cfg = { .env = env };
	char id[128];

	setenv("MODAL_SANDBOX_V2", "0", 1);
	create(&cfg, id);
	cr_expect(sandbox_is_v1(id), "%s", id);
	attach(id);
	expect_said("echo \"$GREETING\"", "good day\n");
	delete (id);
}

Test(modal_life, a_worker_is_met_where_its_address_is)
{
	const struct provider_config cfg = { 0 };
	char id[128];

	create(&cfg, id);
	modal_server_post(&server, "/nowhere");
	attach(id);
	expect_said("echo here", "here\n");
}

/* The pauses between two renewals that fail are 1, 2, 4 ... s, counted in whole seconds. */
static long renewals_within(int64_t ms)
{
	long renewals = 1;

	for (int64_t pause_ms = 1000; ms > pause_ms - 1000; ms -= pause_ms, pause_ms *= 2)
		renewals++;
	return renewals;
}

/* The server's tokens live for 600 s by its clock and are renewed from half of that on. */
Test(modal_life, a_token_serves_while_no_other_can_be_had)
{
	const struct provider_config cfg = { 0 };
	struct sandbox_info info;
	struct error e = { 0 };
	int64_t began_ms;
	long asked;
	char id[128];

	create(&cfg, id);
	modal_server_post(&server, "/short/600");
	attach(id);
	modal_server_fault(&server, "AuthTokenGet", "{\"type\":\"grpc_status\",\"status\":14}", 0);
	modal_server_reset(&server);
	modal_server_post(&server, "/skew/400");
	began_ms = monotonic_ms();
	for (int i = 0; i < 10; i++)
		cr_expect(eq(int, provider_info(server.p, NULL, &info, &e), ERR_OK), "%s", e.text);
	asked = modal_server_count(&server, "AuthTokenGet");
	/* A renewal is four requests; the pauses limit their number, not the ten calls. */
	cr_expect(asked >= 4 && asked % 4 == 0, "%ld", asked);
	cr_expect(asked <= 4 * renewals_within(monotonic_ms() - began_ms), "%ld", asked);
	modal_server_post(&server, "/skew/700");
	cr_expect(ne(int, provider_info(server.p, NULL, &info, &e), ERR_OK), "it has expired");
}

/*
 * Only the list of sandboxes has a sandbox's end, and the service wants an app in the list's
 * request.
 */
Test(modal_life, its_end_is_looked_for_in_its_own_app)
{
	const struct provider_config cfg = { .app = "another.app", .lifetime_s = 1200 };
	struct sandbox_info info;
	struct error e = { 0 };
	char id[128];

	create(&cfg, id);
	modal_server_post(&server, "/by-app");
	attach(id);
	cr_assert(eq(int, provider_info(server.p, NULL, &info, &e), ERR_OK), "%s", e.text);
	cr_expect(
		info.expires_s > 600 && info.expires_s <= 1200, "%lld", (long long)info.expires_s);
}

Test(modal_life, a_gpu_is_of_the_first_version)
{
	const struct provider_config cfg = { .gpu = "a100-80gb:2" };
	char id[128];

	create(&cfg, id);
	cr_expect(sandbox_is_v1(id), "%s", id);
	delete (id);
}

static enum err port_url(const char *id, unsigned port, struct buf *out, struct error *e)
{
	const struct provider_config cfg = { .id = id, .account_only = true };
	struct provider *p;
	enum err kind = provider_connect(ops(), &cfg, NULL, &p, e);

	if (kind)
		return kind;
	kind = provider_url(p, NULL, port, out, e);
	provider_release(p);
	return kind;
}

Test(modal_life, ports_that_it_is_made_with_have_urls_and_no_others)
{
	static const uint16_t ports[] = { 8000, 9000, 0 };
	AUTO_BUF struct buf url = BUF_INIT(1000);
	struct error e = { 0 };
	char id[128];

	create(&(struct provider_config){ .ports = ports }, id);
	cr_expect(eq(int, port_url(id, 8000, &url, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, strncmp(buf_text(&url), "https://", 8), 0), "%s", buf_text(&url));
	cr_expect(ne(ptr, strstr(buf_text(&url), "-8000."), NULL), "%s", buf_text(&url));
	cr_expect(eq(int, port_url(id, 9000, &url, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(int, port_url(id, 8001, &url, &e), ERR_UNSUPPORTED));
	cr_expect(ne(ptr, strstr(e.text, "--port 8001"), NULL), "%s", e.text);
	delete (id);
}

Test(modal_life, all_pages_are_listed_and_both_versions)
{
	const struct provider_config cfg = { 0 };
	char ids[5][128];

	for (size_t i = 0; i < 5; i++) {
		setenv("MODAL_SANDBOX_V2", i % 2 ? "0" : "1", 1);
		create(&cfg, ids[i]);
	}
	cr_expect(eq(uint, listed(), 5));
	for (size_t i = 0; i < 5; i++)
		delete (ids[i]);
	cr_expect(eq(uint, listed(), 0));
}

/* The service wants an app in each list's request. */
Test(modal_life, a_list_is_that_of_every_app_that_may_have_sandboxes)
{
	char ids[3][128];

	create(&(struct provider_config){ 0 }, ids[0]);
	create(&(struct provider_config){ .app = "another.app" }, ids[1]);
	create(&(struct provider_config){ .app = "ended" }, ids[2]);
	modal_server_post(&server, "/by-app");
	cr_expect(eq(uint, listed(), 3));
	modal_server_post(&server, "/stop-app/ended");
	cr_expect(eq(uint, listed(), 2));
	/*
	 * The server forgets one of the two apps between the list of apps and the list of its
	 * sandboxes.
	 */
	modal_server_fault(&server, "SandboxListV2", "{\"type\":\"grpc_status\",\"status\":5}", 1);
	cr_expect(eq(uint, listed(), 1));
}

Test(modal_life, deleting_what_is_not_there_is_success)
{
	delete ("sb-0123456789abcdefABCDEF");
	delete ("sb-0123456789abcdefABCDEFghijkl");
}

Test(modal_life, what_is_no_id_is_refused_without_a_request)
{
	const struct provider_config cfg = { .id = "../x" };
	struct error e = { 0 };

	modal_server_reset(&server);
	cr_expect(eq(int, provider_connect(ops(), &cfg, NULL, &server.p, &e), ERR_INVALID), "%s",
		e.text);
	cr_expect(eq(long, modal_server_count(&server, NULL), 0));
}

Test(modal_life, a_name_that_nobody_has_is_not_found_and_deleted_already)
{
	const struct provider_config cfg = { .id = "nobody" };
	struct error e = { 0 };

	cr_expect(eq(int, provider_connect(ops(), &cfg, NULL, &server.p, &e), ERR_NOT_FOUND), "%s",
		e.text);
	delete ("nobody");
}

Test(modal_life, an_unknown_sandbox_is_not_found)
{
	const struct provider_config cfg = { .id = "sb-0123456789abcdefABCDEFghijkl" };
	struct error e = { 0 };

	cr_expect(eq(int, provider_connect(ops(), &cfg, NULL, &server.p, &e), ERR_NOT_FOUND), "%s",
		e.text);
}

Test(modal_life, an_image_that_cannot_be_built_says_why)
{
	const struct provider_config cfg = { .template = "does-not-exist" };
	struct error e = { 0 };

	cr_expect(eq(int, create_fails(&cfg, &e), ERR_INVALID), "%s", e.text);
	cr_expect(ne(ptr, strstr(e.text, "manifest unknown"), NULL), "%s", e.text);
	cr_expect(eq(uint, listed(), 0));
}

Test(modal_life, a_build_goes_on_being_followed)
{
	const struct provider_config cfg = { 0 };
	char id[128];

	modal_server_fault(
		&server, "ImageJoinStreaming", "{\"type\":\"grpc_status\",\"status\":14}", 2);
	create(&cfg, id);
	cr_expect(eq(long, modal_server_count(&server, "ImageJoinStreaming"), 3));
}

Test(modal_life, a_repeated_creation_makes_one)
{
	const struct provider_config cfg = { 0 };
	char id[128];

	modal_server_fault(&server, "SandboxCreateV2", "{\"type\":\"cut_after\"}", 2);
	create(&cfg, id);
	cr_expect(eq(uint, listed(), 1));
	delete (id);
}

Test(modal_life, a_name_that_is_taken_is_reported)
{
	const struct provider_config cfg = { .name = "mine" };
	struct error e = { 0 };
	char id[128];

	create(&cfg, id);
	cr_expect(eq(int, create_fails(&cfg, &e), ERR_EXISTS), "%s", e.text);
	delete (id);
}

Test(modal_life, a_wrong_token_is_reported_at_once)
{
	const struct provider_config cfg = { 0 };
	struct error e = { 0 };

	setenv("MODAL_TOKEN_SECRET", "as-wrong", 1);
	modal_server_reset(&server);
	cr_expect(eq(int, create_fails(&cfg, &e), ERR_AUTH), "%s", e.text);
	cr_expect(ne(ptr, strstr(e.text, "MODAL_TOKEN_SECRET"), NULL), "%s", e.text);
	cr_expect(eq(ptr, strstr(e.text, "as-wrong"), NULL), "%s", e.text);
	cr_expect(eq(long, modal_server_count(&server, NULL), 1));
}

Test(modal_life, oauth_signs_in)
{
	struct error e = { 0 };
	const struct provider_config cfg = { 0 };
	unsigned found = 0;

	unsetenv("MODAL_TOKEN_ID");
	unsetenv("MODAL_TOKEN_SECRET");
	/* The credentials are those of tests/servers/modal/access.mjs. */
	setenv("MODAL_OAUTH_REFRESH_TOKEN", "rt-0123456789abcdef", 1);
	setenv("MODAL_OAUTH_CLIENT_ID", "oc-0123456789abcdef", 1);
	setenv("MODAL_OAUTH_CLIENT_SECRET", "os-0123456789abcdef", 1);
	cr_expect(eq(u32, listed(), 0));
	setenv("MODAL_OAUTH_CLIENT_SECRET", "os-another", 1);
	cr_expect(eq(int, provider_list_sandboxes(ops(), &cfg, NULL, count, &found, &e), ERR_AUTH));
	cr_expect(ne(ptr, strstr(e.text, "MODAL_OAUTH_CLIENT_SECRET"), NULL), "%s", e.text);
	cr_expect(eq(ptr, strstr(e.text, "os-another"), NULL), "%s", e.text);
}

/*
 * How often the list of apps was asked for, where the server asks for a pause of `seconds` each
 * time.
 */
static long asked_with_wishes(int status, double seconds, int times, enum err want)
{
	const struct provider_config cfg = { 0 };
	unsigned found = 0;
	struct error e = { 0 };
	char wish[100];

	snprintf(wish, sizeof wish, "{\"type\":\"grpc_status\",\"status\":%d,\"retry_after\":%.1f}",
		status, seconds);
	modal_server_reset(&server);
	modal_server_fault(&server, "AppList", wish, times);
	cr_expect(eq(int, provider_list_sandboxes(ops(), &cfg, NULL, count, &found, &e), want),
		"%s", e.text);
	modal_server_mend(&server);
	return modal_server_count(&server, "AppList");
}

Test(modal_life, a_credential_in_an_answer_is_masked)
{
	static const char *const names[] = { "MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET" };
	const struct provider_config cfg = { 0 };

	for (size_t i = 0; i < 2; i++) {
		const char *secret = getenv(names[i]);
		struct error e = { 0 };
		char id[128], wish[300];

		cr_assert(ne(ptr, (void *)secret, NULL));
		snprintf(wish, sizeof wish,
			"{\"type\":\"grpc_status\",\"status\":3,\"message\":\"bad %s here\"}",
			secret);
		modal_server_fault(&server, "SandboxGetTaskIdV2", wish, 1);
		cr_expect(eq(int, provider_create(ops(), &cfg, NULL, id, &e), ERR_INVALID));
		cr_expect(ne(ptr, strstr(e.text, "here"), NULL), "%s", e.text);
		cr_expect(eq(ptr, strstr(e.text, secret), NULL), "%s", e.text);
	}
}

Test(modal_life, the_servers_wishes_are_obeyed_for_so_long)
{
	setenv("MODAL_MAX_THROTTLE_WAIT", "1", 1);
	cr_expect(eq(long, asked_with_wishes(8, 0.4, 0, ERR_UNREACHABLE), 3));
	setenv("MODAL_MAX_THROTTLE_WAIT", "0", 1);
	cr_expect(eq(long, asked_with_wishes(8, 0.4, 0, ERR_UNREACHABLE), 4));
	cr_expect(eq(long, asked_with_wishes(14, 0.4, 2, ERR_OK), 3));
}

Test(modal_life, plain_http_is_reported_to_have_no_http_2)
{
	const struct provider_config cfg = { 0 };
	struct error e = { 0 };

	setenv("MODAL_SERVER_URL", "http://127.0.0.1:1", 1);
	cr_expect(eq(int, create_fails(&cfg, &e), ERR_INVALID), "%s", e.text);
	cr_expect(ne(ptr, strstr(e.text, "https"), NULL), "%s", e.text);
}
