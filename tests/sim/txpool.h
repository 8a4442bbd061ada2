/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * txpool - transmit buffers of many simulated hosts. Each may have as many as a device's pool
 * holds, but memory is shared: only few hosts have many at a time. Breaking the rules of `busy`
 * fails the test.
 */
#ifndef TESTS_SIM_TXPOOL_H
#define TESTS_SIM_TXPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "pmcore/include/pm_device.h"

struct txpool {
	uint32_t owners, each; /* hosts, buffers of each at most */
	uint32_t room;         /* bytes of a buffer */
	uint32_t *lent;        /* by owner */
	struct pm_packet *free;
};

void txpool_init(struct txpool *pool, uint32_t owners, uint32_t each, uint32_t room);
/* Every buffer has to be back. */
void txpool_fini(struct txpool *pool);
/* NULL: the owner has all it may have. */
struct pm_packet *txpool_alloc(struct txpool *pool, uint32_t owner);
void txpool_free(struct txpool *pool, uint32_t owner, struct pm_packet *packet);
/* The network has the packet, and is through with it. */
void txpool_hold(struct pm_packet *packet);
void txpool_let_go(struct txpool *pool, struct pm_packet *packet);

#endif
