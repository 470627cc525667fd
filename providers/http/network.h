/*
 * network.h - this machine's addresses: a connection from one that is gone leads nowhere. For http's
 * own files; all of it is the I/O thread's.
 */
#pragma once

struct http;

/* Becomes readable when an address comes or goes; -1: nobody says so here. */
int network_open(void);
/* Gives up what runs from an address that went, and drops connections that are kept. */
void network_serve(struct http *h);
