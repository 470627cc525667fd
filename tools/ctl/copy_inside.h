/*
 * copy_inside.h - shared by the files of copy.h; included by no other.
 */
#pragma once

#include "tools/ctl/copy.h"

/* ".sandboxctl-", sixteen random digits, and the NUL. */
#define COPY_STAGED_SIZE 32

/* One name that is copied, from the list to its end. */
struct copy_entry {
	char *path, *target, *link;
	struct attr attr;
	char *staged;    /* the name at `to` until the file is whole; NULL: not begun, or over */
	bool is_above;   /* not of the sources: a directory above them that is made */
	bool is_listed;  /* directory: its entries are known */
	bool is_there;   /* directory: it existed, or something else of its name */
	bool is_entered; /* an entry in it was made: it is a directory */
	size_t parent;   /* 1 + the index of its directory; 0: it is a source itself */
	bool is_failed;
	size_t step; /* 1 + the index of its last change in the batch; 0: none */
};

struct copy_list {
	struct copy_entry *entries; /* every directory before its entries */
	size_t count, room;
	size_t dir;     /* index of the directory of the entries that come now */
	uint64_t bytes; /* sum of all files */
};

/* Changes for `to` that are not sent yet. */
struct copy_batch {
	struct change *changes;
	struct change_result *results;
	/* the entry of each change; NULL: none, and the change may fail */
	struct copy_entry **owners;
	size_t count, room;
	unsigned char *data; /* contents of the changes */
	size_t data_len, data_max;
	size_t paths_len; /* length of all paths of the batch */
};

struct copying {
	const struct copy *copy;
	const struct call *call;
	struct copy_counts *counts;
	struct copy_list list;
	struct copy_batch batch;
	char prefix[COPY_STAGED_SIZE]; /* beginning of the names until files are whole */
};

void copy_fail(struct copying *c, struct copy_entry *entry, enum err kind, const char *text);
enum err copy_no_memory(struct error *e);
/*
 * ERR_INTERRUPTED: the call was cancelled. For work in this process, which does not look at the
 * call.
 */
enum err copy_check(const struct copying *c, struct error *e);

/* ---- copy_list.c: the names to copy ---- */

enum err copy_list(
	struct copying *c, const struct copy_source *sources, size_t count, struct error *e);
void copy_list_release(struct copy_list *l);

/* ---- copy_batch.c: the changes that leave together ---- */

enum err copy_batch_new(struct copying *c, struct error *e);
void copy_batch_release(struct copy_batch *b);

/*
 * Adds a change behind its owner's last one in the batch. Sends the batch first where there is no
 * room.
 */
enum err copy_add(
	struct copying *c, struct copy_entry *owner, struct change change, struct error *e);
/* As copy_add(), for bytes to be written to the owner's staged file. The bytes are copied. */
enum err copy_add_bytes(struct copying *c, struct copy_entry *owner, uint64_t offset,
	const void *bytes, size_t len, struct error *e);
/* Sends the batch. */
enum err copy_flush(struct copying *c, struct error *e);

/* ---- copy_files.c: contents ---- */

enum err copy_files(struct copying *c, struct error *e);

/* ---- copy.c ---- */

/* Begins a file or link under a name of its own. `change`: how it is made, without its path. */
enum err copy_begin(
	struct copying *c, struct copy_entry *entry, struct change change, struct error *e);
/* The file or link is whole: gives it its attributes and its name. */
enum err copy_end(struct copying *c, struct copy_entry *entry, struct error *e);
