// SPDX-License-Identifier: BSD-3-Clause
/*
 * pair - the bulk rings between us and a peer, and what both sides of one-sided operations keep of
 * them.
 */
#include <errno.h>
#include <stdlib.h>

#include "pm-shmem/bulk.h"

static bool is_cma_wanted(const struct pms_link *link)
{
	enum conf_large large = link->env.conf->shmem_large;

	return large == CONF_LARGE_CMA ||
	       (large == CONF_LARGE_AUTO && link->seg.header->large == PMS_LARGE_CMA);
}

int pms_bulk_get(struct pms_link *link, struct pm_link_peer *peer, struct pms_bulk **ret_bulk)
{
	const struct pms_slot *self = &link->seg.slots[link->seg.index];
	const struct pms_slot *other = &link->seg.slots[peer->index];
	struct pms_bulk *bulk = peer->bulk;
	int err;

	if (bulk) {
		*ret_bulk = bulk;
		return 0;
	}
	bulk = calloc(1, sizeof(*bulk));
	if (!bulk)
		return -ENOMEM;
	err = pms_segment_map(&link->seg, link->seg.index, peer->index, PMS_PART_BULK,
			      &bulk->tx_memory);
	if (err)
		goto out;
	err = pms_segment_map(&link->seg, peer->index, link->seg.index, PMS_PART_BULK,
			      &bulk->rx_memory);
	if (err)
		goto out_tx;
	pms_chunk_tx_init(&bulk->tx, bulk->tx_memory);
	pms_chunk_rx_init(&bulk->rx, bulk->rx_memory);
	/* a pid means something only where it was given */
	bulk->is_cma_possible = is_cma_wanted(link) && self->pid_ns &&
				self->pid_ns == other->pid_ns;
	bulk->is_direct_possible = bulk->is_cma_possible;
	bulk->ready_ops_tail = &bulk->ready_ops;
	bulk->ready_jobs_tail = &bulk->ready_jobs;
	peer->bulk = bulk;
	link->bulk_peers[link->n_bulk_peers++] = peer;
	*ret_bulk = bulk;
	return 0;
out_tx:
	pms_segment_unmap(&link->seg, PMS_PART_BULK, bulk->tx_memory);
out:
	free(bulk);
	return err;
}

void pms_bulk_fill(struct pms_link *link, struct pm_link_peer *peer)
{
	/*
	 * a full file system leaves us the reserved pages: slower, and tried again by the next one
	 */
	if (!peer->bulk->is_filled)
		peer->bulk->is_filled = !pms_segment_fill(&link->seg, link->seg.index, peer->index);
}

uint64_t pms_bulk_memory(const struct pms_link *link)
{
	uint64_t bytes = link->rma ? sizeof(*link->rma) : 0;

	for (uint32_t i = 0; i < link->n_bulk_peers; i++)
		bytes += sizeof(struct pms_bulk) +
			 link->bulk_peers[i]->bulk->n_jobs * sizeof(struct pms_job);
	return bytes;
}

uint32_t pms_bulk_step(const struct pms_bulk *bulk, uint64_t len, uint64_t left)
{
	/* a short operation in several pieces, so that copying in and out overlap */
	uint64_t step = len / 4 < PMS_CHUNK_BYTES ? (len / 4 + 4095) & ~4095ull : PMS_CHUNK_BYTES;

	if (step < PMS_PAGE || !bulk->is_filled)
		step = PMS_PAGE;
	return (uint32_t)(left < step ? left : step);
}
