// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/readers.h"

#include <string.h>

#include "scheduler/scored/nodes.h"

static size_t index_in(const struct order *order, const struct node *node)
{
	size_t h = 0;

	while (h < order->n_hosts && strcmp(order->hosts[h].name, node->name) != 0)
		h++;
	return h;
}

/*
 * Identity of the directory that host @h of the order has written to; "": nobody knows. If it has
 * not been here since scored began, another host of the job tells: they had one of all or each its
 * own.
 */
static const char *store_of(const struct readers *readers, size_t h)
{
	const struct order *order = readers->order;
	const struct node *node = nodes_find(readers->scored, order->hosts[h].name);

	for (size_t i = 0; i < order->n_hosts && !(node && *node->store); i++)
		node = nodes_find(readers->scored, order->hosts[i].name);
	return node ? node->store : "";
}

/* Whether images that host @h of the order wrote can be read on @node. */
static bool can_read(const struct readers *readers, size_t h, const struct node *node)
{
	return !strcmp(readers->order->hosts[h].name, node->name) ||
	       (*node->store && !strcmp(store_of(readers, h), node->store));
}

static bool is_chosen(const uint32_t *chosen, size_t n, uint32_t host)
{
	while (n && chosen[n - 1] != host)
		n--;
	return n;
}

bool readers_pick(void *arg, const uint32_t *fitting, size_t n, uint32_t *chosen)
{
	const struct readers *readers = arg;
	const struct order *order = readers->order;
	struct node *const *nodes = readers->scored->nodes;
	size_t at;

	for (size_t k = 0; k < order->n_hosts; k++)
		chosen[k] = UINT32_MAX;
	for (size_t i = 0; i < n; i++) {
		at = index_in(order, nodes[fitting[i]]);
		if (at < order->n_hosts)
			chosen[at] = fitting[i];
	}
	for (size_t k = 0; k < order->n_hosts; k++) {
		for (size_t i = 0; i < n && chosen[k] == UINT32_MAX; i++)
			if (can_read(readers, k, nodes[fitting[i]]) &&
			    !is_chosen(chosen, order->n_hosts, fitting[i]))
				chosen[k] = fitting[i];
		if (chosen[k] == UINT32_MAX)
			return false;
	}
	return true;
}

bool readers_have_all(const struct readers *readers, const uint32_t *hosts, size_t n)
{
	size_t old = 0;

	for (size_t i = 0; i < n; i++)
		old += index_in(readers->order, readers->scored->nodes[hosts[i]]) <
		       readers->order->n_hosts;
	return old == readers->order->n_hosts;
}

const struct node *readers_keep(const struct readers *readers, uint32_t *hosts, size_t *n)
{
	const struct node *other = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		const struct node *node = readers->scored->nodes[hosts[i]];
		size_t h = 0;

		while (h < readers->order->n_hosts && !can_read(readers, h, node))
			h++;
		if (h < readers->order->n_hosts)
			hosts[kept++] = hosts[i];
		else
			other = other ? other : node;
	}
	*n = kept;
	return other;
}
