/*
 * lease.h - the change stream, under which what is known is held without limit of time.
 *
 * The stream begins with the first list that is asked for, which it carries: so what is
 * listed is already protected, for one request. While the stream lives the sandbox tells of
 * every change (tree_apply_event()), and trust has no end. The stream is let go when the mount was
 * not used for a while. When the stream ends, or reports a loss, everything known is in
 * doubt, and the next audit begins another one: after a failure not at once, but within a
 * minute, whatever failed. A minute without an event also puts everything in doubt at the
 * next use, under a live stream: no stream tells of a write through a mapping, or of a link
 * made where nobody watches. A sandbox that has no such stream is trusted for a time only
 * (cache/lease/validity.h).
 *
 * One thread, from the first use on. Functions may be called from any thread and take NULL for `l`: there is no stream.
 */
#pragma once

#include "cache/session/status.h"
#include "cache/tree/tree.h"

struct cache; /* cache/session/session.h */

struct lease;

enum err lease_new(struct lease **out, struct cache *c, struct error *e);
/* Ends the stream and waits for that; none begins any more. */
void lease_stop(struct lease *l);
/* Stops it, too, and nobody else uses it any more. */
void lease_free(struct lease *l);

/* Something was asked of the mount. Costs next to nothing. */
void lease_used(struct lease *l);
/*
 * Something was asked of the sandbox, and nobody answered. The stream may be as dead, and would be silent for long before
 * that is seen: it is given up, and everything known is in doubt.
 */
void lease_link_failed(struct lease *l);
/* Somebody began or ceased to listen to all changes (cache_listen()): while anybody does the stream stays. */
void lease_listened(struct lease *l);

/* Whether changes are told. */
bool lease_is_live(struct lease *l);
/* Whether there ever was one. After lease_stop(). NULL: there was none. */
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
 * Begins the stream with a list: of what changed, or of anything where nothing is known yet. false: it did not, and the
 * list is to be asked for alone; else *kind is how the list ended.
 */
bool lease_carry(struct lease *l, const struct call *call, const struct lease_list *list,
	enum err *kind, struct error *e);
