// SPDX-License-Identifier: BSD-3-Clause
/*
 * lease - leave for the target of an operation to copy to and from our memory
 * (pms_bulk_head.leases).
 */
#include <sched.h>
#include <time.h>

#include "pm-shmem/bulk.h"
#include "pm-shmem/liveness.h"

#define LEASE_YIELDS 100      /* looks at a lease in use before we sleep between them */
#define LEASE_SLEEP_NS 200000 /* how long then */

uint32_t pms_lease_give(struct pms_bulk *bulk, uint32_t name, uint64_t len)
{
	uint32_t i;

	if (!bulk->is_cma_possible || len < PMS_CMA_MIN || bulk->leases == UINT32_MAX)
		return PMS_LEASES;
	i = (uint32_t)__builtin_ctz(~bulk->leases);
	bulk->leases |= 1u << i;
	atomic_store_explicit(&bulk->tx.head->leases[i], (uint64_t)name << 8 | PMS_LEASE_GIVEN,
			      memory_order_release);
	return i;
}

/*
 * Between two looks at a lease in use. A piece is copied in well under a millisecond; who holds a
 * lease for longer has been stopped, and may be so for hours.
 */
static void await_lease(uint32_t n_looks)
{
	static const struct timespec pause = {.tv_nsec = LEASE_SLEEP_NS};

	if (n_looks < LEASE_YIELDS)
		sched_yield();
	else
		nanosleep(&pause, NULL);
}

void pms_lease_end(struct pms_link *link, struct pms_op *op)
{
	struct pms_bulk *bulk = op->peer->bulk;
	_Atomic uint64_t *lease;
	uint32_t n_looks = 0;
	uint64_t given;

	if (op->lease == PMS_LEASES)
		return;
	lease = &bulk->tx.head->leases[op->lease];
	do {
		given = (uint64_t)op->name << 8 | PMS_LEASE_GIVEN;
		if (atomic_compare_exchange_strong(lease, &given, 0) ||
		    (given & 0xff) != PMS_LEASE_IN_USE)
			break;
		/* in the middle of a piece: wait for its end, or for that of the process */
		await_lease(n_looks++);
	} while (pms_slot_is_held(link->seg.dir.file, op->peer->index));
	bulk->leases &= ~(1u << op->lease);
	op->lease = PMS_LEASES;
}
