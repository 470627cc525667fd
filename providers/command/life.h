/*
 * life.h - what programs share where sandboxfs makes, lists and removes sandboxes with them.
 */
#pragma once

#include "providers/command/command.h"

/*
 * The only program of a new sandbox: it ends at once when it is told to, and reaps what other
 * programs leave behind. Where there is no sleep(1) it ends instead of spinning; one that was
 * killed, whose exit code is above 128, ends nothing.
 */
#define STAY_ALIVE "trap 'exit 0' TERM; while sleep 1000 & wait $! || [ $? -gt 128 ]; do :; done"

/* As command_new(), for calls that name no sandbox. */
enum err life_open(struct command **out, const struct provider_ops *ops,
	const struct transport *transport, const struct provider_config *cfg, struct error *e);

/* ERR_INVALID: no image is named. */
enum err life_check_image(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e);

/* `wanted`, or else a new name. */
enum err life_choose_name(
	const struct provider_ops *ops, const char *wanted, char out[128], struct error *e);

/*
 * A server goes on with what its ended program asked for. Returns when transport->state finds the
 * sandbox, or after a while: the caller looks for what may have been made.
 */
void life_await_late(struct command *c);
