/*
 * list.h - the list of an account's sandboxes, page by page.
 */
#pragma once

#include "providers/provider.h"
#include "providers/rest/rest.h"

/* How a vendor's list is asked for, and what its answers are made of. */
struct rest_list {
	const char *what;        /* for people: "listing sandboxes" */
	const char *path;        /* of the first page */
	const char *cursor;      /* what stands before the cursor of a later one: "&cursor=" */
	const char *items;       /* the member that has a page's sandboxes */
	const char *older_items; /* its older name, or NULL */
	const char *labels;      /* the member of a sandbox that has its labels */
	const char *next;        /* the member that has the next page's cursor; or NULL, then */
	const char *more; /* the member that is true before a next page, which the last ID names */
	unsigned flags;   /* enum http_flags, besides HTTP_REPEATABLE */
	bool has_always_items; /* an answer without that member makes no sense */
	bool may_lack_labels;  /* a sandbox without that member may have labels */
};

/* What a sandbox of the list says. */
struct rest_listed {
	char id[128], name[128];
	enum sandbox_state state;
	int64_t expires_s;
	bool has_ended; /* the list has it still, deleted or ended */
};

/* `now_s`: the time by the service's clock. */
typedef enum err (*rest_listed_read)(
	struct rest_listed *out, struct json_object *item, int64_t now_s, struct error *e);

/* `entry`: as provider.h says; what was read of it is in `one`. */
typedef enum err (*rest_listed_sink)(void *context, const struct rest_listed *one,
	const struct sandbox_entry *entry, struct error *e);

/* Those that have not ended, and an entry with `unread` for each that `read` refuses. */
enum err rest_list(const struct rest *r, const struct call *call, const struct rest_list *list,
	rest_listed_read read, rest_listed_sink sink, void *context, struct error *e);
/* A rest_listed_sink for the slot of provider.h; its context is a struct rest_listing. */
struct rest_listing {
	sandbox_sink sink;
	void *context;
};
enum err rest_list_pass(void *context, const struct rest_listed *one,
	const struct sandbox_entry *entry, struct error *e);
/* rest_list() with it. */
enum err rest_list_sandboxes(const struct rest *r, const struct call *call,
	const struct rest_list *list, rest_listed_read read, sandbox_sink sink, void *context,
	struct error *e);
/*
 * One page's, of which `items` is the array. *last, or NULL: the ID of the last that could be
 * read.
 */
enum err rest_list_page(struct json_object *items, const struct rest_list *list, int64_t now_s,
	rest_listed_read read, rest_listed_sink sink, void *context, struct buf *last,
	struct error *e);
