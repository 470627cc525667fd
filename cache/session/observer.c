#include "cache/session/observer.h"

#include "cache/session/session.h"

void cache_tell_inode(struct cache *c, struct inode *i, bool pages)
{
	pthread_rwlock_rdlock(&c->observing);
	if (c->observer.inode_changed)
		c->observer.inode_changed(c->observer.context, i, pages);
	pthread_rwlock_unlock(&c->observing);
}

void cache_tell_revoked(struct cache *c, struct inode *i)
{
	pthread_rwlock_rdlock(&c->observing);
	if (c->observer.inode_revoked)
		c->observer.inode_revoked(c->observer.context, i);
	pthread_rwlock_unlock(&c->observing);
}

void cache_tell_changed(struct cache *c, enum watch_kind kind, const char *path, bool is_dir)
{
	pthread_rwlock_rdlock(&c->observing);
	if (c->observer.changed)
		c->observer.changed(c->observer.context, kind, path, is_dir);
	pthread_rwlock_unlock(&c->observing);
}

void cache_tell_name(struct cache *c, struct inode *dir, const char *name, bool is_gone)
{
	pthread_rwlock_rdlock(&c->observing);
	if (c->observer.name_changed)
		c->observer.name_changed(c->observer.context, dir, name, is_gone);
	pthread_rwlock_unlock(&c->observing);
}

void cache_observe(struct cache *c, const struct cache_observer *observer)
{
	pthread_rwlock_wrlock(&c->observing);
	c->observer = observer ? *observer : (struct cache_observer){ 0 };
	pthread_rwlock_unlock(&c->observing);
}

void cache_tell_all_outdated(struct cache *c)
{
	pthread_rwlock_rdlock(&c->observing);
	if (c->observer.all_outdated)
		c->observer.all_outdated(c->observer.context);
	pthread_rwlock_unlock(&c->observing);
}
