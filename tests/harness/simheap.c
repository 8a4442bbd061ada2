// SPDX-License-Identifier: BSD-3-Clause
/*
 * simheap - a binary heap; see simheap.h. Running out of memory ends the test program.
 */
#include "tests/harness/simheap.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

static bool is_before(const struct simheap_event *a, const struct simheap_event *b)
{
	return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void simheap_push(struct simheap *heap, uint64_t time, void (*fn)(void *, void *), void *arg,
		  void *what)
{
	const struct simheap_event event = {
		.time = time, .order = heap->pushes++, .fn = fn, .arg = arg, .what = what};
	size_t i, parent;

	if (heap->n == heap->room) {
		heap->room = heap->room ? heap->room * 2 : 64;
		heap->events = realloc(heap->events, heap->room * sizeof(event));
		assert(heap->events);
	}
	for (i = heap->n++; i; i = parent) {
		parent = (i - 1) / 2;
		if (!is_before(&event, &heap->events[parent]))
			break;
		heap->events[i] = heap->events[parent];
	}
	heap->events[i] = event;
}

struct simheap_event simheap_pop(struct simheap *heap)
{
	struct simheap_event first, last;
	size_t i = 0, child;

	assert(heap->n);
	first = heap->events[0];
	last = heap->events[--heap->n];
	while ((child = 2 * i + 1) < heap->n) {
		if (child + 1 < heap->n &&
		    is_before(&heap->events[child + 1], &heap->events[child]))
			child++;
		if (!is_before(&heap->events[child], &last))
			break;
		heap->events[i] = heap->events[child];
		i = child;
	}
	heap->events[i] = last;
	return first;
}

uint64_t simheap_next(const struct simheap *heap)
{
	return heap->n ? heap->events[0].time : UINT64_MAX;
}

void simheap_fini(struct simheap *heap)
{
	free(heap->events);
	*heap = (struct simheap){0};
}

void simheap_run(struct simheap *heap, uint64_t until, uint64_t *now)
{
	struct simheap_event event;

	while (heap->n && simheap_next(heap) <= until) {
		event = simheap_pop(heap);
		*now = event.time;
		event.fn(event.arg, event.what);
	}
	*now = until;
}
