/*
 * failure.h - libcurl's results in our words; for http's own files.
 */
#pragma once

#include "providers/http/transfer.h"

/* Why `t`, which ended with `code`, failed; ERR_OK: it did not. */
enum err failure_of(const struct transfer *t, CURLcode code, struct error *e);
