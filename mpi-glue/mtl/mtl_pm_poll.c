// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_poll - a round of progress: takes what PM has received, and retries what PM had no room
 * for. A blocking receive makes such rounds by itself for a while.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_context.h"
#include "mpi-glue/mtl/mtl_pm_lock.h"
#include "mpi-glue/mtl/mtl_pm_orders.h"

#include "pmcore/util/copy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Polls of a blocking receive before it goes to Open MPI's progress: some microseconds. */
#define LINGER_POLLS 256

/*
 * The poll in vain after which it looks for an order, as such receives in a row never come to Open
 * MPI's progress. It waits anyway then, so a message that is there is not later for that.
 */
#define ORDER_POLL 4

/* Datagrams per call, so that Open MPI's own events get their turn. */
#define RECEIVE_BURST 64

/*
 * The short way of a short message: into the receive that waits for just that. False: it is not
 * that simple, nothing was done.
 */
static inline bool arrive_again(const void *datagram, size_t length)
{
	const struct envelope *e = datagram;
	struct match_entry *match;
	struct mtl_pm_receive *r;

	if (length < sizeof(*e) || envelope_kind(e) != ENVELOPE_EAGER || e->pad)
		return false;
	match = match_arrive_again(&mtl_pm.match, envelope_context(e), e->source, e->tag);
	if (!match)
		return false;
	r = mtl_pm_receive_of_match(match);
	length -= sizeof(*e);
	if (OPAL_LIKELY(r->data && length <= r->room)) {
		ompi_status_public_t *status =
			&mtl_pm_request_of_receive(r)->super.ompi_req->req_status;

		copy_bytes(r->data, e + 1, length);
		status->MPI_SOURCE = e->source;
		status->MPI_TAG = e->tag;
		status->MPI_ERROR = MPI_SUCCESS;
		status->_ucount = length;
		mtl_pm_complete(mtl_pm_request_of_receive(r));
	} else {
		mtl_pm_receive_matched(r, e->source, e->tag, length);
		mtl_pm_receive_head(r, e + 1, length);
	}
	return true;
}

/* The parts of a longer message follow each other. */
static inline void arrive_row(const struct iovec *row, size_t n, pmNode node)
{
	for (size_t i = 0; i < n;) {
		if (OPAL_LIKELY(arrive_again(row[i].iov_base, row[i].iov_len)))
			i++;
		else
			i += mtl_pm_arrive(row + i, n - i, node);
	}
}

/* Only Open MPI can tell the address of a new peer. */
static bool keep_of_stranger(const struct iovec *row, size_t n, pmNode node)
{
	struct mtl_pm_kept *kept = &mtl_pm.kept;

	if (table_get(&mtl_pm.peers, node))
		return false;
	memcpy(kept->row, row, n * sizeof(*row));
	kept->n = n;
	kept->node = node;
	kept->is_full = true;
	return true;
}

static size_t keep_death(pmNode node)
{
	struct mtl_pm_kept *kept = &mtl_pm.kept;

	snprintf(kept->why, sizeof(kept->why), "%s", pmLastError());
	kept->is_dead = true;
	kept->node = node;
	kept->is_full = true;
	return 0;
}

/*
 * The program is here again: does what the progress thread could not. Its datagrams are still held.
 */
static int take_kept(void)
{
	struct mtl_pm_kept kept = mtl_pm.kept;

	mtl_pm.kept = (struct mtl_pm_kept){0};
	if (kept.failed)
		mtl_pm_show_failure(kept.failed_node, kept.failed, kept.error);
	if (kept.n)
		arrive_row(kept.row, kept.n, kept.node);
	if (kept.is_dead)
		mtl_pm_peer_died(kept.node, kept.why);
	return 1;
}

/* Takes a datagram and what has come behind it from the same node; how many, or 0. */
static size_t take_row(void)
{
	struct iovec row[MTL_PM_ROW];
	size_t n;
	pmNode node;
	int rc;

	/*
	 * Given back at the next look, not before the program has its message: that is what waits.
	 */
	mtl_pm_release_held();
	rc = pmReceiveRow(mtl_pm.ctx, row, MTL_PM_ROW, &n, &node, &mtl_pm.held);
	if (OPAL_LIKELY(!rc)) {
		if (OPAL_UNLIKELY(mtl_pm.is_helping) && keep_of_stranger(row, n, node))
			return 0;
		arrive_row(row, n, node);
		return n;
	}
	if (rc == ENOBUFS)
		return 0;
	if (rc != EPIPE)
		mtl_pm_fatal("PM failed while receiving: %s", pmLastError());
	if (mtl_pm.is_helping)
		return keep_death(node);
	mtl_pm_peer_died(node, pmLastError());
	return 1;
}

static int retry_busy(void)
{
	struct mtl_pm_peer *peer, *next;
	int n = 0;

	for (peer = TAILQ_FIRST(&mtl_pm.busy); peer; peer = next) {
		next = TAILQ_NEXT(peer, busy);
		n += mtl_pm_push_gathered(peer) + mtl_pm_push_notes(peer) + mtl_pm_push_sends(peer);
		if (STAILQ_EMPTY(&peer->notes) && TAILQ_EMPTY(&peer->sends) &&
		    TAILQ_EMPTY(&peer->streams) && STAILQ_EMPTY(&peer->gathered)) {
			TAILQ_REMOVE(&mtl_pm.busy, peer, busy);
			peer->is_busy = false;
		}
	}
	return n;
}

int mtl_pm_poll(void)
{
	int n = 0, got;

	mtl_pm_let_go();
	mtl_pm.deaf_bytes = 0;
	if (OPAL_UNLIKELY(mtl_pm.kept.is_full))
		n += take_kept();
	while (n < RECEIVE_BURST && !mtl_pm.kept.is_full && (got = (int)take_row())) {
		n += got;
		/* the client's turn, before another look that may find nothing */
		if (OPAL_UNLIKELY(mtl_pm.is_client_due) && !mtl_pm.is_helping)
			break;
	}
	if (OPAL_UNLIKELY(mtl_pm_has_unfinished()))
		n += retry_busy() + mtl_pm_progress_reads();
	if (OPAL_UNLIKELY(mtl_pm.has_client_work))
		n += mtl_pm.client->poll();
	return n;
}

void mtl_pm_poll_in_burst(void)
{
	struct mtl_pm_peer *peer = mtl_pm_pause_burst();

	mtl_pm_poll();
	mtl_pm_resume_burst(peer);
}

void mtl_pm_linger(const ompi_request_t *until)
{
	mtl_pm_let_go();
	for (int i = 0; i < LINGER_POLLS; i++) {
		if (!take_row() && OPAL_LIKELY(!mtl_pm_has_unfinished())) {
			if (OPAL_UNLIKELY(i == ORDER_POLL && mtl_pm_order_is_due()))
				break;
			continue;
		}
		if (OPAL_UNLIKELY(mtl_pm_has_unfinished()))
			mtl_pm_poll();
		if (OPAL_UNLIKELY(mtl_pm.is_client_due))
			break;
		if (STAILQ_EMPTY(&mtl_pm.done))
			continue;
		mtl_pm_leave();
		if (REQUEST_COMPLETE(until))
			return;
		/*
		 * a callback may have started something for the progress thread: the lock is needed
		 * then
		 */
		mtl_pm_enter();
		if (OPAL_UNLIKELY(mtl_pm.has_lock))
			break;
	}
	mtl_pm_leave();
}
