/* SPDX-License-Identifier: BSD-3-Clause */
/* shared - receives that the connections of a rail share. */
#ifndef PM_VERBS_HW_SHARED_H
#define PM_VERBS_HW_SHARED_H

#include "pm-verbs/hw/pool.h"

/* How many there may be, of the option and of the device. */
void pmv_shared_init(const struct pmv_link *link, struct pmv_rail *rail,
		     const struct ibv_device_attr *attr);
void pmv_shared_fini(struct pmv_link *link, struct pmv_rail *rail);
/* Whether the next queue pair of the rail is to be made with them. */
bool pmv_shared_ready(struct pmv_link *link, struct pmv_rail *rail);
/* A queue pair that was made with them comes, or the one with that number has been destroyed. */
int pmv_shared_join(struct pmv_link *link, struct pmv_qp *qp);
void pmv_shared_leave(struct pmv_link *link, struct pmv_rail *rail, uint32_t number);

/*
 * One came back: the queue pair it was taken by, NULL when that is no more. Its place is empty now.
 */
struct pmv_qp *pmv_shared_taken(struct pmv_slot *slot, uint32_t number);
/* Fills the place with the same buffer. */
void pmv_shared_again(struct pmv_link *link, struct pmv_slot *slot);
bool pmv_shared_post(struct pmv_link *link, struct pmv_rail *rail, struct pmv_slot *slot);
/* Posts what is short. */
void pmv_shared_post_more(struct pmv_link *link, struct pmv_rail *rail);

static inline bool pmv_shared_is_short(const struct pmv_shared *shared)
{
	return shared->posted - shared->missing < shared->want && shared->posted < shared->room;
}

static inline void pmv_shared_fill(struct pmv_link *link, struct pmv_rail *rail)
{
	if (pmv_shared_is_short(&rail->shared))
		pmv_shared_post_more(link, rail);
}

/* As pmv_shared_replace(), when no buffer is free. */
struct pmv_slot *pmv_shared_set_aside(struct pmv_link *link, struct pmv_rail *rail,
				      struct pmv_slot *slot, uint32_t len);

/* Fills the place while the user has the message of @len bytes, which is in what this returns. */
static inline struct pmv_slot *pmv_shared_replace(struct pmv_link *link, struct pmv_slot *slot,
						  uint32_t len)
{
	struct pmv_rail *rail = slot->rail;

	slot->rail = NULL;
	if (!pmv_shared_is_short(&rail->shared))
		return slot;
	if (link->n_free <= PMV_KEPT)
		return pmv_shared_set_aside(link, rail, slot, len);
	pmv_shared_post(link, rail, pmv_slot_spare(link));
	return slot;
}

/*
 * The queue pair has failed and what was sent has come back: from_hw->qp_ended() when no message
 * can come any more.
 */
void pmv_shared_end(struct pmv_link *link, struct pmv_qp *qp);
/* The device's word that the queue pair takes no more. */
void pmv_shared_last(struct pmv_link *link, struct pmv_rail *rail, uint32_t number);
/* They can't be used any more: each connection gets its own. */
void pmv_shared_failed(struct pmv_link *link, struct pmv_rail *rail);
/* After a look into the completion queues, while link->is_ending: things that happened. */
int pmv_shared_turn(struct pmv_link *link);
/*
 * After that, when the devices have been heard: which of the ending queue pairs take no more. The
 * same.
 */
int pmv_shared_settle(struct pmv_link *link);
/* Nanoseconds until the turn is needed without an event. */
uint64_t pmv_shared_deadline(const struct pmv_link *link, uint64_t now);
void pmv_shared_dump(const struct pmv_rail *rail, struct text *text);

#endif
