/*
 * commands.h - the commands of a running relay: a word, and for some a number.
 *
 *	cut                             reset all connections
 *	refuse SECONDS                  refuse new connections for so long
 *	stall SECONDS                   nothing moves for so long; 0: until `resume`
 *	resume                          end a stall and a refusal
 *	ghost                           the connections that exist are silent for ever
 *	lose                            as ghost, and nothing on them is acknowledged to clients
 *	delay MS, bandwidth MBIT        change the link from now on
 *	reset-after BYTES               reset a connection after so many bytes both ways; 0: never
 *	reset-after-from-server BYTES   as reset-after, counting the server's bytes alone
 *	zero                            counters to zero
 *	counters                        nothing but the answer
 */
#pragma once

#include "tests/relay/relay.h"

/* Returns NULL, or the error in `line`, a string that lasts. Changes `line`. */
const char *command_run(struct relay *r, char *line);
