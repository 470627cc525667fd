/*
 * Invalidates what is known: after commands, and for changes that no stream reports.
 */
#include "cache/lease/invalidate.h"

#include "cache/lease/lease.h"
#include "cache/lease/validity.h"
#include "cache/session/session.h"
#include "cache/tree/tree.h"

#include "providers/base/log.h"

static void invalidate_and_tell(struct cache *c, bool all_fetched)
{
	log_debug(LOG_LEASE, "all that is known is invalid");
	c->upcalls.drop_fetched(c, all_fetched);
	tree_invalidate_all(c->tree);
	validity_lost(c->validity);
	cache_tell_all_outdated(c);
}

/*
 * The kernel asks for the root's attributes on the way to every file, and so to the command's
 * answer, which should cost no request. The command's end has brought these attributes, and the
 * kernel has dropped its own. Where the end has not brought them the kernel keeps its own while a
 * stream lives.
 */
static void report_command(struct cache *c)
{
	atomic_store(&c->has_run, true);
	cache_tell_all_outdated(c);
	if (!lease_is_live(c->lease))
		cache_tell_inode(c, tree_root(c->tree), false);
}

static void invalidate_by_command(struct cache *c, uint64_t seen, const struct attr *root)
{
	log_debug(LOG_LEASE, "a command ended: all that is known is invalid");
	validity_must_ask(c->validity);
	c->upcalls.drop_fetched(c, true);
	if (root && root->mode)
		tree_invalidate_all_but_root(c->tree, seen,
			&(struct tree_news){ .attr = *root, .until_ms = cache_attr_until(c) });
	else
		tree_invalidate_all(c->tree);
	validity_lost(c->validity);
}

void cache_command_ended(struct cache *c)
{
	invalidate_by_command(c, 0, NULL);
	report_command(c);
}

/*
 * For this many names that the kernel may use, a notice each, and each lookup again, costs more
 * than a round trip: a tenth of a second of the processor. The audit is the one that the next use
 * of a file would begin: where one command follows another, and no file is used, there is no second
 * one. What the kernel has after an earlier command was used since, and is likely to be used again:
 * the audit only comes earlier. So fewer names make it worth while to look at all that are known.
 */
#define NAMES_WORTH_AUDIT       10000
#define NAMES_WORTH_AUDIT_AGAIN 1000

static size_t worth_audit(struct cache *c)
{
	return atomic_load(&c->has_run) ? NAMES_WORTH_AUDIT_AGAIN : NAMES_WORTH_AUDIT;
}

/* While the stream lives what the audit confirms is valid without end, also in the kernel. */
static void audit_all(struct cache *c, const struct call *call)
{
	struct call brief = call ? *call : (struct call){ 0 };

	/* The command may have been silent for longer. */
	brief.progress_ms = cache_progress_ms(c);
	brief.progress = NULL;
	validity_restore(c->validity, &brief, NULL);
}

void cache_command_answered(
	struct cache *c, const struct call *call, uint64_t seen, const struct attr *root)
{
	invalidate_by_command(c, seen, root);
	if (lease_is_live(c->lease) && tree_kernel_uses_names(c->tree, worth_audit(c)))
		audit_all(c, call);
	report_command(c);
}

void cache_invalidate_unreported(struct cache *c)
{
	invalidate_and_tell(c, false);
}

/* A change that is on its way when the cache ends may find out that the sandbox is out of reach. */
void cache_invalidate_all(struct cache *c)
{
	pthread_rwlock_rdlock(&c->invalidating);
	if (!c->is_ending) {
		invalidate_and_tell(c, true);
		cache_tell_inode(c, tree_root(c->tree), false);
	}
	pthread_rwlock_unlock(&c->invalidating);
}

void cache_check_all(struct cache *c, const struct call *call)
{
	log_debug(LOG_LEASE, "all that is known is to be checked");
	c->upcalls.drop_fetched(c, true);
	tree_invalidate_all(c->tree);
	validity_lost(c->validity);
	/* Otherwise the notices would be as many each time. */
	if (lease_is_live(c->lease) && tree_kernel_has_names(c->tree, NAMES_WORTH_AUDIT))
		audit_all(c, call);
	cache_tell_all_outdated(c);
	cache_tell_inode(c, tree_root(c->tree), false);
}
