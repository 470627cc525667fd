/*
 * journal.h - changes on this machine's disk until the sandbox has them.
 *
 * Entries, each one change, are numbered from 1 without gaps, appended to files and kept until they
 * are done. An entry outlives this process, also one that is killed, since its bytes are the
 * system's when a call returns. The journal is not flushed to the disk, so that after a loss of
 * power the last entries may be missing. Data is in the files alone, and is read back by extent.
 *
 * A directory holds one journal, of one sandbox, and has one owner at a time. Its files are
 * segments of up to a sixty-fourth of the whole. A segment whose entries are all done is removed.
 * The contents of a segment are described in record.h.
 *
 * Errors are about this machine: ERR_NO_SPACE is its disk or the journal's own limit, and the
 * message says what to do. Any function may be called from any thread. There is one lock, which is
 * held while files are written, below all others.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/verbs.h"

struct journal;

#define JOURNAL_SIZE_DEFAULT ((uint64_t)1024 * 1024 * 1024)

/* The place of an entry's data, or of a part of it. Valid until the entry is noted as done. */
struct journal_extent {
	uint64_t at;
	uint32_t len;
};

#define JOURNAL_SOURCE_MAX 2048

struct journal_options {
	/*
	 * The directory of this sandbox's journal, made with mode 0700; NULL: files without a name,
	 * which end with this process.
	 */
	const char *dir;
	/*
	 * The most bytes of entries; 0: JOURNAL_SIZE_DEFAULT. Notes about them come on top: a
	 * hundredth of it.
	 */
	uint64_t size_max;
	/*
	 * Where the sandbox is mounted, for another process that wants the same journal; NULL:
	 * nowhere.
	 */
	const char *mount;
	/*
	 * The sandbox and directory of the journal: PROVIDER:ID:DIRECTORY, less than
	 * JOURNAL_SOURCE_MAX bytes. NULL: any.
	 */
	const char *source;
	/*
	 * A former owner whose mount is gone is about to end: journal_open() waits for that, no
	 * longer than this call's deadline on progress. NULL: it does not wait.
	 */
	const struct call *call;
};

/*
 * Takes up what an earlier owner left. A record in whose middle the owner was killed is dropped:
 * the change was not acknowledged. Where files cannot be read the whole directory is set aside as
 * DIR.unreadable-TIME, with a line in the log, and a new journal begins. ERR_CONFLICT: another
 * process has the journal, and is named; or the journal is of another sandbox, and stays as it is.
 * ERR_DENIED and others: the directory.
 */
enum err journal_open(struct journal **out, const struct journal_options *options, struct error *e);
/*
 * Removes the directory when every entry is done, and says whether that is so. NULL: does nothing.
 */
bool journal_close(struct journal *j);

/* ---- Journals without a mount ---- */

/* The size of the text about an owner: "process 12, mounted on /mnt". */
#define JOURNAL_OWNER_MAX 300
/* Whether a process has the journal in `dir`, and which one. */
bool journal_has_owner(const char *dir, char who[JOURNAL_OWNER_MAX]);

/*
 * Takes up the journal in `dir`, to look at it: entries are read and none is added. ERR_PROTOCOL:
 * it cannot be read, and stays as it is. ERR_CONFLICT as above.
 */
enum err journal_open_left(struct journal **out, const char *dir, struct error *e);

/* Discards all pending changes in `dir`, whether or not they can be read. ERR_CONFLICT as above. */
enum err journal_discard(const char *dir, struct error *e);

/* ---- The journal of a mount ---- */

/* JOURNAL_ID_SIZE random bytes, made with the journal. */
const unsigned char *journal_id(const struct journal *j);
/*
 * Whether an earlier owner left the journal, because it was killed or changes were pending. Then
 * the ID is from that owner.
 */
bool journal_was_there(const struct journal *j);

