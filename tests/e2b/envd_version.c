#include "providers/e2b/envd_version.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define USER ENVD_HAS_DEFAULT_USER
#define RAW  ENVD_TAKES_RAW_FILES

Test(envd_version, what_a_daemon_can_do_goes_by_its_version)
{
	static const struct {
		const char *version;
		unsigned features;
	} rows[] = {
		{ "0.1.0", 0 },
		{ "0.3.12", 0 },
		{ "0.4.0", USER },
		{ "0.4.9", USER },
		{ "v0.5.6", USER },
		{ "0.5.7", USER | RAW },
		{ "0.5.7-rc1", USER | RAW },
		{ "0.5.16", USER | RAW },
		{ "0.10.0", USER | RAW },
		{ "0.4", USER },
		{ "1.0.0", USER | RAW },
		{ "", USER },
		{ "newest", USER },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect(eq(uint, envd_features(rows[i].version), rows[i].features), "%s",
			rows[i].version);
}

Test(envd_version, before_0_1_0_it_speaks_another_protocol)
{
	cr_expect(envd_is_too_old("0.0.12"));
	cr_expect(not(envd_is_too_old("0.1.0")));
	cr_expect(not(envd_is_too_old("1.0.3")));
	cr_expect(not(envd_is_too_old("")));
}
