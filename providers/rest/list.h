/*
 * list.h - the list of an account's sandboxes or snapshots, page by page.
 */
#pragma once

#include "providers/provider.h"
#include "providers/rest/rest.h"

/* How a vendor's list is requested, and the members of its answers. */
struct rest_list {
	const char *what;        /* for a person: "listing sandboxes" */
	const char *path;        /* path of the first page */
	const char *cursor;      /* the text before the cursor of a later page: "&cursor=" */
	const char *items;       /* the member that has a page's sandboxes */
	const char *older_items; /* older name of `items`, or NULL */
	const char *labels;      /* the member of a sandbox that has its labels */
	/* the member with the time of the making: text, or milliseconds since 1970; NULL: none */
	const char *made;
	/* the member that has the next page's cursor; NULL: `more` is used */
	const char *next;
	/* the member that is true before a next page, whose cursor is the last ID */
	const char *more;
	/*
	 * The cursor is a number that the caller counts, instead of `next` and `more`; a page
	 * without items is the last.
	 */
	enum { REST_NOT_COUNTED, REST_COUNTS_ITEMS, REST_COUNTS_PAGES } counts;
	unsigned flags;        /* enum http_flags, besides HTTP_REPEATABLE */
	bool has_always_items; /* an answer without the member `items` is an error */
	bool may_lack_labels;  /* a sandbox without the member `labels` may still have labels */
};

/* The facts about a sandbox of the list. */
struct rest_listed {
	char id[128], name[128];
	enum sandbox_state state;
	int64_t expires_s;
	bool has_ended; /* deleted or ended, though still in the list */
};

/* `now_s`: the time by the service's clock. */
typedef enum err (*rest_listed_read)(
	struct rest_listed *out, struct json_object *item, int64_t now_s, struct error *e);

/* `entry`: as provider.h says; `one` has the facts that were read. */
typedef enum err (*rest_listed_sink)(void *context, const struct rest_listed *one,
	const struct sandbox_entry *entry, struct error *e);

/*
 * Lists the sandboxes that have not ended, and an entry with `unread` for each that `read` refuses.
 */
enum err rest_list(const struct rest *r, const struct call *call, const struct rest_list *list,
	rest_listed_read read, rest_listed_sink sink, void *context, struct error *e);
/* A rest_listed_sink for the slot of provider.h; its context is a struct rest_listing. */
struct rest_listing {
	sandbox_sink sink;
	void *context;
};
enum err rest_list_pass(void *context, const struct rest_listed *one,
	const struct sandbox_entry *entry, struct error *e);
/* rest_list() with rest_list_pass(). */
enum err rest_list_sandboxes(const struct rest *r, const struct call *call,
	const struct rest_list *list, rest_listed_read read, sandbox_sink sink, void *context,
	struct error *e);
/* Passes on the array `items` of one page. *last, or NULL: the ID of the last readable sandbox. */
enum err rest_list_page(struct json_object *items, const struct rest_list *list, int64_t now_s,
	rest_listed_read read, rest_listed_sink sink, void *context, struct buf *last,
	struct error *e);
