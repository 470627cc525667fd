/*
 * reach.h - the hosts and addresses that the programs of a sandbox may reach, and no others.
 *
 * An entry is a range of addresses, "10.0.0.0/8", or the name of a host, "pypi.org"; "*." at its
 * beginning stands for all names below. Vendors take the two in different fields.
 */
#pragma once

#include <stdbool.h>

/* A name of DNS has at most 253 characters (RFC 1035, 2.3.4); addresses have less. */
#define REACH_MAX 256

/*
 * Reads `text` as such an entry and writes it as vendors take it: one address becomes a range of
 * one, a name is in small letters. false: `text` is neither.
 */
bool reach_read(char out[REACH_MAX], const char *text);

/* Whether an entry from reach_read() is a range of addresses. */
bool reach_is_addresses(const char *place);
