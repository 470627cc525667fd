/*
 * switches.h - switches (providers/base/call.h) of ended requests, for use by later ones: the
 * kernel takes longer to make a switch than most requests take.
 *
 * Any function may be called from any thread.
 */
#pragma once

#include "providers/base/call.h"

struct switches;

enum err switches_new(struct switches **out, struct error *e);
/* No switch may be taken any more. */
void switches_free(struct switches *s);

/*
 * A switch that is not thrown; cancel_release() or switches_give() when it is not needed any more.
 */
enum err switches_take(struct switches *s, struct cancel *out, struct error *e);
/* Takes `c`, which was never thrown. */
void switches_give(struct switches *s, struct cancel *c);
