// SPDX-License-Identifier: BSD-3-Clause
/*
 * txpool - one list of free buffers and a count per owner; see txpool.h.
 */
#include "tests/sim/txpool.h"

#include <assert.h>
#include <stdlib.h>

#include "tests/harness/tap.h"

struct txbuf {
	struct pm_packet packet; /* first: the two are converted into each other */
	uint32_t owner;          /* while lent */
	bool is_free;            /* given back; in the pool once it is not busy */
};

void txpool_init(struct txpool *pool, uint32_t owners, uint32_t each, uint32_t room)
{
	*pool = (struct txpool){.owners = owners, .each = each, .room = room};
	pool->lent = calloc(owners, sizeof(*pool->lent));
	assert(pool->lent);
}

void txpool_fini(struct txpool *pool)
{
	struct pm_packet *packet;
	uint32_t i;

	for (i = 0; i < pool->owners; i++)
		okf(!pool->lent[i], "host %u lost %u transmit buffers", i, pool->lent[i]);
	while ((packet = pool->free)) {
		pool->free = packet->next;
		free(packet->data);
		free(packet);
	}
	free(pool->lent);
}

static struct pm_packet *new_packet(const struct txpool *pool)
{
	struct txbuf *buf = calloc(1, sizeof(*buf));

	assert(buf);
	buf->packet.room = pool->room;
	buf->packet.data = malloc(pool->room);
	assert(buf->packet.data);
	return &buf->packet;
}

struct pm_packet *txpool_alloc(struct txpool *pool, uint32_t owner)
{
	struct pm_packet *packet = pool->free;

	if (pool->lent[owner] == pool->each)
		return NULL;
	if (packet)
		pool->free = packet->next;
	else
		packet = new_packet(pool);
	pool->lent[owner]++;
	((struct txbuf *)packet)->is_free = false;
	((struct txbuf *)packet)->owner = owner;
	packet->len = 0;
	packet->next = NULL;
	return packet;
}

static void give_back(struct txpool *pool, struct txbuf *buf)
{
	pool->lent[buf->owner]--;
	buf->packet.next = pool->free;
	pool->free = &buf->packet;
}

void txpool_free(struct txpool *pool, uint32_t owner, struct pm_packet *packet)
{
	struct txbuf *buf = (struct txbuf *)packet;

	okf(!buf->is_free, "host %u frees a transmit buffer twice", owner);
	okf(buf->owner == owner, "host %u frees a transmit buffer of host %u", owner, buf->owner);
	buf->is_free = true;
	if (!packet->busy)
		give_back(pool, buf);
}

void txpool_hold(struct pm_packet *packet)
{
	okf(!((struct txbuf *)packet)->is_free, "host %u posts a packet it gave back",
	    ((struct txbuf *)packet)->owner);
	packet->busy++;
}

void txpool_let_go(struct txpool *pool, struct pm_packet *packet)
{
	packet->busy--;
	if (!packet->busy && ((struct txbuf *)packet)->is_free)
		give_back(pool, (struct txbuf *)packet);
}
