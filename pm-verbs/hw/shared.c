// SPDX-License-Identifier: BSD-3-Clause
/*
 * shared - receives that the connections of a rail share, where the device can: a peer costs its
 * queue pair and no buffers. There are as many as all connections need, up to a bound; beyond that
 * credits promise more than there is, and a sender that finds none is told by the device to try
 * again.
 *
 * The place of a message that arrived is filled at once, so a user who reads nothing takes no
 * receives away from control messages. When no more memory can be registered the message is copied
 * aside, and its buffer receives again.
 *
 * The receives do not come back with the end of a queue pair. The device says when it takes no more
 * of them; what is in the completion queue then is all, so after a look that found its end the
 * connection has ended. A device that does not say so (soft-RoCE before Linux 6.5) is made to stop
 * by the RESET state; elsewhere this could throw completions away. A buffer that a message was half
 * in may be lost with its queue pair. Queues give buffers out in the order of posting, so one that
 * was overtaken by a whole queue of others is taken to be missing. Another one is posted for it.
 * The missing one itself stays untouched, and is back when the queue is closed, with the last
 * connection.
 */
#include <errno.h>
#include <stdio.h>

#include "pm-verbs/hw/cq.h"
#include "pm-verbs/hw/pool.h"
#include "pm-verbs/hw/shared.h"

#define SPARE 32               /* receives that may be missing before all are made anew */
#define SILENT_NS 300000000ull /* the device's word comes within this time: 0.3 s */
#define PAUSE_NS 10000000ull   /* for one that has none: 10 ms */

void pmv_shared_init(const struct pmv_link *link, struct pmv_rail *rail,
		     const struct ibv_device_attr *attr)
{
	struct pmv_shared *shared = &rail->shared;
	uint32_t limit = attr->max_srq > 0 && attr->max_srq_wr > 0 ? (uint32_t)attr->max_srq_wr : 0;
	uint32_t most = link->env.conf->verbs_shared;

	shared->most = most < limit ? most : limit;
	shared->room = shared->most + SPARE < limit ? shared->most + SPARE : limit;
	if (!shared->most)
		shared->room = 0;
}

/* ---- the queue ---- */

bool pmv_shared_ready(struct pmv_link *link, struct pmv_rail *rail)
{
	struct pmv_shared *shared = &rail->shared;
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = shared->room, .max_sge = 1}};

	if (!shared->most || shared->is_failed || shared->is_worn)
		return false;
	shared->piece.length = link->buffer_bytes;
	shared->request.sg_list = &shared->piece;
	shared->request.num_sge = 1;
	if (!shared->srq)
		shared->srq = link->v->create_srq(rail->pd, &attr);
	shared->is_failed = !shared->srq;
	return shared->srq;
}

/* All buffers that it has, also those that were missing, are free. */
static void take_back(struct pmv_link *link, struct pmv_rail *rail)
{
	for (struct pmv_chunk *chunk = link->chunks; chunk; chunk = chunk->next)
		for (uint32_t i = 0; i < PMV_CHUNK_SLOTS; i++) {
			struct pmv_slot *slot = &chunk->slots[i];

			if (slot->rail != rail)
				continue;
			slot->rail = NULL;
			pmv_slot_put(link, slot);
		}
}

static void close_queue(struct pmv_link *link, struct pmv_rail *rail)
{
	struct pmv_shared *shared = &rail->shared;

	if (!shared->srq)
		return;
	link->v->destroy_srq(shared->srq);
	take_back(link, rail);
	rail->cq_used -= shared->reserved;
	shared->srq = NULL;
	shared->want = shared->posted = shared->missing = shared->reserved = 0;
	shared->next = shared->last = shared->counted = 0;
	shared->is_worn = false;
}

void pmv_shared_fini(struct pmv_link *link, struct pmv_rail *rail)
{
	close_queue(link, rail);
	nodemap_fini(&rail->shared.qps);
}

/* ---- its receives ---- */

void pmv_shared_failed(struct pmv_link *link, struct pmv_rail *rail)
{
	rail->shared.is_failed = true;
	rail->shared.want = 0;
	link->is_ending = true;
}

bool pmv_shared_post(struct pmv_link *link, struct pmv_rail *rail, struct pmv_slot *slot)
{
	struct pmv_shared *shared = &rail->shared;
	struct ibv_recv_wr *bad;

	slot->work.kind = PMV_WORK_SHARED;
	slot->rail = rail;
	slot->number = shared->next;
	shared->request.wr_id = (uintptr_t)&slot->work;
	shared->piece.addr = (uintptr_t)slot->data;
	shared->piece.lkey = slot->chunk->mr[rail->index]->lkey;
	if (ibv_post_srq_recv(shared->srq, &shared->request, &bad)) {
		slot->rail = NULL;
		pmv_slot_put(link, slot);
		pmv_shared_failed(link, rail);
		return false;
	}
	shared->next++;
	shared->posted++;
	return true;
}

