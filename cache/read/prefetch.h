/*
 * prefetch.h - small files, fetched together with those that are likely to be read next.
 *
 * A small file that is read and not here is fetched whole, and so are others around it
 * (tree_gather_files()), in one call whose answer streams: each file is handed to its readers as
 * soon as the sandbox reports the version of its bytes. A fetched file is used only as long as
 * nothing newer is known of it. It stays in bounded memory, and in the block store.
 *
 * The number of files that come along follows from how many were read of those before. The first
 * miss brings a few of its directory. A reader of most of them that goes on elsewhere walks the
 * tree, and gets the files that follow in it. A reader of few gets none.
 *
 * Locks: its own one, above the tree's and above those of the block store. Any function may be
 * called from any thread. Functions take NULL for `b`: nothing is fetched together.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

struct prefetch;

enum err prefetch_new(struct prefetch **out, struct cache *c, struct error *e);
/* Called when no read is under way. Calls are cancelled and waited for. */
void prefetch_free(struct prefetch *b);

/*
 * *served: the read is done, or failed with the result; else the caller asks for the bytes alone.
 * *got < len: the end of the file. Waits for a call under way, but not for one that has much else
 * to bring before.
 */
enum err prefetch_read(struct prefetch *b, const struct call *call, struct inode *i,
	uint64_t offset, void *out, size_t len, size_t *got, bool *served, struct error *e);

/* Drops files and directories that have no name any more and are not open. */
void prefetch_drop_unused(struct prefetch *b);
/* Drops what is here of the file: equal attributes of it need not mean equal contents. */
void prefetch_drop(struct prefetch *b, struct inode *i);
