/* SPDX-License-Identifier: BSD-3-Clause */
/* pool - registered buffers for messages. */
#ifndef PM_VERBS_HW_POOL_H
#define PM_VERBS_HW_POOL_H

#include "pm-verbs/hw/link.h"

static inline void pmv_list_init(struct pmv_list *list)
{
	*list = (struct pmv_list){.tail = &list->head};
}
void pmv_list_add(struct pmv_list *list, struct pmv_slot *slot);
struct pmv_slot *pmv_list_take(struct pmv_list *list);
void pmv_list_remove(struct pmv_list *list, struct pmv_slot *slot);
/* @front goes before what is in @list. */
void pmv_list_prepend(struct pmv_list *list, struct pmv_list *front);
/* NULL: no memory can be had. */
struct pmv_slot *pmv_slot_get(struct pmv_link *link);
#define PMV_KEPT 16 /* free buffers that are left to what goes out */
/*
 * One to receive into, of memory that is registered for it; NULL: none can be had, or lately could
 * not.
 */
struct pmv_slot *pmv_slot_more(struct pmv_link *link);
static inline struct pmv_slot *pmv_slot_spare(struct pmv_link *link)
{
	struct pmv_slot *slot = link->free;

	if (link->n_free <= PMV_KEPT)
		return pmv_slot_more(link);
	link->free = slot->next;
	link->n_free--;
	return slot;
}
/* The first @len bytes in memory that is not registered; NULL: no memory. */
struct pmv_slot *pmv_slot_copy(struct pmv_link *link, const struct pmv_slot *slot, uint32_t len);
void pmv_slot_put(struct pmv_link *link, struct pmv_slot *slot);
void pmv_slots_put(struct pmv_link *link, struct pmv_list *list);
int pmv_pool_grow(struct pmv_link *link);
void pmv_pool_fini(struct pmv_link *link);

#endif
