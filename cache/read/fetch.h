/*
 * fetch.h - contents fetched from the sandbox, one item a call. The tree learns the file's
 * attributes in the answer.
 *
 * Bytes of a stable version are kept (block_store.h), and read from there.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

/* The time of a question. */
struct asked {
	uint64_t seen;         /* the tree's serial number */
	struct timespec clock; /* the least time of the sandbox's clock */
};

struct asked asked_now(struct cache *c);

/* A question and its answer. */
struct reading {
	struct fetch_item item; /* kind, offset and length: the caller's; the rest is filled in */
	unsigned char *out;     /* `room` bytes */
	size_t room, got;
	uint64_t found; /* the offset that a seek found */
	struct attr attr;
	struct asked asked;
	bool is_made_now; /* each read makes the contents anew, so that none are kept */
};

enum err fetch_do(struct cache *c, const struct call *call, struct inode *i, struct reading *r,
	struct error *e);

/*
 * Brings an answer to a question of that time into the tree. Where others changed the contents the
 * kernel is told to forget them.
 */
void fetch_learn(
	struct cache *c, struct inode *i, const struct asked *asked, const struct attr *attr);

/*
 * Keeps bytes from an answer to a question of that time, of this version of the file at `path`, if
 * the version is stable.
 */
void fetch_keep(struct cache *c, const char *path, const struct asked *asked,
	const struct attr *attr, uint64_t offset, const void *bytes, size_t len);

/*
 * The version whose stored contents may be used. Where blocks are stored of the version that was
 * known last, the sandbox is asked whether the file still has it. false: not known.
 */
bool fetch_version(struct cache *c, const struct call *call, struct inode *i, uint64_t offset,
	struct attr *out);
