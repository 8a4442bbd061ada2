// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/fairqueue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* There is one only while somebody of it waits. */
struct fairqueue_net {
	TAILQ_ENTRY(fairqueue_net) entry;
	struct netaddr_net from;
	bool is_known;
	size_t n;
	TAILQ_HEAD(fairqueue_items, fairqueue_item) items; /* youngest first */
};

void fairqueue_init(struct fairqueue *queue)
{
	*queue = (struct fairqueue){.n = 0};
	TAILQ_INIT(&queue->unknown);
	TAILQ_INIT(&queue->known);
}

static struct fairqueue_net *find(const struct fairqueue_nets *nets, const struct netaddr_net *from)
{
	struct fairqueue_net *net;

	TAILQ_FOREACH(net, nets, entry)
		if (!memcmp(&net->from, from, sizeof(*from)))
			return net;
	return NULL;
}

static struct fairqueue_nets *kind_of(struct fairqueue *queue, bool is_known)
{
	return is_known ? &queue->known : &queue->unknown;
}

/* A new one's turn is next. */
static struct fairqueue_net *make(struct fairqueue *queue, const struct netaddr_net *from,
				  bool is_known)
{
	struct fairqueue_net *net = calloc(1, sizeof(*net));

	if (!net)
		return NULL;
	net->from = *from;
	net->is_known = is_known;
	TAILQ_INIT(&net->items);
	TAILQ_INSERT_HEAD(kind_of(queue, is_known), net, entry);
	return net;
}

int fairqueue_add(struct fairqueue *queue, struct fairqueue_item *item, struct netaddr_net from,
		  bool is_known)
{
	struct fairqueue_net *net = find(kind_of(queue, is_known), &from);

	if (!net)
		net = make(queue, &from, is_known);
	if (!net)
		return -ENOMEM;
	item->net = net;
	TAILQ_INSERT_HEAD(&net->items, item, entry);
	net->n++;
	queue->n++;
	return 0;
}

void fairqueue_remove(struct fairqueue *queue, struct fairqueue_item *item)
{
	struct fairqueue_net *net = item->net;

	if (!net)
		return;
	item->net = NULL;
	TAILQ_REMOVE(&net->items, item, entry);
	queue->n--;
	if (--net->n)
		return;
	TAILQ_REMOVE(kind_of(queue, net->is_known), net, entry);
	free(net);
}

static bool is_turn_of_known(struct fairqueue *queue)
{
	if (TAILQ_EMPTY(&queue->unknown) || TAILQ_EMPTY(&queue->known))
		return TAILQ_EMPTY(&queue->unknown);
	if (queue->turns < FAIRQUEUE_KNOWN_TURNS) {
		queue->turns++;
		return true;
	}
	queue->turns = 0;
	return false;
}

struct fairqueue_item *fairqueue_take(struct fairqueue *queue)
{
	struct fairqueue_nets *nets = kind_of(queue, is_turn_of_known(queue));
	struct fairqueue_net *net = TAILQ_FIRST(nets);
	struct fairqueue_item *item = net ? TAILQ_FIRST(&net->items) : NULL;

	if (!item)
		return NULL;
	TAILQ_REMOVE(nets, net, entry);
	TAILQ_INSERT_TAIL(nets, net, entry);
	fairqueue_remove(queue, item);
	return item;
}

/* Of equal ones that which has waited longest for its turn, and strangers before known ones. */
static const struct fairqueue_net *largest(const struct fairqueue *queue)
{
	const struct fairqueue_net *net, *most = NULL;

	TAILQ_FOREACH(net, &queue->known, entry)
		if (!most || net->n >= most->n)
			most = net;
	TAILQ_FOREACH(net, &queue->unknown, entry)
		if (!most || net->n >= most->n)
			most = net;
	return most;
}

struct fairqueue_item *fairqueue_excess(const struct fairqueue *queue, struct netaddr_net from,
					size_t max, size_t max_each)
{
	const struct fairqueue_net *net = find(&queue->known, &from);

	if (!net)
		net = find(&queue->unknown, &from);
	if (!net || net->n < max_each)
		net = queue->n >= max ? largest(queue) : NULL;
	return net ? TAILQ_LAST(&net->items, fairqueue_items) : NULL;
}
