/*
 * shell.h - the batch verbs derived from `execute` with POSIX sh and GNU or BusyBox tools.
 *
 * For where the helper program cannot run. One script a batch, which is one command. Names may hold any byte but NUL.
 * p->root, p->staging and p->shell must be set. A shell of two words ("busybox sh") names a program that is also every
 * tool. Needed: GNU coreutils 8.24 and findutils, or BusyBox 1.34; getfattr, setfattr and fallocate are used where they
 * are. Refusals are told apart by the words of the C library that end a tool's message.
 *
 * What is lost, as README.md shows it under "Without the helper" (`sed -n 's/^ [*] |/|/p'` gives the table):
 *
 * | what | without the helper |
 * |---|---|
 * | changes made by others | no stream of them: `watch` is not supported |
 * | checking and acting | are two steps: preconditions, "must not exist", types and links on the way are looked at just before, so another process in the sandbox can get between |
 * | rename | never copies where the device numbers differ (EXDEV); between two bind mounts of one file system `mv` does |
 * | rename with NOREPLACE or EXCHANGE, a staged file put where nothing is | not atomic; an exchange goes through a third name in staging |
 * | rename over a directory, or over a link that leads to one or to itself, with BusyBox | goes through staging: a name is missing for a moment |
 * | times | BusyBox sets whole seconds, from 1970 on; its clock is read to the second |
 * | time of birth | not known with BusyBox: an inode number that is used again is not noticed |
 * | attributes after the last name is removed | not told, nor those of a link or fifo that has other names |
 * | sockets | cannot be made (`mknod` of one is not supported) |
 * | holes | a file counts as all data up to its end |
 * | block hashes | computed here from the bytes, which therefore travel |
 * | extended attributes | only where getfattr and setfattr are installed; "must exist" and "must not exist" are looked at before |
 * | fallocate | only with util-linux; BusyBox can only allocate; without either not supported |
 * | a write that fails midway | tells no count; some of it may be there |
 * | an append | its offset is the size afterwards less its length, which is wrong if another process appended too |
 * | writing through a handle that a mode forbids by now | the mode is really another for a moment, and ctime moves |
 * | new files | are there, and empty, until they are closed: without a stream of changes names are not decided here |
 * | a new file that takes the place of the empty one | is looked for access control lists only where there is getfattr; from another file system it is copied over it |
 * | numbered batches | a second one of a journal waits for the first only where there is `flock`; sent again it says what it had left only where stat tells fractions of a second, and what comes next is not held against that elsewhere |
 * | a request that arrives twice | is done twice where it is no numbered batch: what answers may be that the second has nothing left to do, and a late one goes over what was written since |
 * | an append in whose midst a run was killed | what others appended meanwhile is taken for its bytes |
 * | what other mounts left in staging when they were killed | stays there |
 * | a listing's "complete" | says that all was read, not that nothing changed meanwhile; one entry that cannot be looked at makes every directory of its start incomplete; paths over 4096 bytes are left out |
 * | a listing of changes only | all entries travel, and are chosen here |
 * | a listing that stops at so many entries | stops depth first, after the start's own entries |
 * | ending a command, where a vendor cannot do it | what it started with an environment of its own (`env -i`) or as another user (`sudo`) is not found, and lives on |
 * | output of a command, where a vendor cannot stream it | comes once a second or at the end; of more than 15 MiB of a stream its beginning and its last MiB are kept, without the latter where something that the command left behind goes on printing |
 * | cost | some processes for each change and each file that is read |
 */
#pragma once

#include "providers/provider.h"

enum err shell_list(struct provider *p, const struct call *call, const struct list_request *request,
	list_sink sink, void *context, struct error *e);
enum err shell_fetch(struct provider *p, const struct call *call, const struct fetch_item *items,
	size_t items_count, fetch_sink sink, void *context, struct error *e);
enum err shell_apply(struct provider *p, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e);

/* What id(1) prints for -u, -g and -G, one after the other. ERR_PROTOCOL: something else. */
enum err shell_parse_identity(const char *text, struct identity *out, struct error *e);
