// SPDX-License-Identifier: BSD-3-Clause
#include "pm-ethernet/rings.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

static int map_ring(int fd, const struct xdp_ring_offset *at, uint32_t size, size_t entry_bytes,
		    uint64_t offset, struct eth_ring *ret)
{
	size_t bytes = at->desc + size * entry_bytes;
	char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
			 (off_t)offset);

	if (map == MAP_FAILED)
		return -errno;
	/* a child's mapping would keep the socket open after our death */
	madvise(map, bytes, MADV_DONTFORK);
	*ret = (struct eth_ring){
		.producer = (_Atomic uint32_t *)(map + at->producer),
		.consumer = (_Atomic uint32_t *)(map + at->consumer),
		.flags = (_Atomic uint32_t *)(map + at->flags),
		.entries = map + at->desc,
		.size = size,
		.map = map,
		.map_bytes = bytes,
	};
	return 0;
}

/* Goes on where the ring stands: @is_ours_producer says which of the ends is ours. */
static void catch_up(struct eth_ring *r, bool is_ours_producer)
{
	uint32_t producer = atomic_load_explicit(r->producer, memory_order_acquire);
	uint32_t consumer = atomic_load_explicit(r->consumer, memory_order_acquire);

	r->ours = is_ours_producer ? producer : consumer;
	r->theirs = is_ours_producer ? consumer : producer;
}

int eth_rings_map(int fd, int owner, const uint32_t sizes[4], struct eth_rings *ret)
{
	struct xdp_mmap_offsets at;
	struct eth_rings rings = {0};
	socklen_t len = sizeof(at);
	int err;

	if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &len))
		return -errno;
	if (len != sizeof(at))
		return -EPROTO; /* a kernel without flags in its rings: before 5.4 */
	err = map_ring(fd, &at.rx, sizes[0], sizeof(struct xdp_desc), XDP_PGOFF_RX_RING, &rings.rx);
	if (!err)
		err = map_ring(fd, &at.tx, sizes[1], sizeof(struct xdp_desc), XDP_PGOFF_TX_RING,
			       &rings.tx);
	if (!err)
		err = map_ring(owner, &at.fr, sizes[2], sizeof(uint64_t), XDP_UMEM_PGOFF_FILL_RING,
			       &rings.fill);
	if (!err)
		err = map_ring(owner, &at.cr, sizes[3], sizeof(uint64_t),
			       XDP_UMEM_PGOFF_COMPLETION_RING, &rings.done);
	if (err) {
		eth_rings_unmap(&rings);
		return err;
	}
	catch_up(&rings.rx, false);
	catch_up(&rings.tx, true);
	catch_up(&rings.fill, true);
	catch_up(&rings.done, false);
	*ret = rings;
	return 0;
}

static void unmap_ring(struct eth_ring *r)
{
	if (r->map)
		munmap(r->map, r->map_bytes);
	memset(r, 0, sizeof(*r));
}

void eth_rings_unmap(struct eth_rings *rings)
{
	unmap_ring(&rings->rx);
	unmap_ring(&rings->tx);
	unmap_ring(&rings->fill);
	unmap_ring(&rings->done);
}
