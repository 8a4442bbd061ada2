// SPDX-License-Identifier: BSD-3-Clause
/*
 * slots - lists through the entries of the send window. Knows no reason why a slot is on one of
 * them.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/slots.h"

void slot_list_add(struct chan_flow *flow, struct slot_list *list, struct tx_slot *slot)
{
	uint16_t index = (uint16_t)(slot - flow->slots);

	slot->prev = list->tail;
	slot->next = CHAN_NIL;
	if (list->tail == CHAN_NIL)
		list->head = index;
	else
		flow->slots[list->tail].next = index;
	list->tail = index;
}

void slot_list_del(struct chan_flow *flow, struct slot_list *list, struct tx_slot *slot)
{
	if (slot->prev == CHAN_NIL)
		list->head = slot->next;
	else
		flow->slots[slot->prev].next = slot->next;
	if (slot->next == CHAN_NIL)
		list->tail = slot->prev;
	else
		flow->slots[slot->next].prev = slot->prev;
}
