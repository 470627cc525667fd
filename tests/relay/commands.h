/*
 * commands.h - what the relay can be told while it runs: a word, and for some a number.
 *
 *	cut                             reset all connections
 *	refuse SECONDS                  refuse new connections for so long
 *	stall SECONDS                   nothing moves for so long; 0: until `resume`
 *	resume                          end a stall and a refusal
 *	ghost                           the connections that exist are silent for ever
 *	lose                            the same, and nothing on them is acknowledged to clients
 *	delay MS, bandwidth MBIT        change the link from now on
 *	reset-after BYTES               reset a connection after so many bytes both ways; 0: never
 *	reset-after-from-server BYTES   the same, counting what the server sends
 *	zero                            counters to zero
 *	counters                        nothing but the answer
 */
#pragma once

#include "tests/relay/relay.h"

/* NULL, or what is wrong with `line`, a string that lasts. Changes `line`. */
const char *command_run(struct relay *r, char *line);
