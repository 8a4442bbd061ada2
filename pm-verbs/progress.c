// SPDX-License-Identifier: BSD-3-Clause
/*
 * progress - polling the completion queues, the timers, and sleeping on the queues' channels. A
 * completion that reports an error ends its connection; the reason decides how long the next one
 * may take: without acknowledgements the peer may be dead, with a refusal it is known to live.
 */
#include <errno.h>
#include <stdio.h>

#include "pm-verbs/conn/connection.h"
#include "pm-verbs/conn/evict.h"
#include "pm-verbs/conn/lanes.h"
#include "pm-verbs/conn/life.h"
#include "pm-verbs/conn/silence.h"
#include "pm-verbs/conn/stall.h"
#include "pm-verbs/conn/wireup.h"
#include "pm-verbs/data/rma.h"
#include "pm-verbs/data/rx.h"
#include "pm-verbs/data/tx.h"
#include "pm-verbs/hw/events.h"
#include "pm-verbs/hw/greeter.h"
#include "pm-verbs/hw/pool.h"
#include "pm-verbs/hw/qp.h"
#include "pm-verbs/hw/shared.h"
#include "pm-verbs/hw/watch.h"
#include "pm-verbs/progress.h"

#define BURST 16
#define IDLE_EVENTS (1u << 14) /* polls between looks at what the devices say, a system call */

static void failed(struct pmv_link *link, struct pmv_qp *qp, enum ibv_wc_status status)
{
	const struct pmv_port *port = &qp->rail->port;
	uint64_t lost_ns = UINT64_MAX;
	char why[192];

	if (!qp->peer || qp->is_failed)
		return;
	/* the port may have said more, unheard */
	pmv_events(link);
	if (status == IBV_WC_RETRY_EXC_ERR) {
		lost_ns = pmv_silence_lost(link, qp);
		pmv_lane_rest(link, qp);
	}
	snprintf(why, sizeof(why), "%s:%u%s: %s", port->device, port->number,
		 qp->rail->is_down ? " (its link is down)" : "", link->v->wc_status_str(status));
	pmv_connection_lost(link, qp->peer, lost_ns, why);
}

/*
 * In each of these the work still counts as posted while it is dealt with: so its queue pair is
 * there until the last line.
 */
static void returned(struct pmv_link *link, struct pmv_qp *qp, uint32_t *count)
{
	(*count)--;
	pmv_qp_returned(link, qp);
}

static void send_returned(struct pmv_link *link, struct pmv_qp *qp)
{
	pmv_watch_returned(link, qp);
	returned(link, qp, &qp->n_sends);
}

static void send_done(struct pmv_link *link, struct pmv_slot *slot, enum ibv_wc_status status)
{
	struct pmv_qp *qp = slot->work.qp;

	if (status)
		failed(link, qp, status);
	pmv_sent(link, slot);
	send_returned(link, qp);
}

static void receive_done(struct pmv_link *link, struct pmv_slot *slot, const struct ibv_wc *wc)
{
	struct pmv_qp *qp = slot->work.qp;

	slot->work.qp = NULL;
	if (wc->status) {
		pmv_slot_put(link, slot);
		failed(link, qp, wc->status);
	} else if (qp->peer) {
		pmv_arrived(link, qp->peer, slot, wc->byte_len);
	} else {
		pmv_slot_put(link, slot);
	}
	returned(link, qp, &qp->n_receives);
}

static void shared_done(struct pmv_link *link, struct pmv_slot *slot, const struct ibv_wc *wc)
{
	struct pmv_qp *qp = pmv_shared_taken(slot, wc->qp_num);

	if (!wc->status && qp && qp->peer) {
		pmv_arrived(link, qp->peer, slot, wc->byte_len);
		return;
	}
	pmv_receive_again(link, slot);
	if (wc->status && qp)
		failed(link, qp, wc->status);
}

static void probe_done(struct pmv_link *link, struct pmv_qp *qp, enum ibv_wc_status status)
{
	qp->is_probing = false;
	if (status)
		failed(link, qp, status);
	send_returned(link, qp);
}

static void piece_done(struct pmv_link *link, struct pmv_work *work, enum ibv_wc_status status)
{
	struct pmv_qp *qp = work->qp;

	if (status)
		failed(link, qp, status);
	pmv_piece_done(link, (struct pmv_piece *)work, status);
	send_returned(link, qp);
}

static void handle(struct pmv_link *link, const struct ibv_wc *wc)
{
	struct pmv_work *work = (struct pmv_work *)(uintptr_t)wc->wr_id;

	switch (work->kind) {
	case PMV_WORK_SEND:
		send_done(link, (struct pmv_slot *)work, wc->status);
		break;
	case PMV_WORK_RECEIVE:
		receive_done(link, (struct pmv_slot *)work, wc);
		break;
	case PMV_WORK_SHARED:
		shared_done(link, (struct pmv_slot *)work, wc);
		break;
	case PMV_WORK_PIECE:
		piece_done(link, work, wc->status);
		break;
	case PMV_WORK_PROBE:
		probe_done(link, work->qp, wc->status);
		break;
	case PMV_WORK_GREETING_OUT:
		pmv_greeting_sent(link, (struct pmv_datagram *)work, wc->status);
		break;
	case PMV_WORK_GREETING_IN:
		pmv_greeting_received(link, (struct pmv_datagram *)work, wc);
		break;
	}
}

