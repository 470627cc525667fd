#include "providers/rest/image.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum err image_check(const char *vendor, const char *image, struct error *e)
{
	if (*image && !image[strcspn(image, " \t\r\n")])
		return ERR_OK;
	return error_set(e, ERR_INVALID, "%s: '%.100s' is no image", vendor, image);
}

/* The name ends in a hash, because two images may share the letters that a name can have. */
void image_name(const char *image, char name[IMAGE_NAME_SIZE])
{
	int len = snprintf(name, IMAGE_NAME_SIZE, "sandboxfs-%.100s-%08x", image,
		(unsigned)XXH3_64bits(image, strlen(image)));

	for (int i = 0; i < len; i++)
		name[i] = isalnum((unsigned char)name[i]) ? (char)tolower((unsigned char)name[i])
							  : '-';
}

enum err image_wait(const struct rest *r, const struct call *call, const char *image,
	wait_look poll, void *context, struct error *e)
{
	char what[200];

	snprintf(what, sizeof what, "%s: building the image %.100s", r->vendor, image);
	return wait_for_state(call, IMAGE_READY_MS, what, poll, context, e);
}

enum err image_failed(const char *vendor, const char *image, const char *words, struct error *e)
{
	return error_set(e, ERR_IO, "%s: the image %.100s cannot be built: %.200s", vendor, image,
		*words ? words : "the service does not say why");
}
