/*
 * network.h - this machine's addresses: a connection from an address that is gone leads nowhere.
 * For http's own files; used by the I/O thread only.
 */
#pragma once

struct http;

/* Becomes readable when an address comes or goes; -1: the kernel does not report this here. */
int network_open(void);
/* Gives up transfers from an address that is gone, and drops kept connections. */
void network_serve(struct http *h);
