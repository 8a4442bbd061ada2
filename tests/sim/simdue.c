// SPDX-License-Identifier: BSD-3-Clause
/*
 * simdue - a list of marked nodes and a heap of times that knows each node's place; see simdue.h.
 */
#include "tests/sim/simdue.h"

#include <assert.h>
#include <stdlib.h>

#define NOWHERE UINT32_MAX

void simdue_init(struct simdue *due, uint32_t nodes)
{
	uint32_t i;

	*due = (struct simdue){.nodes = nodes};
	due->marked = calloc(nodes, sizeof(*due->marked));
	due->is_marked = calloc(nodes, sizeof(*due->is_marked));
	due->time = calloc(nodes, sizeof(*due->time));
	due->heap = calloc(nodes, sizeof(*due->heap));
	due->place = calloc(nodes, sizeof(*due->place));
	due->taken = calloc(2 * (size_t)nodes, sizeof(*due->taken));
	assert(due->marked && due->is_marked && due->time && due->heap && due->place && due->taken);
	for (i = 0; i < nodes; i++) {
		due->time[i] = UINT64_MAX;
		due->place[i] = NOWHERE;
	}
}

void simdue_fini(struct simdue *due)
{
	free(due->marked);
	free(due->is_marked);
	free(due->time);
	free(due->heap);
	free(due->place);
	free(due->taken);
	*due = (struct simdue){0};
}

void simdue_mark(struct simdue *due, uint32_t node)
{
	if (due->is_marked[node])
		return;
	due->is_marked[node] = true;
	due->marked[due->n_marked++] = node;
}

static void put(struct simdue *due, uint32_t place, uint32_t node)
{
	due->heap[place] = node;
	due->place[node] = place;
}

/* Moves the node to where it belongs, from @place on. */
static void sift(struct simdue *due, uint32_t place, uint32_t node)
{
	uint64_t time = due->time[node];
	uint32_t child;

	for (; place && time < due->time[due->heap[(place - 1) / 2]]; place = (place - 1) / 2)
		put(due, place, due->heap[(place - 1) / 2]);
	while ((child = 2 * place + 1) < due->n_heap) {
		if (child + 1 < due->n_heap &&
		    due->time[due->heap[child + 1]] < due->time[due->heap[child]])
			child++;
		if (due->time[due->heap[child]] >= time)
			break;
		put(due, place, due->heap[child]);
		place = child;
	}
	put(due, place, node);
}

static void drop(struct simdue *due, uint32_t node)
{
	uint32_t place = due->place[node], last;

	if (place == NOWHERE)
		return;
	due->place[node] = NOWHERE;
	last = due->heap[--due->n_heap];
	if (last != node)
		sift(due, place, last);
}

void simdue_set(struct simdue *due, uint32_t node, uint64_t time)
{
	if (due->time[node] == time)
		return;
	due->time[node] = time;
	if (time == UINT64_MAX)
		drop(due, node);
	else
		sift(due, due->place[node] == NOWHERE ? due->n_heap++ : due->place[node], node);
}

uint64_t simdue_next(const struct simdue *due)
{
	if (due->n_marked)
		return 0;
	return due->n_heap ? due->time[due->heap[0]] : UINT64_MAX;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The places of the heap from @place on whose time has come. */
static uint32_t gather(struct simdue *due, uint32_t place, uint64_t now, uint32_t n)
{
	uint32_t node;

	if (place >= due->n_heap)
		return n;
	node = due->heap[place];
	if (due->time[node] > now)
		return n;
	if (!due->is_marked[node])
		due->taken[n++] = node;
	n = gather(due, 2 * place + 1, now, n);
	return gather(due, 2 * place + 2, now, n);
}

uint32_t simdue_take(struct simdue *due, uint64_t now, const uint32_t **ret_nodes)
{
	uint32_t n = gather(due, 0, now, 0), i;

	for (i = 0; i < due->n_marked; i++) {
		due->is_marked[due->marked[i]] = false;
		due->taken[n++] = due->marked[i];
	}
	due->n_marked = 0;
	if (n > 1)
		qsort(due->taken, n, sizeof(*due->taken), by_number);
	*ret_nodes = due->taken;
	return n;
}
