/*
 * job_text.h - the text of `.sandbox/jobs/N/status`.
 */
#pragma once

#include "fs/control/jobs.h"

/* Adds one line of JSON. Unknown values are null. */
void job_text(const struct job_facts *facts, struct buf *out);
