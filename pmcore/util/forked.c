// SPDX-License-Identifier: BSD-3-Clause
/*
 * forked - the list of descriptors and the handlers that fork() calls. The list's lock is held
 * across fork(), so that the child finds it whole.
 */
#include "pmcore/util/forked.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_installed; /* 1 once fork() knows the handlers */
static int *fds;
static size_t n_fds, room;

static void before(void)
{
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	while (n_fds > 0)
		close(fds[--n_fds]);
	pthread_mutex_unlock(&lock);
}

static int add(int fd)
{
	if (!is_installed && pthread_atfork(before, in_parent, in_child))
		return -ENOMEM;
	is_installed = 1;
	if (n_fds == room) {
		size_t more = room ? 2 * room : 16;
		int *grown = realloc(fds, more * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		fds = grown;
		room = more;
	}
	fds[n_fds++] = fd;
	return 0;
}

int forked_close(int fd)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = add(fd);
	pthread_mutex_unlock(&lock);
	return rc;
}

void forked_keep(int fd)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_fds; i++) {
		if (fds[i] != fd)
			continue;
		fds[i] = fds[--n_fds];
		break;
	}
	if (!n_fds) {
		free(fds);
		fds = NULL;
		room = 0;
	}
	pthread_mutex_unlock(&lock);
}
