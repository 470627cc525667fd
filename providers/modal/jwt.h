/*
 * jwt.h - what a token (JWT, RFC 7519) says of itself; whether it is genuine is its server's to know.
 */
#pragma once

#include <stdint.h>

/* Its `exp`, in seconds since 1970; 0: it says none. */
int64_t jwt_expires_s(const char *jwt);
