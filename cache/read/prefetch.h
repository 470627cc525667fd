/*
 * prefetch.h - small files, fetched together with those that are likely to be read next.
 *
 * A small file that is read and not here is fetched whole, and so are others around it (tree_gather_files()), in one call
 * whose answer streams: each file is handed to its readers as soon as the sandbox said of which version its bytes are. What
 * was fetched is used only as long as nothing newer is known of the file; it stays in bounded memory, and in `stored`.
 *
 * How many come along follows from what was read of those before. The first miss takes a few of its directory; whoever
 * read most of them and goes on elsewhere walks the tree, and gets what follows in it; whoever read few gets none.
 *
 * Locks: its own one, above the tree's and above those of `stored`. Any function may be called from any thread. Functions
 * take NULL for `b`: nothing is fetched together.
 */
#pragma once

#include "cache/tree/tree.h"

#include "providers/base/call.h"

struct cache; /* cache/session/session.h */

struct prefetch;

enum err prefetch_new(struct prefetch **out, struct cache *c, struct error *e);
/* No read may be under way. Calls are cancelled and waited for. */
void prefetch_free(struct prefetch *b);

/*
 * *served: the read is done, or failed with what is returned; else whoever reads is to ask for it alone. *got < len: the
 * end of the file. Waits for a call under way, but not for one that has much else to bring before.
 */
enum err prefetch_read(struct prefetch *b, const struct call *call, struct inode *i,
	uint64_t offset, void *out, size_t len, size_t *got, bool *served, struct error *e);

/* Nothing stays of files and directories that have no name any more, and that nobody has open. */
void prefetch_drop_unused(struct prefetch *b);
/* Equal attributes of the file need not mean equal contents: what is here of it goes. */
void prefetch_drop(struct prefetch *b, struct inode *i);
