/*
 * record.h - the output and the end of a command: the file "command-MARKER" of staging.
 *
 * The file is a head and then entries: each a kind, a length and as many bytes. The supervisor
 * alone adds entries, and holds a lock on the file as long as it lives: where the lock is free and
 * no end is recorded, nothing more will come. Readers record in the head what was received, and
 * those bytes are given back to the disk.
 *
 * The sandbox can write the file, as all of staging, so a reader checks every length.
 */
#pragma once

#include "providers/helper/command.h"

#include <sys/types.h>

/* Bytes of one entry of output. */
#define RECORD_PIECE_MAX (64 * 1024)
/* The size of the head: entries begin behind it. */
#define RECORD_HEAD_SIZE 64

bool record_is_marker(const char *marker);

/*
 * Opens the record, which is made if missing. *is_ours: the record was empty and not locked, and
 * the caller holds its lock now. The lock lasts as long as the descriptor and its copies in other
 * processes.
 */
enum err record_claim(
	const struct root *r, const char *marker, int *fd, bool *is_ours, struct error *e);
/* Opens an existing record. ERR_NOT_FOUND: there is none. */
enum err record_open(const struct root *r, const char *marker, int *fd, struct error *e);
void record_remove(const struct root *r, const char *marker);

/* Whether another process holds the lock. */
bool record_is_held(int fd);

/* ---- The supervisor's side ---- */

/* Writes the supervisor's pid: the record is from now on of a command that may have run. */
bool record_begin(int fd, pid_t supervisor);
/*
 * Adds an entry at the end of the file. False: the write failed, and nothing more may be written.
 */
bool record_add(int fd, enum command_kind kind, const void *bytes, size_t len);
bool record_end(int fd, uint32_t exit_code, bool timed_out);
/* Drops all entries: no client will follow. */
void record_clear(int fd);
/* The number of bytes not yet received. */
uint64_t record_unread(int fd);

/* ---- The reader's side ---- */

/* The supervisor's pid; 0: none yet. */
pid_t record_supervisor(int fd);
/* All bytes before `from` were received. */
void record_acknowledge(int fd, uint64_t from);
/*
 * Reads the entry at `piece->next`, which then moves past it; `memory` is RECORD_PIECE_MAX bytes
 * for the entry's data. *has_come false: the entry is not there yet, or not whole. ERR_IO: the
 * bytes there are no record.
 */
enum err record_read(
	int fd, struct command_piece *piece, void *memory, bool *has_come, struct error *e);
