/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fairqueue - strangers who wait, by the network from which they come. Networks have turns, so one
 * that sends many takes no time from the others; of one network the youngest is first, as the
 * eldest may have given up. Networks that are known have KNOWN_TURNS of KNOWN_TURNS + 1 turns while
 * both kinds wait. Pure, and owns nothing of its items.
 */
#ifndef SCHEDULER_PROTO_FAIRQUEUE_H
#define SCHEDULER_PROTO_FAIRQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "scheduler/proto/netaddr.h"

#define FAIRQUEUE_KNOWN_TURNS 3u

struct fairqueue_net;
TAILQ_HEAD(fairqueue_nets, fairqueue_net);

/* Embedded in whatever waits. */
struct fairqueue_item {
	TAILQ_ENTRY(fairqueue_item) entry;
	struct fairqueue_net *net; /* NULL: it does not wait */
	void *owner;               /* of the caller */
};

struct fairqueue {
	struct fairqueue_nets unknown, known; /* the next one's turn first */
	size_t n;
	unsigned int turns; /* of known ones since the last of strangers */
};

void fairqueue_init(struct fairqueue *queue);
/* 0 or -ENOMEM. */
int fairqueue_add(struct fairqueue *queue, struct fairqueue_item *item, struct netaddr_net from,
		  bool is_known);
/* Nothing if it does not wait. */
void fairqueue_remove(struct fairqueue *queue, struct fairqueue_item *item);
/* The next one, removed. NULL: nobody waits. */
struct fairqueue_item *fairqueue_take(struct fairqueue *queue);
/*
 * The item that has to go for one more from @from, where at most @max may wait, at most @max_each
 * of a network. It is the eldest of @from if that has its share, else of the network with the most.
 * NULL: there is room.
 */
struct fairqueue_item *fairqueue_excess(const struct fairqueue *queue, struct netaddr_net from,
					size_t max, size_t max_each);

#endif
