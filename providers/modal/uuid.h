/*
 * uuid.h - random names in the form that the vendor needs (RFC 9562, version 4).
 */
#pragma once

#include "providers/base/error.h"

#define UUID_SIZE 37

enum err uuid_new(char out[UUID_SIZE], struct error *e);
