/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simdue - which nodes of a simulated job have to be served, and when the next one has to be. It
 * does not know how a node is served. An event costs the same with two nodes and with thousands.
 */
#ifndef TESTS_SIM_SIMDUE_H
#define TESTS_SIM_SIMDUE_H

#include <stdbool.h>
#include <stdint.h>

struct simdue {
	uint32_t nodes;
	uint32_t *marked; /* nodes to be served at once, in order of marking */
	uint32_t n_marked;
	bool *is_marked; /* by node */
	uint64_t *time;  /* by node: when to be served at the latest, UINT64_MAX = never */
	uint32_t *heap;  /* nodes with a time, the earliest first */
	uint32_t *place; /* by node: in the heap, UINT32_MAX = not there */
	uint32_t n_heap;
	uint32_t *taken; /* what simdue_take gave */
};

void simdue_init(struct simdue *due, uint32_t nodes);
void simdue_fini(struct simdue *due);
/* The node is to be served at once. */
void simdue_mark(struct simdue *due, uint32_t node);
/* The node is to be served at @time; replaces what was said before. */
void simdue_set(struct simdue *due, uint32_t node, uint64_t time);
/* When the next node has to be served: 0 = one is marked, UINT64_MAX = none has to. */
uint64_t simdue_next(const struct simdue *due);
/*
 * The nodes that are marked or whose time has come, in order of their numbers; they are marked no
 * more. Valid until the next call. Gives their count.
 */
uint32_t simdue_take(struct simdue *due, uint64_t now, const uint32_t **ret_nodes);

#endif
