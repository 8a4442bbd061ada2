// SPDX-License-Identifier: BSD-3-Clause
/*
 * takeover - another device of the composite takes over a lost peer (life.c). Messages that were
 * sent and not acknowledged keep their numbers. Messages that arrived before the queue pair was
 * stopped are counted when all of its work has come back.
 */
#include "pm-verbs/data/takeover.h"

#include <errno.h>

#include "pm-verbs/conn/life.h"
#include "pm-verbs/conn/silence.h"
#include "pm-verbs/data/rma.h"
#include "pm-verbs/data/rx.h"
#include "pm-verbs/data/tx.h"

static int op_leave(struct pm_link *base, struct pm_link_peer *peer, uint64_t *ret_next)
{
	struct pmv_link *link = pmv_of(base);

	if (!pmv_peer_follow(link, peer))
		return -EPIPE;
	if (peer->stage == PMV_DRAINING || pmv_has_arrived(link, peer))
		return -EAGAIN;
	/* a message may be lost, and no connection came that would have told */
	if (peer->is_forged)
		return -EPIPE;
	*ret_next = peer->received;
	return 0;
}

static int give_slot(const struct pmv_slot *s, uint64_t number,
		     int (*give)(void *arg, const struct pm_unsent *message), void *arg)
{
	const struct pm_unsent message = {.number = number,
					  .data = s->data + PMV_HEADER,
					  .len = s->len - PMV_HEADER,
					  .is_carried = s->kind == PMV_CARRIED};

	return give(arg, &message);
}

static int op_unsent(struct pm_link *base, struct pm_link_peer *peer,
		     int (*give)(void *arg, const struct pm_unsent *message), void *arg,
		     uint64_t *ret_next)
{
	uint64_t number = peer->first;
	int err = 0;

	for (const struct pmv_slot *s = peer->posted.head; s && !err; s = s->next, number++)
		if (pmv_is_handed_up(s->kind))
			err = give_slot(s, number, give, arg);
	for (const struct pmv_slot *s = peer->queue.head; s && !err; s = s->next, number++)
		err = give_slot(s, number, give, arg);
	if (err)
		return err;
	pmv_tx_drop(pmv_of(base), peer);
	*ret_next = number;
	return 0;
}

static void *op_lent(struct pm_link *base, uint64_t cookie)
{
	return ((struct pmv_slot *)(uintptr_t)cookie)->data + PMV_HEADER;
}

const struct pm_leave_ops pmv_leave_ops = {
	.leave = op_leave,
	.unsent = op_unsent,
	.lent = op_lent,
	.unfinished = pmv_rma_unfinished,
	.finish = pmv_rma_finish,
	.forsake = pmv_peer_forsake,
	.lives = pmv_silence_lives,
};