/* A queue that was found empty, or gave as many as it holds, has given all that came before. */
static void count_backlog(struct pmv_rail *rail, int n)
{
	if (n < BURST || rail->backlog < BURST)
		rail->backlog = 0;
	else
		rail->backlog -= BURST;
}

/*
 * Ends queue pairs with shared receives; the device's word about one may have come since the poll.
 */
static int end_shared(struct pmv_link *link)
{
	int n = pmv_shared_turn(link);

	if (link->ending)
		pmv_events(link);
	return n + pmv_shared_settle(link);
}

int pmv_progress(struct pmv_link *link)
{
	struct ibv_wc wc[BURST];
	int total = 0;

	for (uint32_t r = 0; r < link->n_rails; r++) {
		int n = ibv_poll_cq(link->rails[r].cq, BURST, wc);

		count_backlog(&link->rails[r], n);
		for (int i = 0; i < n; i++)
			handle(link, &wc[i]);
		if (n > 0)
			total += n;
		link->rails[r].is_emptied = n < BURST;
		pinned_turn(link->rails[r].pinned);
	}
	if (link->is_ending)
		total += end_shared(link);
	/* a goodbye overtakes messages by another rail: it counts when those are taken */
	if (link->n_leaving)
		total += pmv_peers_leave(link);
	if (link->is_short)
		pmv_rma_turn(link);
	link->turn++;
	if (link->is_crowded)
		pmv_evict_turn(link);
	return total;
}

/* ---- receiving ---- */

static void chores(struct pmv_link *link)
{
	if (link->n_greeting)
		pmv_greeting_timers(link, pmv_now(link));
	if (link->waiting || link->n_closing)
		pmv_evict_timers(link, pmv_now(link));
	if (link->n_stalling)
		pmv_stall_timers(link, pmv_now(link));
	if (link->idle % IDLE_EVENTS == 0)
		pmv_events(link);
}

int pmv_receive(struct pm_link *base, struct pm_inbound *ret)
{
	struct pmv_link *link = pmv_of(base);
	int got;

	if (!link->arrived.head) {
		pmv_progress(link);
		if (++link->idle % PMV_IDLE_CHORES == 0)
			chores(link);
	}
	got = pmv_rx_take(link, ret);
	if (got)
		return got;
	return link->n_dying ? pmv_peer_report(link, &ret->src) : 0;
}

bool pmv_is_gone(struct pm_link *base, struct pm_link_peer *peer)
{
	struct pmv_link *link = pmv_of(base);

	if (pmv_peer_is_open(peer) || pmv_peer_is_lost(peer))
		return false;
	/* its last messages may be with the device of another rail */
	while (pmv_progress(link))
		;
	return !pmv_has_arrived(link, peer);
}

/* ---- sleeping ---- */

int pmv_poll_fds(struct pm_link *base, int *fds, int room)
{
	struct pmv_link *link = pmv_of(base);
	int n = 0;

	for (uint32_t r = 0; r < link->n_rails && n + 2 <= room; r++) {
		fds[n++] = link->rails[r].channel->fd;
		fds[n++] = link->rails[r].context->async_fd;
	}
	return n;
}

static bool request_events(struct pmv_link *link)
{
	for (uint32_t r = 0; r < link->n_rails; r++)
		if (ibv_req_notify_cq(link->rails[r].cq, 0))
			return false;
	return true;
}

int pmv_arm(struct pm_link *base, uint64_t *timeout_ns)
{
	struct pmv_link *link = pmv_of(base);
	uint64_t left, next;

	if (link->n_greeting)
		pmv_greeting_timers(link, pmv_now(link));
	if (link->waiting || link->n_closing)
		pmv_evict_timers(link, pmv_now(link));
	if (link->n_stalling)
		pmv_stall_timers(link, pmv_now(link));
	link->is_armed = true;
	/*
	 * asked for first, then looked once more: what comes between the two is seen or makes an
	 * event
	 */
	if (!request_events(link) || pmv_progress(link) || link->arrived.head || link->n_dying) {
		pmv_disarm(base);
		return 1;
	}
	left = link->n_greeting ? pmv_greeting_deadline(link, pmv_now(link)) : UINT64_MAX;
	next = link->waiting || link->n_closing ? pmv_evict_deadline(link, pmv_now(link))
						: UINT64_MAX;
	if (next < left)
		left = next;
	next = link->n_stalling ? pmv_watch_deadline(link, pmv_now(link)) : UINT64_MAX;
	if (next < left)
		left = next;
	if (link->ending) {
		uint64_t end = pmv_shared_deadline(link, pmv_now(link));

		left = end < left ? end : left;
	}
	if (left < *timeout_ns)
		*timeout_ns = left;
	link->asleep_ns = left == UINT64_MAX ? 0 : left;
	return 0;
}

void pmv_disarm(struct pm_link *base)
{
	struct pmv_link *link = pmv_of(base);

	if (!link->is_armed)
		return;
	link->is_armed = false;
	for (uint32_t r = 0; r < link->n_rails; r++) {
		struct pmv_rail *rail = &link->rails[r];
		struct ibv_cq *cq;
		void *arg;

		while (!link->v->get_cq_event(rail->channel, &cq, &arg))
			link->v->ack_cq_events(rail->cq, 1);
	}
	pmv_events(link);
	/* the next empty poll looks at the timers: time has passed unseen */
	link->idle |= PMV_IDLE_CHORES - 1;
}
