/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - memory of the engine, counted, and pools of it; memory.c.
 */
#ifndef PM_CHANNEL_MEMORY_H
#define PM_CHANNEL_MEMORY_H

#include "pmcore/channel/chan_private.h"

/* Zeroed; NULL: there is none. */
void *chan_alloc(struct chan *chan, size_t size);
void chan_free(struct chan *chan, void *memory, size_t size);
/* Memory of a pool: @size usable bytes, freed by chunks_free. */
void *chunk_alloc(struct chan *chan, struct chunk **list, size_t size);
void chunks_free(struct chan *chan, struct chunk **list);
struct chunk *chunk_next(const struct chunk *chunk);
void *chunk_bytes(struct chunk *chunk);

#endif