/*
 * Appends a change. `needs` is not kept. *number is its number and *where the place of its data
 * (len 0: it has none). ERR_NO_SPACE: nothing is appended, and the journal stays as it is.
 */
enum err journal_add(struct journal *j, const struct change *change, uint64_t *number,
	struct journal_extent *where, struct error *e);

/*
 * Reads an extent, or a part of one, of an entry that is not done. All of the entry's data is
 * checked. ERR_IO: the data is not as it was appended; the error names the file.
 */
enum err journal_read(
	struct journal *j, const struct journal_extent *where, void *out, struct error *e);

/*
 * Whether a note about both entries at once is one record, which a crash leaves for both or
 * neither.
 */
bool journal_are_together(struct journal *j, uint64_t number, uint64_t other);

/*
 * A bit of an entry's number, for entries noted as sent: the entry is a part of the same change as
 * the one before.
 */
#define JOURNAL_SAME ((uint64_t)1 << 63)

/*
 * Called before a batch leaves. Its changes, in their order, have the sequence numbers from
 * `first_sequence` on, in the record that its bit SEQUENCE_ASIDE names. 0: they have none, and the
 * sandbox will not know whether they were done.
 */
enum err journal_note_sent(struct journal *j, uint64_t first_sequence, const uint64_t *numbers,
	size_t count, struct error *e);
/*
 * As journal_note_sent(), for a batch whose entries have no sequence numbers. The batch itself has
 * a ticket, counted among those numbers.
 */
enum err journal_note_left(
	struct journal *j, uint64_t ticket, const uint64_t *numbers, size_t count, struct error *e);
/* A later note about the version that an entry was made on, in place of the entry's own. */
struct journal_base {
	uint64_t number;
	struct version version;
};

/*
 * The field of a change that holds this version. In a change that takes the place of a file it is
 * that file's version.
 */
struct version *journal_base_in(struct change *change);

/* Notes such versions. The last note counts. */
enum err journal_note_based(
	struct journal *j, const struct journal_base *bases, size_t count, struct error *e);
/* As journal_note_based(), for the file that an entry gives another name: change.version. */
enum err journal_note_carried(
	struct journal *j, const struct journal_base *bases, size_t count, struct error *e);
/* Notes that the entries are done. On failure some may not be, until the call is tried again. */
enum err journal_note_done(
	struct journal *j, const uint64_t *numbers, size_t count, struct error *e);
/*
 * Notes that the sandbox refused the change. The entry is kept, with the reason, and counted apart,
 * until it is noted as done. `number` may have JOURNAL_SAME: the entry is a part of a change, and
 * another entry stands for the change.
 */
enum err journal_note_failed(
	struct journal *j, uint64_t number, enum err err, const char *why, struct error *e);

/*
 * A number greater than every sequence number or ticket noted, in either record, also by earlier
 * owners; 1 at first.
 */
uint64_t journal_next_sequence(struct journal *j);

/* The entries not done, the failed ones apart, and the bytes that the files take. */
void journal_usage(struct journal *j, uint64_t *entries, uint64_t *bytes, uint64_t *failed);

/* An entry that is not done. Its pointers are valid during the call. */
struct journal_entry {
	uint64_t number;
	struct change change; /* without its data; with the versions that were noted last */
	struct journal_extent where;
	/* The sequence number noted last, with SEQUENCE_ASIDE where it has that; 0: none. */
	uint64_t sequence;
	/* The entry left without a sequence number, whether or not it left with one since. */
	bool has_left;
	bool has_failed;
	bool is_part; /* failed, and another entry stands for the change */
	enum err err; /* the error of a failed entry, and its reason */
	const char *why;
};

/* Called without the lock. Any result but ERR_OK ends journal_each() with it. */
typedef enum err (*journal_sink)(void *context, const struct journal_entry *entry, struct error *e);

/* Calls `sink` for every entry that is not done, in the order of their numbers. */
enum err journal_each(struct journal *j, journal_sink sink, void *context, struct error *e);
