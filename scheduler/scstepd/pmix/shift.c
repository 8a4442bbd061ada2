// SPDX-License-Identifier: BSD-3-Clause
/*
 * shift - a list under a mutex and an ev_async. Static, for PMIx's upcalls carry no pointer of
 * ours.
 */
#include "scheduler/scstepd/pmix/shift.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct post {
	struct post *next;
	shift_run *run;
	void *arg;
};

static struct {
	pthread_mutex_t lock;
	struct ev_loop *loop;
	ev_async wake;
	struct post *first, **last;
	bool is_open;
} shift = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct post *take_all(void)
{
	struct post *first;

	pthread_mutex_lock(&shift.lock);
	first = shift.first;
	shift.first = NULL;
	shift.last = &shift.first;
	pthread_mutex_unlock(&shift.lock);
	return first;
}

static void on_wake(struct ev_loop *loop, ev_async *watcher, int events)
{
	struct post *post = take_all();

	while (post) {
		struct post *next = post->next;

		if (shift.is_open)
			post->run(post->arg);
		free(post);
		post = next;
	}
}

void shift_open(struct ev_loop *loop)
{
	shift.loop = loop;
	shift.first = NULL;
	shift.last = &shift.first;
	ev_async_init(&shift.wake, on_wake);
	ev_async_start(loop, &shift.wake);
	shift.is_open = true;
}

int shift_post(shift_run *run, void *arg)
{
	struct post *post = malloc(sizeof(*post));
	int rc = 0;

	if (!post)
		return -ENOMEM;
	*post = (struct post){.run = run, .arg = arg};
	pthread_mutex_lock(&shift.lock);
	if (shift.is_open) {
		*shift.last = post;
		shift.last = &post->next;
		ev_async_send(shift.loop, &shift.wake);
	} else {
		rc = -ESHUTDOWN;
	}
	pthread_mutex_unlock(&shift.lock);
	if (rc)
		free(post);
	return rc;
}

void shift_close(void)
{
	struct post *post;

	pthread_mutex_lock(&shift.lock);
	if (shift.is_open)
		ev_async_stop(shift.loop, &shift.wake);
	shift.is_open = false;
	pthread_mutex_unlock(&shift.lock);
	for (post = take_all(); post;) {
		struct post *next = post->next;

		free(post);
		post = next;
	}
}
