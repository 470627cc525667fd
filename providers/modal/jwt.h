/*
 * jwt.h - the fields of a token (JWT, RFC 7519). Only the token's server can check that it is
 * genuine.
 */
#pragma once

#include <stdint.h>

/* The token's `exp`, in seconds since 1970; 0: the token has none. */
int64_t jwt_expires_s(const char *jwt);