void pmv_shared_post_more(struct pmv_link *link, struct pmv_rail *rail)
{
	const struct pmv_shared *shared = &rail->shared;

	while (pmv_shared_is_short(shared)) {
		/*
		 * without any the connections stand still: so few are taken even of the last ones
		 */
		bool is_bare = shared->posted - shared->missing < PMV_RESERVE;
		struct pmv_slot *slot = is_bare ? pmv_slot_get(link) : pmv_slot_spare(link);

		if (!slot || !pmv_shared_post(link, rail, slot))
			return;
	}
}

struct pmv_qp *pmv_shared_taken(struct pmv_slot *slot, uint32_t number)
{
	struct pmv_shared *shared = &slot->rail->shared;

	shared->posted--;
	if (slot->number > shared->last)
		shared->last = slot->number;
	if (slot->number < shared->counted)
		shared->missing--; /* it was not */
	return nodemap_get(&shared->qps, number);
}

void pmv_shared_again(struct pmv_link *link, struct pmv_slot *slot)
{
	struct pmv_rail *rail = slot->rail;

	if (pmv_shared_is_short(&rail->shared)) {
		pmv_shared_post(link, rail, slot);
		return;
	}
	slot->rail = NULL;
	pmv_slot_put(link, slot);
}

struct pmv_slot *pmv_shared_set_aside(struct pmv_link *link, struct pmv_rail *rail,
				      struct pmv_slot *slot, uint32_t len)
{
	struct pmv_slot *other = pmv_slot_more(link);

	if (other) {
		pmv_shared_post(link, rail, other);
		return slot;
	}
	other = pmv_slot_copy(link, slot, len);
	/* without memory for this either the place stays empty until the message has been read */
	if (!other)
		return slot;
	pmv_shared_post(link, rail, slot);
	return other;
}

/* Counts those that were overtaken by a whole queue of others. */
static void count_missing(struct pmv_link *link, struct pmv_rail *rail)
{
	struct pmv_shared *shared = &rail->shared;

	shared->counted = shared->last > shared->room ? shared->last - shared->room : 0;
	shared->missing = 0;
	for (const struct pmv_chunk *chunk = link->chunks; chunk; chunk = chunk->next)
		for (uint32_t i = 0; i < PMV_CHUNK_SLOTS; i++)
			shared->missing += chunk->slots[i].rail == rail &&
					   chunk->slots[i].number < shared->counted;
	if (shared->missing <= shared->room - shared->most)
		return;
	shared->is_worn = true;
	link->is_ending = true;
}

/* ---- its connections ---- */

/* For who looks from outside; that some are in use at the moment does not matter there. */
static void show(struct pmv_link *link)
{
	uint64_t posted = 0, missing = 0;

	for (uint32_t r = 0; r < link->n_rails; r++) {
		posted += link->rails[r].shared.posted;
		missing += link->rails[r].shared.missing;
	}
	link->stats->shared_posted = posted;
	link->stats->shared_missing = missing;
}

static void set_want(struct pmv_link *link, struct pmv_shared *shared)
{
	uint64_t all = (uint64_t)shared->n_qps * link->n_credits;

	shared->want = all < shared->most ? (uint32_t)all : shared->most;
	if (shared->is_failed)
		shared->want = 0;
}

int pmv_shared_join(struct pmv_link *link, struct pmv_qp *qp)
{
	struct pmv_rail *rail = qp->rail;
	struct pmv_shared *shared = &rail->shared;
	uint32_t completions;
	int err;

	shared->n_qps++;
	err = nodemap_put(&shared->qps, qp->qp->qp_num, qp);
	if (err)
		return err;
	set_want(link, shared);
	/* those that only seemed to be missing may come after all */
	completions = shared->want + shared->room - shared->most;
	if (completions > shared->reserved) {
		err = pmv_cq_reserve(link, rail, completions - shared->reserved);
		if (err)
			return err;
		shared->reserved = completions;
	}
	pmv_shared_post_more(link, rail);
	show(link);
	return shared->posted > shared->missing || shared->is_failed ? 0 : -ENOMEM;
}

void pmv_shared_leave(struct pmv_link *link, struct pmv_rail *rail, uint32_t number)
{
	struct pmv_shared *shared = &rail->shared;

	nodemap_remove(&shared->qps, number);
	shared->n_qps--;
	set_want(link, shared);
	if (shared->n_qps) {
		count_missing(link, rail);
		pmv_shared_fill(link, rail);
	} else {
		close_queue(link, rail);
	}
	show(link);
}

