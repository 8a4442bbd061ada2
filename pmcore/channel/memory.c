// SPDX-License-Identifier: BSD-3-Clause
/*
 * memory - what the engine takes from the heap: every byte is counted, and pools are arrays that
 * stay until the end.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/memory.h"

#include <stdlib.h>

struct chunk {
	struct chunk *next; /* of the same pool */
	size_t size;        /* of the whole allocation, bytes */
	_Alignas(16) uint8_t bytes[];
};

void *chan_alloc(struct chan *chan, size_t size)
{
	void *memory = calloc(1, size);

	if (memory)
		chan->memory += size;
	return memory;
}

void chan_free(struct chan *chan, void *memory, size_t size)
{
	if (!memory)
		return;
	chan->memory -= size;
	free(memory);
}

void *chunk_alloc(struct chan *chan, struct chunk **list, size_t size)
{
	struct chunk *chunk = chan_alloc(chan, sizeof(*chunk) + size);

	if (!chunk)
		return NULL;
	chunk->size = sizeof(*chunk) + size;
	chunk->next = *list;
	*list = chunk;
	return chunk->bytes;
}

struct chunk *chunk_next(const struct chunk *chunk)
{
	return chunk->next;
}

void *chunk_bytes(struct chunk *chunk)
{
	return chunk->bytes;
}

void chunks_free(struct chan *chan, struct chunk **list)
{
	struct chunk *chunk;

	while ((chunk = *list)) {
		*list = chunk->next;
		chan_free(chan, chunk, chunk->size);
	}
}
