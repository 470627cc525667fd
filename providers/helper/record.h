/*
 * record.h - what a command printed and how it ended: the file "command-MARKER" of staging.
 *
 * A head, and then entries: each a kind, a length and as many bytes. The supervisor alone adds entries, and it holds a
 * lock on the file as long as it lives: where the lock is free and no end is recorded, nothing more will come. Readers
 * say in the head what they have received; those bytes are given back to the disk.
 *
 * The file is the sandbox's, like all of staging: whoever reads it believes none of its lengths.
 */
#pragma once

#include "providers/helper/command.h"

#include <sys/types.h>

/* Bytes of one entry of output. */
#define RECORD_PIECE_MAX (64 * 1024)
/* A head: where the entries begin. */
#define RECORD_HEAD_SIZE 64

bool record_is_marker(const char *marker);

/*
 * Opens the record, made where it is not there. *is_ours: nobody has it and it holds nothing, so whoever called holds it
 * now; the lock is as old as the descriptor and its copies in other processes.
 */
enum err record_claim(
	const struct root *r, const char *marker, int *fd, bool *is_ours, struct error *e);
/* ERR_NOT_FOUND: there is none. */
enum err record_open(const struct root *r, const char *marker, int *fd, struct error *e);
void record_remove(const struct root *r, const char *marker);

/* Whether somebody else holds it. */
bool record_is_held(int fd);

/* ---- The supervisor's side ---- */

/* Says who supervises; from now on the record is of a command that may have run. */
bool record_begin(int fd, pid_t supervisor);
/* At the end of the file. False: it could not be written, and nothing more is to be. */
bool record_add(int fd, enum command_kind kind, const void *bytes, size_t len);
bool record_end(int fd, uint32_t exit_code, bool timed_out);
/* Drops all that was added: nobody will follow. */
void record_clear(int fd);
/* Bytes that nobody has received yet. */
uint64_t record_unread(int fd);

/* ---- The reader's side ---- */

/* 0: nobody yet. */
pid_t record_supervisor(int fd);
/* All before `from` was received. */
void record_acknowledge(int fd, uint64_t from);
/*
 * The entry at `piece->next`, which then moves past it; `memory` is RECORD_PIECE_MAX bytes for its own. *has_come false:
 * it is not there, or not whole, yet. ERR_IO: what is there is no record.
 */
enum err record_read(
	int fd, struct command_piece *piece, void *memory, bool *has_come, struct error *e);
