/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simheap - queue of events by time; events of one time come out in the order they went in, so that
 * a simulation repeats exactly.
 */
#ifndef TESTS_HARNESS_SIMHEAP_H
#define TESTS_HARNESS_SIMHEAP_H

#include <stddef.h>
#include <stdint.h>

struct simheap_event {
	uint64_t time;  /* ns */
	uint64_t order; /* number of the push */
	void (*fn)(void *arg, void *what);
	void *arg, *what; /* @what came from malloc */
};

/* Zeroed is empty. */
struct simheap {
	struct simheap_event *events; /* binary heap */
	size_t n, room;               /* events in use, allocated */
	uint64_t pushes;              /* so far */
};

void simheap_push(struct simheap *heap, uint64_t time, void (*fn)(void *, void *), void *arg,
		  void *what);
/* Removes the first; there must be one. */
struct simheap_event simheap_pop(struct simheap *heap);
/* Time of the first, UINT64_MAX when empty. */
uint64_t simheap_next(const struct simheap *heap);
void simheap_fini(struct simheap *heap);

/* Does all events up to @until in order, with *@now at each one's time, and leaves it at @until. */
void simheap_run(struct simheap *heap, uint64_t until, uint64_t *now);

#endif
