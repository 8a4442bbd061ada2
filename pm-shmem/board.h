/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * board - the regions that a process lets others of the host copy out of. One writer, many readers,
 * no lock: a reader looks a region up, copies, and looks again. The copy counts if the region is
 * still there: then all of it was read before the owner took the region back (a sequence lock,
 * whose sequence is the key, which is never used twice).
 */
#ifndef PM_SHMEM_BOARD_H
#define PM_SHMEM_BOARD_H

#include <stdbool.h>

#include "pm-shmem/layout.h"

/* Takes all regions away. */
void pms_board_clear(struct pms_board *board);
/* Puts a region there, if its place is free. */
void pms_board_add(struct pms_board *board, uint64_t rkey, const void *addr, uint64_t len);
/*
 * Takes it away, if it is there. No reader takes for its data anything that is written to its
 * memory from now on.
 */
void pms_board_remove(struct pms_board *board, uint64_t rkey);
/*
 * Where [offset, offset + len) of a region lies in its owner's memory; false: it is not there, or
 * not so long.
 */
bool pms_board_find(const struct pms_board *board, uint64_t rkey, uint64_t offset, uint64_t len,
		    uint64_t *ret_addr);
/* After a copy: whether the region was there all the time. */
bool pms_board_has(const struct pms_board *board, uint64_t rkey);

#endif
