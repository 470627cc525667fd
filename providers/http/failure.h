/*
 * failure.h - libcurl's results as errors of ours; for http's own files.
 */
#pragma once

#include "providers/http/transfer.h"

/* The error of `t`, which ended with `code`; ERR_OK: no failure. */
enum err failure_of(const struct transfer *t, CURLcode code, struct error *e);
