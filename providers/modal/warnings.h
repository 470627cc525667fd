/*
 * warnings.h - Modal's warnings to its clients, written to the log, each once.
 *
 * Warnings come with the end of a call, in x-modal-warning: percent-encoded, with commas between.
 * Source: SDK 0.11.1, src/server_warnings.ts. All functions may be called from any thread.
 */
#pragma once

#include "providers/http/http.h"

struct warnings;

enum err warnings_new(struct warnings **out, struct error *e);
void warnings_free(struct warnings *w);

/* Logs the warnings of an exchange that has ended. */
void warnings_note(struct warnings *w, const struct http_exchange *x);
