// SPDX-License-Identifier: BSD-3-Clause
/*
 * A change of a map of maps is seen at once, but the call returns when no processor can have seen
 * the old entry any more, tens of milliseconds later. Many contexts come and go together, so a
 * thread stays in the call, and we go on when the change is there. The threads touch nothing of the
 * daemon.
 */
#include "pm-ethernet/daemon/inboxes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "pm-ethernet/daemon/thread.h"

/* Shared by the caller and its thread: the one that ends last frees it. */
struct change {
	int map, fd;       /* descriptors of our own; fd -1: the entry goes */
	uint32_t context;  /* its key */
	int err;           /* what the call returned, once it has */
	_Atomic int ended; /* how many of caller and thread are through with it */
};

int ethd_inbox_make(uint32_t bytes)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "pm_inbox", 0, 0, bytes, NULL);

	return fd < 0 ? -errno : fd;
}

static int apply(int map, uint32_t context, int fd)
{
	return fd < 0 ? bpf_map_delete_elem(map, &context)
		      : bpf_map_update_elem(map, &context, &fd, BPF_ANY);
}

static bool is_there(int map, uint32_t context)
{
	uint32_t id;

	return !bpf_map_lookup_elem(map, &context, &id);
}

static void end(struct change *c)
{
	if (!atomic_fetch_add(&c->ended, 1))
		return;
	close(c->map);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

static void *work(void *arg)
{
	struct change *c = arg;

	c->err = apply(c->map, c->context, c->fd);
	end(c);
	return NULL;
}

/* Makes the change, and returns as soon as it is made. */
static int change(int map, uint32_t context, int fd)
{
	struct change *c = calloc(1, sizeof(*c));
	bool is_wanted = fd >= 0;
	int err = 0;

	if (c)
		*c = (struct change){.map = fcntl(map, F_DUPFD_CLOEXEC, 0),
				     .fd = is_wanted ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1,
				     .context = context};
	if (!c || c->map < 0 || (is_wanted && c->fd < 0) || ethd_thread_start(work, c)) {
		if (c) {
			c->ended = 1;
			end(c);
		}
		return apply(map, context, fd);
	}
	while (!atomic_load(&c->ended) && is_there(map, context) != is_wanted)
		sched_yield();
	if (atomic_load(&c->ended))
		err = c->err;
	end(c);
	return err;
}

int ethd_inbox_put(struct ethd *d, uint32_t context, int fd)
{
	return change(d->maps.inboxes, context, fd);
}

void ethd_inbox_remove(struct ethd *d, uint32_t context)
{
	if (is_there(d->maps.inboxes, context))
		change(d->maps.inboxes, context, -1);
}
