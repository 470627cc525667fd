/*
 * sha256.h - SHA-256 (FIPS 180-4) of bytes in memory: no other bytes with the same hash can be
 * found.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

void sha256(const void *bytes, size_t len, unsigned char out[SHA256_SIZE]);
