/*
 * lease.h - the stream of changes, under which what is known is valid without limit of time.
 *
 * The stream begins with the first list that is asked for, and carries it: one request, and the
 * list is protected from its beginning. While the stream lives the sandbox reports every change
 * (tree_apply_event()), and validity has no end. The stream ends when the mount was not used for a
 * while.
 *
 * When the stream fails, or reports a loss, everything known is invalid, and the next audit begins
 * another stream: after a failure not at once, but within a minute, whatever failed. A minute
 * without an event also invalidates everything at the next use, under a live stream: no stream
 * reports a write through a mapping, or a link made where no watch is. A sandbox that has no such
 * stream is valid for a time only (cache/lease/validity.h).
 *
 * One thread, from the first use on. Functions may be called from any thread and take NULL for `l`:
 * there is no stream.
 */
#pragma once

#include "cache/session/status.h"
#include "cache/tree/tree.h"

struct cache; /* cache/session/session.h */

struct lease;

enum err lease_new(struct lease **out, struct cache *c, struct error *e);
/* Ends the stream and waits for its end. No other stream begins. */
void lease_stop(struct lease *l);
/* As lease_stop(), and frees `l`, which has no other user any more. */
void lease_free(struct lease *l);

/* The mount was used. The call costs next to nothing. */
void lease_used(struct lease *l);
/*
 * A request to the sandbox had no answer. The stream may be dead as well, and would be silent for
 * long before that shows: it ends now, and everything known is invalid.
 */
void lease_link_failed(struct lease *l);
/*
 * The number of listeners to all changes has changed (cache_listen()): while there are any the
 * stream stays.
 */
void lease_listened(struct lease *l);

/* Whether changes are reported. */
bool lease_is_live(struct lease *l);
/* Whether there ever was a stream. Called after lease_stop(). NULL: there was none. */
bool lease_has_begun(const struct lease *l);
/* The stream's state, for a person; `why`: the failure of a broken stream, else "". */
enum cache_stream lease_state(struct lease *l, char *why, size_t size);

/* A list that may begin a stream. */
struct lease_list {
	const struct list_request *request;
	const struct tree_listing *listing;
	bool is_audit;
	list_sink sink; /* called from the stream's thread, never after lease_carry() returned */
	void *context;
};

/*
 * Begins the stream with a list: of what changed, or of anything where nothing is known yet. false:
 * no stream carried the list, which is to be asked for alone. Else *kind is how the list ended.
 */
bool lease_carry(struct lease *l, const struct call *call, const struct lease_list *list,
	enum err *kind, struct error *e);
