/* Who observes the cache is told what is not as it was, or may not be. */
#include "cache/cache_inside.h"
#include "cache/lease/lease.h"
#include "cache/metadata.h"
#include "cache/lease/validity.h"

void cache_tell_inode(struct cache *c, struct inode *i, bool pages)
{
	pthread_rwlock_rdlock(&c->observing);
	if (c->observer.inode_changed)
		c->observer.inode_changed(c->observer.context, i, pages);
	pthread_rwlock_unlock(&c->observing);
}

static void tell_taken_back(struct cache *c, struct inode *i)
{
	pthread_rwlock_rdlock(&c->observing);
	if (c->observer.inode_taken_back)
		c->observer.inode_taken_back(c->observer.context, i);
	pthread_rwlock_unlock(&c->observing);
}

void cache_tell_changed(struct cache *c, enum watch_kind kind, const char *path, bool is_dir)
{
	pthread_rwlock_rdlock(&c->observing);
	if (c->observer.changed)
		c->observer.changed(c->observer.context, kind, path, is_dir);
	pthread_rwlock_unlock(&c->observing);
}

static void tell_name(struct cache *c, struct inode *dir, const char *name, bool is_gone)
{
	pthread_rwlock_rdlock(&c->observing);
	if (c->observer.name_changed)
		c->observer.name_changed(c->observer.context, dir, name, is_gone);
	pthread_rwlock_unlock(&c->observing);
}

/* Of an open file the pages, too: who has it mapped asks for no attributes. */
void cache_tell(void *context, const struct tree_told *told)
{
	struct cache *c = context;

	if (told->event) {
		stats_add(&c->stats, STATS_FOREIGN_EVENTS, 1);
		cache_tell_changed(c, told->event->kind, told->event->path, told->event->is_dir);
	} else if (told->inode && told->taken_back) {
		tell_taken_back(c, told->inode);
	} else if (told->inode) {
		cache_tell_inode(c, told->inode, told->pages);
	} else {
		tell_name(c, told->dir, told->name, told->is_gone);
	}
}

void cache_observe(struct cache *c, const struct cache_observer *observer)
{
	pthread_rwlock_wrlock(&c->observing);
	c->observer = observer ? *observer : (struct cache_observer){ 0 };
	pthread_rwlock_unlock(&c->observing);
}

/* ---- Doubt ---- */

static void report_all_outdated(struct cache *c)
{
	pthread_rwlock_rdlock(&c->observing);
	if (c->observer.all_outdated)
		c->observer.all_outdated(c->observer.context);
	pthread_rwlock_unlock(&c->observing);
}

static void doubt_and_tell(struct cache *c)
{
	bulk_drop_unused(c->bulk);
	tree_doubt_all(c->tree);
	trust_doubted(c->trust);
	report_all_outdated(c);
}

bool cache_take_outdated(struct cache *c, struct tree_outdated *out, size_t room, size_t *count)
{
	return tree_take_outdated(c->tree, out, room, count);
}

bool cache_is_nameless(struct cache *c, const struct inode *dir, const char *name)
{
	return tree_is_nameless(c->tree, dir, name);
}

/*
 * The kernel asks for the root's own attributes on the way to every file, and so to the command's
 * answer, which should cost no request: the command's end has brought them, and the kernel has
 * dropped its own. Where it has not brought them the kernel keeps its own while a stream lives.
 */
static void report_command(struct cache *c)
{
	atomic_store(&c->has_run, true);
	report_all_outdated(c);
	if (!lease_is_live(c->lease))
		cache_tell_inode(c, tree_root(c->tree), false);
}

static void doubt_by_command(struct cache *c, uint64_t seen, const struct attr *root)
{
	trust_must_ask(c->trust);
	ahead_drop_all(c->ahead);
	bulk_drop_unused(c->bulk);
	if (root && root->mode)
		tree_doubt_all_but_root(c->tree, seen,
			&(struct tree_news){ .attr = *root, .until_ms = cache_attr_until(c) });
	else
		tree_doubt_all(c->tree);
	trust_doubted(c->trust);
}

void cache_command_ended(struct cache *c)
{
	doubt_by_command(c, 0, NULL);
	report_command(c);
}

/*
 * Of so many names that the kernel may use a notice each, and each lookup again, costs more than a
 * round trip: a tenth of a second of the processor. The audit is one that the next use of a file
 * would begin: where one command follows another, and nobody uses a file, there is no second one.
 * What the kernel has after an earlier command was used since, and is likely to be used again: the
 * audit only comes earlier, for as many names as make it worth while to look at all that are known.
 */
#define NAMES_WORTH_AUDIT       10000
#define NAMES_WORTH_AUDIT_AGAIN 1000

static size_t worth_audit(struct cache *c)
{
	return atomic_load(&c->has_run) ? NAMES_WORTH_AUDIT_AGAIN : NAMES_WORTH_AUDIT;
}

/* While the stream lives what the audit confirms is held without end, also by the kernel. */
static void audit_all(struct cache *c, const struct call *call)
{
	struct call brief = call ? *call : (struct call){ 0 };

	/* The command may have been silent for longer. */
	brief.progress_ms = cache_progress_ms(c);
	brief.progress = NULL;
	trust_restore(c->trust, &brief, NULL);
}

void cache_command_answered(
	struct cache *c, const struct call *call, uint64_t seen, const struct attr *root)
{
	doubt_by_command(c, seen, root);
	if (lease_is_live(c->lease) && tree_kernel_uses_names(c->tree, worth_audit(c)))
		audit_all(c, call);
	report_command(c);
}

void cache_doubt_untold(struct cache *c)
{
	doubt_and_tell(c);
}

/* A change that is on its way when the cache ends may find out that the sandbox is out of reach. */
void cache_doubt_all(struct cache *c)
{
	pthread_rwlock_rdlock(&c->doubting);
	if (!c->is_ending) {
		ahead_drop_all(c->ahead);
		doubt_and_tell(c);
		cache_tell_inode(c, tree_root(c->tree), false);
	}
	pthread_rwlock_unlock(&c->doubting);
}

void cache_check_all(struct cache *c, const struct call *call)
{
	ahead_drop_all(c->ahead);
	bulk_drop_unused(c->bulk);
	tree_doubt_all(c->tree);
	trust_doubted(c->trust);
	/* The notices would be as many each time. */
	if (lease_is_live(c->lease) && tree_kernel_has_names(c->tree, NAMES_WORTH_AUDIT))
		audit_all(c, call);
	report_all_outdated(c);
	cache_tell_inode(c, tree_root(c->tree), false);
}
