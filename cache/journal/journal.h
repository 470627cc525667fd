/*
 * journal.h - changes on this machine's disk until the sandbox has them.
 *
 * Entries, each one change, are numbered from 1 without gaps, appended to files and kept until they are done. What is
 * appended outlives this process, also one that is killed, for it is the system's when a call returns; nothing is
 * flushed to the disk, so that after a loss of power the last of it may be missing. Data is in the files alone, and is
 * read back by extent.
 *
 * A directory holds one journal, of one sandbox, and has one owner at a time. Its files are segments of up to a
 * sixty-fourth of the whole; one whose entries are all done is removed. What a segment holds is in record.h.
 *
 * Errors are about this machine: ERR_NO_SPACE is its disk or the journal's own limit, and the sentence names the way out.
 * Any function may be called from any thread; one lock, which is held while files are written, below all others.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/verbs.h"

struct journal;

#define JOURNAL_SIZE_DEFAULT ((uint64_t)1024 * 1024 * 1024)

/* Where an entry's data is, or a part of it. Valid until the entry is noted as done. */
struct journal_extent {
	uint64_t at;
	uint32_t len;
};

#define JOURNAL_SOURCE_MAX 2048

struct journal_options {
	const char *
		dir; /* of this sandbox, made with mode 0700; NULL: files without a name, which end with this process */
	uint64_t
		size_max; /* bytes of entries; 0: JOURNAL_SIZE_DEFAULT. Notes about them come on top: a hundredth of it */
	const char *
		mount; /* told to whoever wants the same journal: where the sandbox is mounted; NULL: nowhere */
	/*
	 * Which sandbox and directory it is of: PROVIDER:ID:DIRECTORY, less than JOURNAL_SOURCE_MAX
	 * bytes. NULL: whichever.
	 */
	const char *source;
	/*
	 * An owner whose mount is gone is about to end, and is waited for: no longer than this
	 * call's deadline on progress. NULL: no owner is waited for.
	 */
	const struct call *call;
};

/*
 * Takes up what an earlier owner left. A record that it was killed in the middle of is dropped, for nobody was told that it
 * is kept. Files that cannot be read are set aside, all of the directory, as DIR.unreadable-TIME, with a word in the log,
 * and a new journal begins. ERR_CONFLICT: another process has it, which is named, or it is of another sandbox, and stays as
 * it is; ERR_DENIED, ...: the directory.
 */
enum err journal_open(struct journal **out, const struct journal_options *options, struct error *e);
/* Removes the directory when nothing is owed, and says whether that is so. NULL: nothing. */
bool journal_close(struct journal *j);

/* ---- Those that nobody mounts ---- */

/* What is said of an owner: "process 12, mounted on /mnt". */
#define JOURNAL_OWNER_MAX 300
/* Whether a process has the journal in `dir`, and which. */
bool journal_has_owner(const char *dir, char who[JOURNAL_OWNER_MAX]);

/*
 * Takes up what is in `dir`, to look at it: entries are read and none is added. ERR_PROTOCOL: it cannot be read, and stays
 * as it is. ERR_CONFLICT as above.
 */
enum err journal_open_left(struct journal **out, const char *dir, struct error *e);

/* Gives up all that is owed in `dir`, be it readable or not. ERR_CONFLICT as above. */
enum err journal_discard(const char *dir, struct error *e);

/* ---- Its own ---- */

/* JOURNAL_ID_SIZE random bytes, made with the journal. */
const unsigned char *journal_id(const struct journal *j);
/* Whether an earlier owner left it, which therefore did not end as it should: the id is that one's. */
bool journal_was_there(const struct journal *j);

/*
 * Appends a change, of which `needs` is not kept, and gives its number and where its data is (len 0: it has none).
 * ERR_NO_SPACE: nothing is appended, and what is there stays.
 */
enum err journal_add(struct journal *j, const struct change *change, uint64_t *number,
	struct journal_extent *where, struct error *e);

/*
 * The bytes of an extent, or of a part of one, of an entry that is not done. What all of the entry's data was when it was
 * appended is checked; ERR_IO: it is not that any more; the file is named.
 */
enum err journal_read(
	struct journal *j, const struct journal_extent *where, void *out, struct error *e);

/* Whether what is noted of both at once is in one record: after a crash of both, or of neither. */
bool journal_are_together(struct journal *j, uint64_t number, uint64_t other);

/* With an entry's number, of those that are noted as sent: it is a part of the same change as the one before. */
#define JOURNAL_SAME ((uint64_t)1 << 63)

/*
 * Before a batch leaves: its changes, in their order, have the sequence numbers from
 * `first_sequence` on, of the record that SEQUENCE_ASIDE in that names; 0: they have none, and
 * nobody will know whether they were done.
 */
enum err journal_note_sent(struct journal *j, uint64_t first_sequence, const uint64_t *numbers,
	size_t count, struct error *e);
/* Likewise of one whose entries have none, and which itself has a number of the same counting. */
enum err journal_note_left(
	struct journal *j, uint64_t ticket, const uint64_t *numbers, size_t count, struct error *e);
/* What is said later of an entry's versions, instead of what it says itself. */
struct journal_base {
	uint64_t number;
	struct version version;
};

/* Where a change says that: of what takes the place of a file it is about that file. */
struct version *journal_base_in(struct change *change);

/* That. The last word counts. */
enum err journal_note_based(
	struct journal *j, const struct journal_base *bases, size_t count, struct error *e);
/* Likewise of the file that one gives another name to: change.version. */
enum err journal_note_carried(
	struct journal *j, const struct journal_base *bases, size_t count, struct error *e);
/* They are owed no longer. On failure some may be owed until it is tried again. */
enum err journal_note_done(
	struct journal *j, const uint64_t *numbers, size_t count, struct error *e);
/*
 * The sandbox refused it: it is kept, with why, and counted apart, until it is noted as done. The
 * number may have JOURNAL_SAME: a part of a change, of which another entry tells.
 */
enum err journal_note_failed(
	struct journal *j, uint64_t number, enum err err, const char *why, struct error *e);

/*
 * Greater than every one noted, in either record or as a ticket, also by those before; 1 at first.
 */
uint64_t journal_next_sequence(struct journal *j);

/* Entries not done, the parked ones apart, and the bytes that the files take. */
void journal_usage(struct journal *j, uint64_t *entries, uint64_t *bytes, uint64_t *parked);

/* An entry that is not done. What it points to is valid during the call. */
struct journal_entry {
	uint64_t number;
	struct change change; /* without its data; held against what was noted last */
	struct journal_extent where;
	uint64_t sequence; /* noted last, with SEQUENCE_ASIDE where it has that; 0: none */
	bool has_left;     /* without one, whether or not with one since */
	bool has_failed;
	bool is_part; /* parked, and another entry tells of the change */
	enum err err; /* of a parked one, */
	const char *why;
};

/* Called without the lock. Anything but ERR_OK ends the round with that. */
typedef enum err (*journal_sink)(void *context, const struct journal_entry *entry, struct error *e);

/* Every entry that is not done, in the order of their numbers. */
enum err journal_each(struct journal *j, journal_sink sink, void *context, struct error *e);
