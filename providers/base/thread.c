#include "providers/base/thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, void *(*run)(void *), void *context)
{
	sigset_t all, before;
	int failure;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failure = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failure;
}