/* ---- the end of a queue pair ---- */

void pmv_shared_end(struct pmv_link *link, struct pmv_qp *qp)
{
	if (qp->silent_ns)
		return;
	qp->silent_ns = pmv_now(link) + (qp->rail->shared.is_silent ? PAUSE_NS : SILENT_NS);
	qp->next_ending = link->ending;
	link->ending = qp;
	link->is_ending = true;
}

void pmv_shared_last(struct pmv_link *link, struct pmv_rail *rail, uint32_t number)
{
	struct pmv_qp *qp = nodemap_get(&rail->shared.qps, number);

	rail->shared.is_silent = false;
	if (!qp)
		return;
	qp->is_last = true;
	if (qp->is_failed || !qp->peer)
		return;
	link->has_fallen = true;
	link->is_ending = true;
}

/*
 * A queue pair that sends nothing learns of its failure by the device's word only. Completions that
 * tell why come first.
 */
static int lose_fallen(struct pmv_link *link)
{
	char why[96];
	int n = 0;

	link->has_fallen = false;
	for (struct pmv_qp *qp = link->qps, *next; qp; qp = next) {
		next = qp->next;
		if (!qp->is_last || qp->is_failed || !qp->peer)
			continue;
		if (!qp->rail->is_emptied) {
			link->has_fallen = true;
			continue;
		}
		snprintf(why, sizeof(why), "%s:%u: the queue pair has failed",
			 qp->rail->port.device, qp->rail->port.number);
		link->from_hw->qp_lost(link, qp, why);
		n++;
	}
	return n;
}

/*
 * The next connections do not share, or share what is made anew when the last of the old ones has
 * ended.
 */
static int lose_all(struct pmv_link *link, struct pmv_rail *rail)
{
	const char *why = rail->shared.is_failed ? "the receives that it shares have failed"
						 : "the receives that it shares are made anew";
	int n = 0;

	for (struct pmv_qp *qp = link->qps, *next; qp; qp = next) {
		next = qp->next;
		if (qp->rail != rail || !qp->is_shared || qp->is_failed || !qp->peer)
			continue;
		link->from_hw->qp_lost(link, qp, why);
		n++;
	}
	return n;
}

/* True: from now on it takes no more. */
static bool becomes_quiet(struct pmv_link *link, struct pmv_qp *qp)
{
	struct pmv_shared *shared = &qp->rail->shared;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	if (qp->is_last)
		return true;
	if (!qp->rail->is_emptied || pmv_now(link) < qp->silent_ns)
		return false;
	shared->is_silent = true;
	link->v->modify_qp(qp->qp, &attr, IBV_QP_STATE);
	return true;
}

/*
 * The completion queue was looked into since the last turn: who was quiet then and is emptied now
 * has ended.
 */
static int end_all(struct pmv_link *link)
{
	struct pmv_qp *list = link->ending, *qp;
	int n = 0;

	link->ending = NULL;
	while ((qp = list)) {
		list = qp->next_ending;
		if (qp->is_quiet && qp->rail->is_emptied) {
			link->from_hw->qp_ended(link, qp);
			n++;
			continue;
		}
		qp->next_ending = link->ending;
		link->ending = qp;
	}
	return n;
}

int pmv_shared_turn(struct pmv_link *link)
{
	int n = 0;

	link->is_ending = false;
	if (link->has_fallen)
		n += lose_fallen(link);
	for (uint32_t r = 0; r < link->n_rails; r++)
		if (link->rails[r].shared.is_failed || link->rails[r].shared.is_worn)
			n += lose_all(link, &link->rails[r]);
	return n + end_all(link);
}

int pmv_shared_settle(struct pmv_link *link)
{
	int n = 0;

	for (struct pmv_qp *qp = link->ending; qp; qp = qp->next_ending)
		if (!qp->is_quiet && becomes_quiet(link, qp)) {
			qp->is_quiet = true;
			n++;
		}
	n += link->has_fallen;
	link->is_ending |= link->ending || link->has_fallen;
	return n;
}

uint64_t pmv_shared_deadline(const struct pmv_link *link, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (const struct pmv_qp *qp = link->ending; qp; qp = qp->next_ending)
		if (qp->silent_ns < next)
			next = qp->silent_ns;
	return next == UINT64_MAX || next > now ? next - now : 0;
}

void pmv_shared_dump(const struct pmv_rail *rail, struct text *text)
{
	const struct pmv_shared *shared = &rail->shared;

	if (!shared->most)
		return;
	text_add(text,
		 "    shared receives: %u of at most %u posted, %u missing, %u connections%s\n",
		 shared->posted, shared->most, shared->missing, shared->n_qps,
		 shared->is_failed ? ", failed: each has its own" : "");
}
