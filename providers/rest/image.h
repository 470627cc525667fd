/*
 * image.h - a container image from which a vendor makes a snapshot, a template or a blueprint, the
 * base of sandboxes.
 *
 * A base that was made once is found again by its name, which is derived from the image's.
 */
#pragma once

#include "providers/base/wait.h"
#include "providers/provider.h"
#include "providers/rest/rest.h"

#define IMAGE_NAME_SIZE 160
#define IMAGE_ID_SIZE   128
/* The time to pull and unpack a large image. Design decision. */
#define IMAGE_READY_MS (20 * 60 * 1000)

/* ERR_INVALID: not the name of an image. */
enum err image_check(const char *vendor, const char *image, struct error *e);
/* The name of the base: small letters, digits and '-'. */
void image_name(const char *image, char name[IMAGE_NAME_SIZE]);
/* Polls until the base is built. ERR_TIMEOUT: not within IMAGE_READY_MS. */
enum err image_wait(const struct rest *r, const struct call *call, const char *image,
	wait_look poll, void *context, struct error *e);
/* ERR_IO: the build failed, with the vendor's `words`; "": the vendor gives no reason. */
enum err image_failed(const char *vendor, const char *image, const char *words, struct error *e);

/* How a vendor lists and makes its bases, and the members of its answers. */
struct image_base {
	const char *noun;                      /* for a person: "a snapshot" */
	const char *finding, *making, *asking; /* for a person: "looking for a snapshot" */
	const char *path;    /* the path of all bases; "/ID" behind: the path of one */
	const char *by_name; /* the text between `path` and a name: "?name=" */
	const char *items;   /* the member that has the list */
	const char *ready;   /* the status of a base that can be used; "failed": it never can */
	const char *reason;  /* the member that says why one failed */
	unsigned flags;      /* enum http_flags of what only reads */
	bool (*is_id)(const char *text);
	/* Writes the members of a request to make one, besides its name. */
	void (*put)(struct json_writer *w, const struct provider_config *cfg);
	/* Reports the log of a failed build to cfg->build_log; NULL: there is none. */
	void (*tell_log)(const struct rest *r, const struct call *call,
		const struct provider_config *cfg, const char *id);
};

/*
 * The base of cfg->image, made now unless it was made before; waits until it is ready. ERR_INVALID:
 * the image's name. ERR_IO: the build failed, with the vendor's words.
 */
enum err image_base_of(const struct rest *r, const struct call *call,
	const struct provider_config *cfg, const struct image_base *base, char id[IMAGE_ID_SIZE],
	struct error *e);
