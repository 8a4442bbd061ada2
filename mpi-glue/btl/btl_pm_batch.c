// SPDX-License-Identifier: BSD-3-Clause
/*
 * btl_pm_batch - short puts that share a datagram, while others are without an answer already. To
 * the target they are one operation, which it answers once.
 */
#include "mpi-glue/btl/btl_pm.h"

#include <stdlib.h>
#include <string.h>

/* Above that the copy costs more than the datagram. */
#define SHORT 256u

static size_t room(const struct mca_btl_base_endpoint_t *e)
{
	return e->mtu < BTL_PM_BATCH_BYTES ? e->mtu : BTL_PM_BATCH_BYTES;
}

bool btl_pm_batch_takes(const struct btl_pm_operation *o)
{
	return o->kind == ACTIVE_PUT && !o->is_by_pm && o->length <= SHORT &&
	       sizeof(struct active_puts) + active_piece_size(o->length) <= room(o->endpoint);
}

bool btl_pm_batch_is_full(const struct mca_btl_base_endpoint_t *e, size_t length)
{
	return e->batch && e->batch->used + active_piece_size(length) > room(e);
}

static struct btl_pm_batch *take(struct mca_btl_base_endpoint_t *e)
{
	struct btl_pm_batch *b = STAILQ_FIRST(&btl_pm.free_batches);

	if (b)
		STAILQ_REMOVE_HEAD(&btl_pm.free_batches, link);
	else
		b = malloc(sizeof(*b));
	if (!b)
		return NULL;
	b->whole = (struct btl_pm_operation){.endpoint = e, .kind = ACTIVE_PUTS, .batch = b};
	STAILQ_INIT(&b->parts);
	b->used = sizeof(struct active_puts);
	b->n = 0;
	return b;
}

bool btl_pm_batch_add(struct btl_pm_operation *o)
{
	struct mca_btl_base_endpoint_t *e = o->endpoint;
	struct active_piece *piece;
	struct btl_pm_batch *b;

	if (!e->batch) {
		e->batch = take(e);
		if (!e->batch)
			return false;
		btl_pm_endpoint_busy(e);
	}
	b = e->batch;
	piece = (struct active_piece *)(b->bytes + b->used);
	b->used += active_piece_size(o->length);
	/* what fills it up */
	memset(b->bytes + b->used - sizeof(uint64_t), 0, sizeof(uint64_t));
	*piece = (struct active_piece){o->target.region, o->remote, o->length};
	memcpy(piece + 1, o->local, o->length);
	b->n++;
	STAILQ_INSERT_TAIL(&b->parts, o, link);
	return true;
}

struct btl_pm_operation *btl_pm_batch_close(struct mca_btl_base_endpoint_t *e)
{
	struct btl_pm_batch *b = e->batch;

	e->batch = NULL;
	return b ? &b->whole : NULL;
}

void btl_pm_batch_ended(struct btl_pm_batch *b, int status)
{
	struct btl_pm_operation *o;

	STAILQ_FOREACH(o, &b->parts, link)
		o->status = status;
	STAILQ_CONCAT(&btl_pm.ended, &b->parts);
	STAILQ_INSERT_HEAD(&btl_pm.free_batches, b, link);
}

void btl_pm_batches_free(void)
{
	while (!STAILQ_EMPTY(&btl_pm.free_batches)) {
		struct btl_pm_batch *b = STAILQ_FIRST(&btl_pm.free_batches);

		STAILQ_REMOVE_HEAD(&btl_pm.free_batches, link);
		free(b);
	}
}
