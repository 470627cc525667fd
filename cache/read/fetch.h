/*
 * fetch.h - contents fetched from the sandbox, one item a call, and what the answer says of the file learned.
 *
 * Bytes of a settled version are kept (block_store.h), and read from there.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

/* When something was asked. */
struct asked {
	uint64_t seen;         /* of the tree */
	struct timespec clock; /* the sandbox's was at least this */
};

struct asked asked_now(struct cache *c);

/* What was asked and what came. */
struct reading {
	struct fetch_item item; /* kind, offset and length: the caller's; the rest is filled in */
	unsigned char *out;     /* `room` bytes */
	size_t room, got;
	uint64_t found; /* where a seek led */
	struct attr attr;
	struct asked asked;
	bool is_made_now; /* the contents are made by each read: nothing of them is kept */
};

enum err fetch_do(struct cache *c, const struct call *call, struct inode *i, struct reading *r,
	struct error *e);

/* Brings what was asked then into the tree; if the contents changed behind our back the kernel is told. */
void fetch_learn(
	struct cache *c, struct inode *i, const struct asked *asked, const struct attr *attr);

/* Bytes that were asked then, and are of this version, from a file of that path: kept if it is settled. */
void fetch_keep(struct cache *c, const char *path, const struct asked *asked,
	const struct attr *attr, uint64_t offset, const void *bytes, size_t len);

/*
 * The version of which contents may be had from what is stored. Where some are stored of the one that was known last, the
 * sandbox is asked whether it still is that one. false: not known.
 */
bool fetch_version(struct cache *c, const struct call *call, struct inode *i, uint64_t offset,
	struct attr *out);
