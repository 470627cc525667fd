/*
 * envd_version.h - what E2B's daemon can do by its version. Templates, paused sandboxes and
 * self-hosted clusters keep the version that they were built with. Facts are those of the e2b SDK
 * 2.51 (src/envd/versions.ts).
 *
 * A version is "0.6.13", with or without a "v" before it. Text behind the numbers is ignored. A
 * daemon of an unknown version counts as the newest, as in the SDK, but gets forms, which every
 * daemon takes.
 */
#pragma once

#include <stdbool.h>

enum envd_feature {
	ENVD_HAS_DEFAULT_USER = 1, /* an older daemon refuses a request that names no user */
	ENVD_TAKES_RAW_FILES = 2,  /* an older daemon's /files takes multipart/form-data alone */
	/* Not by the version: any request wakes the sandbox, so a background one is sent once. */
	ENVD_AUTO_RESUMES = 4,
};

/* Bits of enum envd_feature. */
unsigned envd_features(const char *version);

/* Before 0.1.0 a daemon speaks another protocol. The SDK refuses it as well. */
bool envd_is_too_old(const char *version);
