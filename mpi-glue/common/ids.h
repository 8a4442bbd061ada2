/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ids - numbers that stand for local objects in messages to peers.
 *
 * A number that comes back from a peer is looked up, never trusted: stale, repeated and invented
 * ones give NULL. Owns the slots, not the objects. No locks: the caller's lock covers it.
 */
#ifndef MPI_GLUE_IDS_H
#define MPI_GLUE_IDS_H

#include <stdint.h>

struct ids_slot {
	void *object; /* NULL: free */
	/* changes at each reuse, never 0: an id of this slot is of one of them */
	uint32_t generation;
	uint32_t next_free; /* free slots: the next one, IDS_END at the end */
};

struct ids {
	struct ids_slot *slots;
	uint32_t size; /* slots allocated */
	uint32_t free; /* first free slot, IDS_END when all are in use */
	uint32_t used; /* objects in the table */
};

#define IDS_END UINT32_MAX

void ids_init(struct ids *t);
void ids_fini(struct ids *t);

/* The new id of @object (not NULL); 0 when out of memory. */
uint64_t ids_add(struct ids *t, void *object);
/* The object of an id, NULL when there is none. */
void *ids_get(const struct ids *t, uint64_t id);
/* Takes the object out and returns it, NULL when there is none. */
void *ids_take(struct ids *t, uint64_t id);

#endif
