// SPDX-License-Identifier: BSD-3-Clause
/*
 * pool - buffers for messages, registered with every rail, in chunks that are made when needed and
 * kept. When no more can be registered, messages that wait to be read are copied into plain ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/hw/local.h"
#include "pm-verbs/hw/pool.h"

#define POOR 64 /* after a refusal, times that registering more is not tried again */

void pmv_list_add(struct pmv_list *list, struct pmv_slot *slot)
{
	slot->next = NULL;
	*list->tail = slot;
	list->tail = &slot->next;
	list->n++;
}

struct pmv_slot *pmv_list_take(struct pmv_list *list)
{
	struct pmv_slot *slot = list->head;

	if (!slot)
		return NULL;
	list->head = slot->next;
	if (!list->head)
		list->tail = &list->head;
	list->n--;
	return slot;
}

void pmv_list_remove(struct pmv_list *list, struct pmv_slot *slot)
{
	struct pmv_slot **at = &list->head;

	while (*at != slot)
		at = &(*at)->next;
	*at = slot->next;
	if (!*at)
		list->tail = at;
	list->n--;
}

void pmv_list_prepend(struct pmv_list *list, struct pmv_list *front)
{
	if (!front->head)
		return;
	*front->tail = list->head;
	if (!list->head)
		list->tail = front->tail;
	list->head = front->head;
	list->n += front->n;
	pmv_list_init(front);
}

static void free_chunk(struct pmv_link *link, struct pmv_chunk *chunk)
{
	for (uint32_t i = 0; i < link->n_rails; i++)
		if (chunk->mr[i])
			link->v->dereg_mr(chunk->mr[i]);
	free(chunk->slots);
	free(chunk->memory);
	free(chunk);
}

static int register_chunk(struct pmv_link *link, struct pmv_chunk *chunk, size_t size)
{
	for (uint32_t i = 0; i < link->n_rails; i++) {
		struct pmv_registration registration;
		int err = pmv_register(link, &link->rails[i], chunk->memory, size,
				       IBV_ACCESS_LOCAL_WRITE, &registration);

		if (err)
			return err;
		chunk->mr[i] = registration.mr;
	}
	return 0;
}

static int grow(struct pmv_link *link, bool is_plain, struct pmv_slot **list)
{
	struct pmv_chunk *chunk = calloc(1, sizeof(*chunk));
	size_t size = (size_t)PMV_CHUNK_SLOTS * link->buffer_bytes;
	int err = -ENOMEM;

	if (!chunk)
		return -ENOMEM;
	chunk->is_plain = is_plain;
	chunk->memory = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);
	chunk->slots = calloc(PMV_CHUNK_SLOTS, sizeof(*chunk->slots));
	if (chunk->memory && chunk->slots)
		err = is_plain ? 0 : register_chunk(link, chunk, size);
	if (err) {
		free_chunk(link, chunk);
		return err;
	}
	for (uint32_t i = 0; i < PMV_CHUNK_SLOTS; i++) {
		struct pmv_slot *slot = &chunk->slots[i];

		slot->chunk = chunk;
		slot->data = (uint8_t *)chunk->memory + (size_t)i * link->buffer_bytes;
		slot->next = *list;
		*list = slot;
	}
	chunk->next = link->chunks;
	link->chunks = chunk;
	return 0;
}

int pmv_pool_grow(struct pmv_link *link)
{
	int err = grow(link, false, &link->free);

	if (err)
		return err;
	link->n_slots += PMV_CHUNK_SLOTS;
	link->n_free += PMV_CHUNK_SLOTS;
	return 0;
}

struct pmv_slot *pmv_slot_get(struct pmv_link *link)
{
	struct pmv_slot *slot;

	if (!link->free && pmv_pool_grow(link))
		return NULL;
	slot = link->free;
	link->free = slot->next;
	link->n_free--;
	return slot;
}

struct pmv_slot *pmv_slot_more(struct pmv_link *link)
{
	if (link->poor) {
		link->poor--;
		return NULL;
	}
	if (!pmv_pool_grow(link))
		return pmv_slot_get(link);
	link->poor = POOR;
	return NULL;
}

struct pmv_slot *pmv_slot_copy(struct pmv_link *link, const struct pmv_slot *slot, uint32_t len)
{
	struct pmv_slot *copy;

	if (!link->free_plain) {
		if (grow(link, true, &link->free_plain))
			return NULL;
		link->n_plain += PMV_CHUNK_SLOTS;
	}
	copy = link->free_plain;
	link->free_plain = copy->next;
	memcpy(copy->data, slot->data, len);
	return copy;
}

void pmv_slot_put(struct pmv_link *link, struct pmv_slot *slot)
{
	slot->peer = NULL;
	slot->work.qp = NULL;
	if (slot->chunk->is_plain) {
		slot->next = link->free_plain;
		link->free_plain = slot;
		return;
	}
	slot->next = link->free;
	link->free = slot;
	link->n_free++;
}

void pmv_slots_put(struct pmv_link *link, struct pmv_list *list)
{
	struct pmv_slot *slot;

	while ((slot = pmv_list_take(list)))
		pmv_slot_put(link, slot);
}

void pmv_pool_fini(struct pmv_link *link)
{
	while (link->chunks) {
		struct pmv_chunk *chunk = link->chunks;

		link->chunks = chunk->next;
		free_chunk(link, chunk);
	}
}
