/*
 * preconnect.h - TCP connections that are begun before anybody has a request for them; for http's own files.
 *
 * libcurl makes them (name, addresses, proxies aside), and hands them back when it asks for a socket to the same address.
 * The I/O thread's, except where it says otherwise.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

struct http;
struct preconnect;

/* Begins those that were asked for, and closes those that nobody wanted in time. */
void preconnect_serve(struct http *h);
/* What libcurl says of `easy`, which is one of them, is over. */
void preconnect_finish(struct http *h, CURL *easy, CURLcode code);
/* A request takes one that leads where it wants to go. */
void preconnect_lend(CURL *easy, struct http *h);
/* Closes those that were begun. */
void preconnect_drop(struct http *h);
/* Closes all of them; without the I/O thread. */
void preconnect_release(struct http *h);
