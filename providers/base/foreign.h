/*
 * foreign.h - answers that are not the service's: of a proxy, a gateway, a login page.
 *
 * Such an answer refuses nothing and ends nothing. The request is made again, and a person can read
 * here what came instead of the service's own words.
 */
#pragma once

#include "providers/base/error.h"

#include <pthread.h>
#include <stdint.h>

/* Any thread may note and read. */
struct foreign_answers {
	pthread_mutex_t lock;
	uint64_t count;
	int64_t last_ms; /* time of the last one; monotonic */
	struct error last;
};

#define FOREIGN_ANSWERS_INIT                                                                       \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER                                                  \
	}

struct foreign_report {
	uint64_t count;
	int64_t age_ms; /* age of the last one */
	char text[sizeof((struct error *)0)->text];
};

/* `f` may be NULL in both functions. */
void foreign_note(struct foreign_answers *f, const char *text);
void foreign_read(struct foreign_answers *f, struct foreign_report *out);
