// SPDX-License-Identifier: BSD-3-Clause
/*
 * memory - the mappings of the packet memory. The transmit area stays at its address for the life
 * of the device, because the channel keeps packets through suspend. A receive area lives as long as
 * its sockets, and beyond that until its last lent chunk came back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pm-ethernet/device.h"

#define BLOCK_BYTES 512u /* of st_blocks */

static int map(int fd, uint64_t offset, size_t bytes, uint8_t **ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at;

	if (offset % page || bytes % page)
		return -EPROTO;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
		  (off_t)offset);
	if (at == MAP_FAILED)
		return -errno;
	/* a child would write into packets that we send */
	madvise(at, bytes, MADV_DONTFORK);
	*ret = at;
	return 0;
}

/* Puts new memory where the old one was, with the same bytes. */
static int replace(struct eth_dev *d, uint8_t *fresh)
{
	size_t bytes = d->tx_area_bytes;

	memcpy(fresh, d->tx_area, bytes);
	if (mremap(fresh, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, d->tx_area) == MAP_FAILED) {
		int err = -errno;

		munmap(fresh, bytes);
		return err;
	}
	return 0;
}

static int map_transmit(struct eth_dev *d, int fd)
{
	const struct eth_granted *g = &d->granted;
	uint32_t packet_bytes = g->chunks_per_packet * g->chunk_bytes;
	size_t bytes = (size_t)g->tx_packets * packet_bytes;
	uint8_t *fresh;
	int err;

	if (d->tx_area && (bytes != d->tx_area_bytes || packet_bytes != d->packet_bytes))
		return -EPROTO;
	err = map(fd, g->slot * (uint64_t)bytes, bytes, &fresh);
	if (err)
		return err;
	d->tx_base = g->slot * (uint64_t)bytes;
	if (d->tx_area)
		return replace(d, fresh);
	d->tx_area = fresh;
	d->tx_area_bytes = bytes;
	d->packet_bytes = packet_bytes;
	return 0;
}

static void drop(struct eth_dev *d, struct eth_area *area)
{
	struct eth_area **at = &d->areas;

	while (*at != area)
		at = &(*at)->next;
	*at = area->next;
	munmap(area->bytes, area->size);
	free(area);
}

/* The newest stays until it has a successor, so that epochs differ. */
void eth_memory_returned(struct eth_dev *d, struct eth_area *area)
{
	if (area->is_stale && !area->lent && area != d->areas)
		drop(d, area);
}

static void sweep(struct eth_dev *d)
{
	struct eth_area *area, *next;

	for (area = d->areas; area; area = next) {
		next = area->next;
		eth_memory_returned(d, area);
	}
}

void eth_memory_stale(struct eth_dev *d)
{
	for (struct eth_area *area = d->areas; area; area = area->next)
		area->is_stale = true;
	sweep(d);
}

static bool is_filled(int fd, uint64_t bytes)
{
	struct stat st;

	return !fstat(fd, &st) && (uint64_t)st.st_blocks * BLOCK_BYTES >= bytes;
}

/*
 * All pages are there before the kernel works with them, also those of other processes of the job:
 * who touches a page first has it counted in its group.
 */
static int fill(int fd, uint64_t bytes)
{
	void *at;

	if (is_filled(fd, bytes))
		return 0;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	munmap(at, bytes);
	return is_filled(fd, bytes) ? 0 : -ENOMEM;
}

int eth_memory_map(struct eth_dev *d, int fd)
{
	const struct eth_granted *g = &d->granted;
	struct eth_area *area = calloc(1, sizeof(*area));
	int err;

	if (!area)
		return -ENOMEM;
	area->base = (uint64_t)g->n_slots * g->tx_packets * g->chunks_per_packet * g->chunk_bytes;
	area->size = (size_t)d->n_sockets * g->rx_chunks * g->chunk_bytes;
	err = map_transmit(d, fd);
	if (!err)
		err = map(fd, area->base, area->size, &area->bytes);
	if (!err) {
		err = fill(fd, g->memory_bytes);
		if (err)
			munmap(area->bytes, area->size);
	}
	if (err) {
		free(area);
		return err;
	}
	area->epoch = d->areas ? d->areas->epoch + 1 : 0;
	area->next = d->areas;
	d->areas = area;
	sweep(d);
	return 0;
}

void eth_memory_unmap(struct eth_dev *d)
{
	while (d->areas)
		drop(d, d->areas);
	if (d->tx_area)
		munmap(d->tx_area, d->tx_area_bytes);
	d->tx_area = NULL;
}
