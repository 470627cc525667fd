#include "providers/provider.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(provider_options, .timeout = 300);

static int calls;

/* The ID of the next sandbox. */
static const char *made = "id-1";

static enum err create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	(void)cfg, (void)call, (void)e;
	calls++;
	strcpy(id, made);
	return ERR_OK;
}

static enum err connect_to(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	(void)cfg, (void)call, (void)out, (void)e;
	calls++;
	return ERR_OK;
}

static struct provider_ops vendor(unsigned create_options, unsigned connect_options)
{
	calls = 0;
	return (struct provider_ops){ .name = "vendor",
		.create = create,
		.connect = connect_to,
		.create_options = create_options,
		.connect_options = connect_options };
}

static const char *const list[] = { "A=b", NULL };
static const uint16_t ports[] = { 8000, 0 };
static const struct provider_config everything = { .template = "t",
	.image = "i",
	.env = list,
	.labels = list,
	.name = "n",
	.cpus = 1,
	.memory_mb = 1,
	.disk_mb = 1,
	.gpu = "g",
	.region = "r",
	.idle_s = 1,
	.delete_after_s = 1,
	.block_network = true,
	.allowed = list,
	.ports = ports,
	.lifetime_s = 1,
	.user = "u",
	.resume = RESUME_NEVER,
	.archive_after_s = 1,
	.language = "l",
	.pids = 1,
	.network = NETWORK_NONE,
	.app = "a" };

#define ALL (2 * OPTION_APP - 1)

Test(provider_options, each_is_noticed)
{
	const struct provider_config nothing = { 0 };

	cr_expect(eq(uint, provider_options_asked(&nothing), 0));
	cr_expect(eq(uint, provider_options_asked(&everything), ALL));
}

Test(provider_options, each_that_is_missing_is_refused_by_its_name)
{
	for (unsigned option = 1; option < ALL; option *= 2) {
		struct provider_ops ops = vendor(ALL & ~option, 0);
		struct buf name = BUF_INIT(100);
		struct error e = { 0 };
		char id[128];

		provider_option_names(option, &name);
		cr_expect(
			eq(int, provider_create(&ops, &everything, NULL, id, &e), ERR_UNSUPPORTED));
		cr_expect(ne(ptr, strstr(e.text, buf_text(&name)), NULL), "%s", e.text);
		cr_expect(eq(int, strncmp(e.text, "vendor: ", 8), 0), "%s", e.text);
		cr_expect(eq(int, calls, 0));
		buf_release(&name);
	}
}

static enum err url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e)
{
	(void)p, (void)call, (void)port, (void)out, (void)e;
	return ERR_OK;
}

Test(provider_options, a_port_that_need_not_be_opened_is_refused_in_these_words)
{
	struct provider_ops ops = vendor(ALL & ~OPTION_PORTS, 0);
	struct error e = { 0 };
	char id[128];

	ops.url = url;
	cr_expect(eq(int, provider_create(&ops, &everything, NULL, id, &e), ERR_UNSUPPORTED));
	cr_expect(eq(str, e.text,
		"vendor: every port has a URL, none is opened beforehand; leave 'port=' out"));
}

static const char *bit(unsigned option)
{
	return option == OPTION_CPUS ? "--cpus" : "another";
}

Test(provider_options, a_refused_option_is_named_as_its_user_wrote_it)
{
	struct provider_config cfg = { .cpus = 1, .option_name = bit };
	struct provider_ops ops = vendor(0, 0);
	struct error e = { 0 };
	char id[128];

	cr_expect(eq(int, provider_create(&ops, &cfg, NULL, id, &e), ERR_UNSUPPORTED));
	cr_expect(eq(str, e.text, "vendor: a new sandbox cannot be given '--cpus'; leave it out"));
}

Test(provider_options, what_the_vendor_can_do_is_passed_on)
{
	struct provider_ops ops = vendor(ALL & ~OPTION_USER, OPTION_USER);
	struct provider_config of_image = everything, of_template = everything;
	struct provider *p;
	char id[128];

	of_image.template = NULL;
	of_template.image = NULL;
	cr_expect(eq(int, provider_create(&ops, &of_image, NULL, id, NULL), ERR_OK));
	cr_expect(eq(int, provider_create(&ops, &of_template, NULL, id, NULL), ERR_OK));
	cr_expect(eq(int, provider_connect(&ops, &of_image, NULL, &p, NULL), ERR_OK));
	cr_expect(eq(int, calls, 3));
}

Test(provider_options, an_image_and_a_template_are_one_too_many)
{
	struct provider_ops ops = vendor(ALL, 0);
	struct error e = { 0 };
	char id[128];

	cr_expect(eq(int, provider_create(&ops, &everything, NULL, id, &e), ERR_INVALID));
	cr_expect(eq(str, e.text, "vendor: 'template=' and 'image=': one of them"));
	cr_expect(eq(int, calls, 0));
}

/* An ID is printed, typed and stands in the mount table. */
Test(provider_options, an_id_that_no_terminal_should_get_is_no_id)
{
	static const char *const bad[] = { "", "a b", "a\nb", "a\x9b", "a\xc2\x9b", "a\033[2J",
		"\xc3\xa4" };
	struct provider_ops ops = vendor(0, 0);

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const struct provider_config nothing = { 0 };
		struct error e = { 0 };
		char id[128];

		made = bad[i];
		cr_expect(eq(int, provider_create(&ops, &nothing, NULL, id, &e), ERR_PROTOCOL),
			"%zu", i);
		cr_expect(ne(ptr, strstr(e.text, "is no ID of a sandbox"), NULL), "%s", e.text);
	}
}

Test(provider_options, connecting_asks_for_a_user_a_lifetime_and_sleep)
{
	static const unsigned connecting[] = { OPTION_LIFETIME, OPTION_USER, OPTION_RESUME_NEVER };

	for (size_t i = 0; i < 3; i++) {
		struct provider_ops ops = vendor(0, ALL & ~connecting[i]);
		struct provider *p;

		cr_expect(eq(
			int, provider_connect(&ops, &everything, NULL, &p, NULL), ERR_UNSUPPORTED));
		cr_expect(eq(int, calls, 0));
	}
}
