/*
 * image.h - the static helper programs inside sandboxfs, one for each processor that the build
 * supports.
 */
#pragma once

#include "providers/base/buf.h"

struct helper_image {
	const unsigned char *packed; /* part of the program itself: not to be freed */
	size_t packed_len;
	size_t len; /* unpacked */
};

/* `machine` as `uname -m` prints it there. false: no helper for this processor. */
bool helper_image_find(const char *machine, struct helper_image *out);

/* All programs, from 0 on. false: there are no more. */
bool helper_image_at(size_t index, const char **machine, struct helper_image *out);

/* "sandboxfs-helper-" and sixteen digits */
#define HELPER_IMAGE_NAME_SIZE 34

/* Appends the bytes of the program. */
enum err helper_image_unpack(const struct helper_image *image, struct buf *out, struct error *e);

/*
 * The name to store the program under. The name contains a hash (XXH3, 64 bits) of the program:
 * another build has another name.
 */
void helper_image_name(const struct helper_image *image, char out[HELPER_IMAGE_NAME_SIZE]);
/* "x86_64, aarch64": for messages; "none". */
void helper_image_machines(char *out, size_t size);
