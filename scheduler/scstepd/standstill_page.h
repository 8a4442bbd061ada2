/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * standstill_page - this host's page of orders (pmcore/util/suspend_page.h), as its maker has it.
 * The ranks write it, too, so its own numbers are never read again. No thread, no loop.
 */
#ifndef SCHEDULER_SCSTEPD_STANDSTILL_PAGE_H
#define SCHEDULER_SCSTEPD_STANDSTILL_PAGE_H

#include "pmcore/util/suspend_page.h"

struct standstill_page {
	struct suspend_page *mapped; /* NULL: there is none */
	size_t size;                 /* bytes */
	int fd;
	uint32_t n_slots, n_nodes;         /* room */
	uint32_t slots_ready, nodes_ready; /* have memory: the first ones */
	struct suspend_slot *slots;
	struct suspend_address *addresses;
	uint32_t order; /* the last one */
};

/* Makes the file, which is removed with its directory, by the owner of that. 0 or -errno. */
int standstill_page_make(struct standstill_page *page, const char *path, uint32_t n_slots,
			 uint32_t n_nodes);
/* Also of one that could not be made. */
void standstill_page_drop(struct standstill_page *page);

/*
 * Memory for so many slots, or addresses, in all. Where the file lies in memory that is full, a
 * look at others would end us. 0 or -errno: -E2BIG there is no room for so many.
 */
int standstill_page_reserve_slots(struct standstill_page *page, uint32_t n);
int standstill_page_reserve_nodes(struct standstill_page *page, uint32_t n);

/* For SUSPEND_REVIVE. @devices: "" as at first. */
void standstill_page_tell_devices(struct standstill_page *page, uint64_t job_key,
				  const char *devices);
/* The first @n of addresses[] are there; sorts them. */
void standstill_page_tell_addresses(struct standstill_page *page, uint32_t n);
/* The next order, to all ranks here. */
void standstill_page_give(struct standstill_page *page, enum suspend_step step);

#endif
