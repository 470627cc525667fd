/*
 * preconnect.h - TCP connections that are begun before there is a request for them; for http's own
 * files.
 *
 * libcurl makes the connections (name, addresses, proxies aside), and gets one back when it asks
 * for a socket to the same address. Used by the I/O thread, except where stated otherwise.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

struct http;
struct preconnect;

/* Begins the connections that were asked for, and closes those that were not used in time. */
void preconnect_serve(struct http *h);
/* Takes the result of `easy`, if it is a preconnect. */
void preconnect_finish(struct http *h, CURL *easy, CURLcode code);
/* Lets a request use a preconnect that leads to its address. */
void preconnect_offer(CURL *easy, struct http *h);
/* Closes all connections that were begun. */
void preconnect_drop(struct http *h);
/* Closes all connections; without the I/O thread. */
void preconnect_release(struct http *h);
