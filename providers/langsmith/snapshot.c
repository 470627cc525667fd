#include "providers/langsmith/snapshot.h"

#define MIB ((int64_t)1024 * 1024)
/* The service has no default size; the vendor's own documents use this one. */
#define DISK_MB 8192

static bool is_id(const char *text)
{
	return *text;
}

static void put(struct json_writer *w, const struct provider_config *cfg)
{
	json_put_text(w, "docker_image", cfg->image);
	json_put_integer(w, "fs_capacity_bytes", (cfg->disk_mb ? cfg->disk_mb : DISK_MB) * MIB);
}

const struct image_base langsmith_snapshot = {
	.noun = "a snapshot",
	.finding = "looking for a snapshot",
	.making = "making a snapshot of an image",
	.asking = "asking how a snapshot is",
	.path = "/snapshots",
	.by_name = "?name_contains=",
	.items = "snapshots",
	.ready = "ready",
	.reason = "status_message",
	.flags = HTTP_REPEATABLE,
	.is_id = is_id,
	.put = put,
};
