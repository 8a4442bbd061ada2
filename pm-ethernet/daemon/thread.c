// SPDX-License-Identifier: BSD-3-Clause
#include "pm-ethernet/daemon/thread.h"

#include <pthread.h>

#define STACK_BYTES (256u << 10)

int ethd_thread_start(void *(*work)(void *), void *arg)
{
	pthread_attr_t kind;
	pthread_t thread;
	int err = pthread_attr_init(&kind);

	if (err)
		return -err;
	pthread_attr_setdetachstate(&kind, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&kind, STACK_BYTES);
	err = pthread_create(&thread, &kind, work, arg);
	pthread_attr_destroy(&kind);
	return -err;
}
