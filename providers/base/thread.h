/*
 * thread.h - starts a thread that takes no signals: signals are for the program's own threads.
 * Libc only.
 */
#pragma once

#include <pthread.h>

/* 0, or the number of an error (errno(3)). */
int thread_start(pthread_t *thread, void *(*run)(void *), void *context);
