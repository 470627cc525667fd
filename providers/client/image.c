#include "providers/client/image.h"

#include "providers/gzip.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* Puts the program at `path` among the constants, between two symbols. */
#define CARRY(machine, path)                                                                       \
	__asm__(".pushsection .rodata\n"                                                           \
		".globl helper_" #machine "_start, helper_" #machine "_end\n"                      \
		".hidden helper_" #machine "_start, helper_" #machine "_end\n"                     \
		".balign 16\n"                                                                     \
		"helper_" #machine "_start:\n"                                                     \
		".incbin \"" path "\"\n"                                                           \
		"helper_" #machine "_end:\n"                                                       \
		".popsection\n");                                                                  \
	extern const unsigned char helper_##machine##_start[], helper_##machine##_end[]

/* The build defines the path of each program: HELPER_IMAGE_<machine>. */
#ifdef HELPER_IMAGE_x86_64
CARRY(x86_64, HELPER_IMAGE_x86_64);
#endif
#ifdef HELPER_IMAGE_aarch64
CARRY(aarch64, HELPER_IMAGE_aarch64);
#endif
#ifdef HELPER_IMAGE_armv7l
CARRY(armv7l, HELPER_IMAGE_armv7l);
#endif
#ifdef HELPER_IMAGE_riscv64
CARRY(riscv64, HELPER_IMAGE_riscv64);
#endif

static const struct carried {
	const char *machine;
	const unsigned char *start, *end;
} all_carried[] = {
#ifdef HELPER_IMAGE_x86_64
	{ "x86_64", helper_x86_64_start, helper_x86_64_end },
#endif
#ifdef HELPER_IMAGE_aarch64
	{ "aarch64", helper_aarch64_start, helper_aarch64_end },
#endif
#ifdef HELPER_IMAGE_armv7l
	{ "armv7l", helper_armv7l_start, helper_armv7l_end },
	{ "armv8l", helper_armv7l_start, helper_armv7l_end }, /* the machine of a 32-bit program */
#endif
#ifdef HELPER_IMAGE_riscv64
	{ "riscv64", helper_riscv64_start, helper_riscv64_end },
#endif
	{ NULL, NULL, NULL },
};

/* The unpacked length is at the end of a gzip member, in little endian (RFC 1952). */
static size_t unpacked_len(const unsigned char *end)
{
	return end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 | (size_t)end[-1] << 24;
}

bool helper_image_at(size_t index, const char **machine, struct helper_image *out)
{
	const struct carried *c = &all_carried[index];

	if (!c->machine)
		return false;
	*machine = c->machine;
	*out = (struct helper_image){ .packed = c->start,
		.packed_len = (size_t)(c->end - c->start),
		.len = unpacked_len(c->end) };
	return true;
}

enum err helper_image_unpack(const struct helper_image *image, struct buf *out, struct error *e)
{
	*out = (struct buf)BUF_INIT(image->len);
	return gzip_inflate(out, image->packed, image->packed_len, e);
}

bool helper_image_find(const char *machine, struct helper_image *out)
{
	const char *carried;

	for (size_t i = 0; helper_image_at(i, &carried, out); i++)
		if (strcmp(carried, machine) == 0)
			return true;
	return false;
}

void helper_image_name(const struct helper_image *image, char out[HELPER_IMAGE_NAME_SIZE])
{
	uint64_t hash = XXH3_64bits(image->packed, image->packed_len);

	snprintf(out, HELPER_IMAGE_NAME_SIZE, "sandboxfs-helper-%016" PRIx64, hash);
}

void helper_image_machines(char *out, size_t size)
{
	struct helper_image image;
	const char *machine;
	size_t len = 0;

	snprintf(out, size, "none");
	for (size_t i = 0; len < size && helper_image_at(i, &machine, &image); i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s", i ? ", " : "", machine);
}
