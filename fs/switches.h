/*
 * switches.h - switches (providers/base/call.h) of requests that are over, for those that come: the kernel takes longer to
 * make one than most requests take.
 *
 * Any function may be called from any thread.
 */
#pragma once

#include "providers/base/call.h"

struct switches;

enum err switches_new(struct switches **out, struct error *e);
/* None may be taken any more. */
void switches_free(struct switches *s);

/* One that is not thrown; cancel_release() or switches_give() when it is not needed any more. */
enum err switches_take(struct switches *s, struct cancel *out, struct error *e);
/* Takes `c`, which was never thrown. */
void switches_give(struct switches *s, struct cancel *c);
