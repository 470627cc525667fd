/*
 * live-sandbox - makes and deletes the one sandbox that a live run works in.
 *
 *	live-sandbox VENDOR make FILE      writes its ID to FILE
 *	live-sandbox VENDOR delete ID      also one that is gone already
 *
 * The provider's own create and delete do the work, and so are tested as well. Signals wait until
 * the work is done: the ID of a sandbox that was made must be known, for its deletion.
 */
#include "providers/provider.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The longest lifetime that every account may ask for; a run takes some minutes. */
#define LIFETIME_S 3600

static void put_off_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], SIG_IGN);
}

static enum err write_id(const char *path, const char *id, struct error *e)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return error_errno(e, errno, "%s", path);
	fputs(id, file);
	return fclose(file) ? error_errno(e, errno, "%s", path) : ERR_OK;
}

static enum err make(const struct provider_ops *ops, const char *path, struct error *e)
{
	struct provider_config cfg = { .lifetime_s = LIFETIME_S };
	char id[128];
	enum err kind = provider_create(ops, &cfg, NULL, id, e);

	if (kind)
		return kind;
	kind = write_id(path, id, e);
	cfg.id = id;
	if (kind)
		provider_delete(ops, &cfg, NULL, NULL);
	return kind;
}

static enum err discard(const struct provider_ops *ops, const char *id, struct error *e)
{
	const struct provider_config cfg = { .id = id };

	return provider_delete(ops, &cfg, NULL, e);
}

int main(int argc, char **argv)
{
	const struct provider_ops *ops = argc == 4 ? provider_find(argv[1], strlen(argv[1])) : NULL;
	bool is_make = ops && !strcmp(argv[2], "make");
	struct error e = { 0 };
	enum err kind;

	if (!ops || (!is_make && strcmp(argv[2], "delete") != 0)) {
		fprintf(stderr, "usage: live-sandbox VENDOR make FILE | delete ID\n");
		return 2;
	}
	put_off_signals();
	kind = is_make ? make(ops, argv[3], &e) : discard(ops, argv[3], &e);
	if (kind)
		fprintf(stderr, "live-sandbox: %s\n", e.text);
	return kind ? 1 : 0;
}
