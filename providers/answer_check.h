/*
 * answer_check.h - whether an answer of a sandbox can be true, before it is used.
 *
 * Programs in a sandbox may answer in place of the helper. The decoders of the wire have checked
 * lengths, names and types of files by then. Here each answer is checked against its request, and
 * each value against what a kernel can report. Every answer of a sandbox passes through here. A
 * refused answer is ERR_PROTOCOL.
 */
#pragma once

#include "providers/verbs.h"

/* An inode number must not be 0; a time of change must be one that a clock can show. */
enum err check_attr(const struct attr *attr, struct error *e);
enum err check_root_facts(const struct root_facts *facts, struct error *e);

/*
 * A directory with more entries is refused, ERR_TOO_LARGE: its list may have no end. Design
 * decision: a mount takes half a kilobyte for an entry.
 */
#define LIST_ENTRIES_MAX 1000000

/* The items of one list. All zero but `request` at first, released in the end. */
struct list_check {
	const struct list_request *request;
	uint32_t selves; /* items LIST_SELF so far */
	bool is_in_dir, is_over;
	bool is_repeated; /* a name came twice in the present directory */
	/* hashes of the names so far in this directory, by their lowest bits; 0: free */
	uint64_t *names;
	size_t names_count, names_room;
	size_t entries; /* entries of the present directory; a name that came twice counts twice */
};

/*
 * Checks the next item. The end of a directory in which a name came twice is made incomplete,
 * whatever the item says: the directory changes while it is read.
 */
enum err check_list_item(struct list_check *c, struct list_item *item, struct error *e);
void list_check_release(struct list_check *c);

enum err check_fetch_done(
	const struct fetch_item *item, const struct fetch_piece *piece, struct error *e);
enum err check_change_result(
	const struct change *change, const struct change_result *result, struct error *e);
enum err check_watch_event(const struct watch_event *event, struct error *e);
