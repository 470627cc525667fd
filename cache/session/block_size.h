/*
 * block_size.h - how many bytes of a file stand together, where contents are kept.
 */
#pragma once

#include <stddef.h>

#define BLOCK_SIZE ((size_t)128 * 1024)
