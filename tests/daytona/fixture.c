#include "tests/daytona/fixture.h"

#include <stdlib.h>

void fixture_open(struct fixture *f, const struct canned_row *rows, size_t count,
	const struct provider_config *cfg)
{
	*f = (struct fixture){ 0 };
	canned_start(&f->server, rows, count);
	setenv("DAYTONA_API_URL", f->server.url, 1);
	setenv("DAYTONA_API_KEY", "dtn_s3cret", 1);
	unsetenv("DAYTONA_TARGET");
	cr_assert(eq(int, daytona_new(&f->d, cfg, "i1", &f->e), ERR_OK), "%s", f->e.text);
}

void fixture_find(struct fixture *f, const struct canned_row *rows, size_t count,
	const struct provider_config *cfg)
{
	fixture_open(f, rows, count, cfg);
	cr_assert(eq(int, attachment_find(&f->d->at, NULL, &f->e), ERR_OK), "%s", f->e.text);
	f->d->at.has_remote = true;
}

void fixture_close(struct fixture *f)
{
	f->d->at.has_remote = false;
	daytona_release(&f->d->at.base);
	canned_stop(&f->server);
	for (size_t i = 0; i < f->server.got; i++)
		free(f->server.requests[i]);
}
