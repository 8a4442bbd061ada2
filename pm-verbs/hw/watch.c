// SPDX-License-Identifier: BSD-3-Clause
/*
 * watch - queue pairs whose port has failed or come back: what they have posted by then has to come
 * back (stall.c has the reason). They are counted down here; stall.c ends the connections of those
 * from which nothing comes.
 */
#include "pm-verbs/hw/watch.h"

/*
 * A queue pair has tried 7 times, 0.27 s apart. One that tries for longer loses its connection, but
 * no message.
 */
#define STALL_NS 2000000000ull

void pmv_watch_end(struct pmv_link *link, struct pmv_qp *qp)
{
	if (!qp->stall_ns)
		return;
	qp->n_watched = 0;
	qp->stall_ns = 0;
	link->n_stalling--;
}

static void watch(struct pmv_link *link, struct pmv_qp *qp, uint64_t now)
{
	if (!qp->n_sends && !qp->rail->is_down) {
		pmv_watch_end(link, qp);
		return;
	}
	link->n_stalling += !qp->stall_ns;
	if (!qp->n_watched) {
		qp->stall_ns = now + STALL_NS;
		qp->n_seen = qp->n_sends;
	}
	qp->n_watched = qp->n_sends;
}

void pmv_watch_rail(struct pmv_link *link, struct pmv_rail *rail)
{
	uint64_t now = pmv_now(link);

	for (struct pmv_qp *qp = link->qps; qp; qp = qp->next) {
		/*
		 * those of ports that are down still had nowhere else to go while this one was
		 * down, too
		 */
		bool is_concerned = qp->rail == rail || (qp->rail->is_down && !rail->is_down);

		if (is_concerned && qp->peer && !qp->is_failed)
			watch(link, qp, now);
	}
}

void pmv_watch_all_returned(struct pmv_link *link, struct pmv_qp *qp)
{
	if (!qp->rail->is_down)
		pmv_watch_end(link, qp);
}

void pmv_watch_again(struct pmv_link *link, struct pmv_qp *qp, uint64_t now)
{
	qp->n_seen = qp->n_watched;
	qp->stall_ns = now + STALL_NS;
	if (!qp->n_watched)
		pmv_watch_end(link, qp);
}

uint64_t pmv_watch_deadline(const struct pmv_link *link, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (const struct pmv_qp *qp = link->qps; qp && link->n_stalling; qp = qp->next)
		if (qp->stall_ns && qp->stall_ns < next)
			next = qp->stall_ns;
	if (next == UINT64_MAX)
		return next;
	return next > now ? next - now : 0;
}
