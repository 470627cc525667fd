/*
 * reach.h - a place that the programs of a sandbox may reach, where they reach no other.
 *
 * A place is a range of addresses, "10.0.0.0/8", or the name of a host, "pypi.org"; "*." at its
 * beginning stands for all names below. Vendors take the two in different fields.
 */
#pragma once

#include <stdbool.h>

/* A name of DNS has at most 253 characters (RFC 1035, 2.3.4); addresses have less. */
#define REACH_MAX 256

/*
 * Reads `text` as a place and writes it as vendors take it: one address is a range of one, a name
 * is in small letters. false: `text` is no place.
 */
bool reach_read(char out[REACH_MAX], const char *text);

/* Whether a place that was read is a range of addresses. */
bool reach_is_addresses(const char *place);
