/* Workers' addresses, and when a token is renewed. */
#include "providers/modal/control.h"
#include "providers/modal/worker.h"
#include "providers/server_clock.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

TestSuite(modal_access, .timeout = 120);

static struct worker_access access_to(const char *url, const char *address)
{
	return (struct worker_access){ .url = strdup(url),
		.jwt = strdup("a.b.c"),
		.address = address ? strdup(address) : NULL };
}

/* Counts the renewals. */
static enum err renew(
	void *context, const struct call *call, struct worker_access *out, struct error *e)
{
	(void)call, (void)e;
	++*(unsigned *)context;
	*out = access_to("https://worker.example", NULL);
	return ERR_OK;
}

static enum err make(
	struct worker **out, const char *url, const char *address, unsigned *asked, struct error *e)
{
	static const struct server_clock clock;
	struct worker_access access = access_to(url, address);

	return worker_new(out, NULL, &clock, "ta-1", &access, renew, asked, e);
}

Test(modal_access, its_token_goes_by_https_to_an_address_alone)
{
	static const struct {
		const char *url, *address;
	} bad[] = {
		{ "http://worker.example", NULL },
		{ "http://127.0.0.1:1", NULL },
		{ "worker.example", NULL },
		{ "https://", NULL },
		{ "https://worker.example", "elsewhere.example" },
		{ "https://worker.example", "10.0.0.1:80" },
		{ "https://worker.example", "" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct error e = { 0 };
		struct worker *w = NULL;
		unsigned asked = 0;

		cr_expect(ne(int, make(&w, bad[i].url, bad[i].address, &asked, &e), ERR_OK), "%s",
			bad[i].url);
		cr_expect(eq(ptr, w, NULL));
	}
}

Test(modal_access, a_token_that_several_were_refused_with_is_renewed_once)
{
	struct error e = { 0 };
	struct worker *w;
	unsigned asked = 0;

	cr_assert(eq(int, make(&w, "https://worker.example", "10.0.0.1", &asked, &e), ERR_OK), "%s",
		e.text);
	for (int i = 0; i < 3; i++)
		cr_expect(eq(int, worker_renew_access(w, NULL, 0, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(uint, asked, 1));
	cr_expect(eq(int, worker_renew_access(w, NULL, 1, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(uint, asked, 2));
	worker_free(w);
}

Test(modal_access, an_answer_names_no_worker_and_no_tunnel_on_this_machine)
{
	const struct modal_settings settings = { .server_url = "https://api.example.com" };
	struct modal_control *c = NULL;

	cr_assert(eq(int, modal_control_new(&c, NULL, &settings, NULL), ERR_OK));
	cr_expect(eq(int, modal_control_check_named(c, "https://w.example", NULL), ERR_OK));
	cr_expect(eq(int, modal_control_check_named(c, "https://localhost", NULL), ERR_PROTOCOL));
	cr_expect(eq(int, modal_control_check_named_host(c, "52.1.2.3", NULL), ERR_OK));
	cr_expect(eq(int, modal_control_check_named_host(c, "127.0.0.1", NULL), ERR_PROTOCOL));
	cr_expect(eq(int, modal_control_check_named_host(c, "x/y?z", NULL), ERR_PROTOCOL));
	modal_control_free(c);
}
