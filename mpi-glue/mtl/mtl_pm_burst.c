/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_burst - bursts of MPI_Isend to one peer: PM may hold their messages until the next poll, so that
 * they share packets and system calls.
 *
 *   quiet --isend--> burst --isend to the same peer--> corked --anything else--> quiet
 *
 * The first message since the last poll goes at once: who sends one to each neighbour and then computes
 * delays nothing. A program that sends several to one and then computes is found by the time until its next
 * poll: for a while nothing of it is held. The requests of all others stay incomplete until their messages
 * have left PM, so that whoever waits for them polls: no program is past its MPI_Wait while PM still holds a
 * message of a burst.
 */
#include "mpi-glue/mtl/mtl_pm.h"

/* Longer messages fill a system call alone. */
#define BURST_LENGTH 32768

/* A burst that takes longer, by so much for each message, is followed by work of the program. */
#define BURST_NS 50000
#define MESSAGE_NS 4000
/*
 * Then so many messages to that peer are not held, and the rest of the burst in which their number runs out: in a
 * burst of both kinds, the wait for one that went at once would leave the held ones behind.
 */
#define UNHELD 512
#define LAST_UNHELD 1

static bool is_short(const struct mtl_pm_peer *peer, size_t length)
{
	return (ssize_t)length <= peer->eager_limit ||
	       (length <= BURST_LENGTH && (ssize_t)length <= peer->middle_limit);
}

/* Messages that complete by an answer, and those of MPI_Bsend that nobody waits for, are not held. */
static bool goes_on(const struct mtl_pm_peer *peer, size_t length, mca_pml_base_send_mode_t mode)
{
	return peer == mtl_pm.burst && is_short(peer, length) &&
	       (mode == MCA_PML_BASE_SEND_STANDARD || mode == MCA_PML_BASE_SEND_READY) &&
	       TAILQ_EMPTY(&peer->sends);
}

static void begin_holding(void)
{
	mtl_pm.is_corked = true;
	mtl_pm.n_held = 0;
	mtl_pm.held_ns = mtl_pm_now_ns();
	pmCork(mtl_pm.ctx, 1);
}

void mtl_pm_join_burst(struct mtl_pm_peer *peer, size_t length, mca_pml_base_send_mode_t mode)
{
	if (!goes_on(peer, length, mode)) {
		mtl_pm_let_go();
		mtl_pm.burst = peer->gathers ? peer : NULL;
		if (peer->unheld == LAST_UNHELD)
			peer->unheld = 0;
		return;
	}
	if (OPAL_UNLIKELY(peer->unheld)) {
		if (peer->unheld > LAST_UNHELD)
			peer->unheld--;
		return;
	}
	if (!mtl_pm.is_corked)
		begin_holding();
	mtl_pm.n_held++;
}

void mtl_pm_end_burst(void)
{
	struct mtl_pm_peer *peer = mtl_pm.burst;

	mtl_pm.burst = NULL;
	if (!mtl_pm.is_corked)
		return;
	mtl_pm.is_corked = false;
	pmCork(mtl_pm.ctx, 0);
	if (OPAL_UNLIKELY(mtl_pm_now_ns() - mtl_pm.held_ns > BURST_NS + mtl_pm.n_held * MESSAGE_NS))
		peer->unheld = UNHELD;
	if (!mtl_pm_push_gathered(peer) && !STAILQ_EMPTY(&peer->gathered))
		mtl_pm_peer_busy(peer);
}

int mtl_pm_push_gathered(struct mtl_pm_peer *peer)
{
	if (STAILQ_EMPTY(&peer->gathered) || pmIsSendOut(mtl_pm.ctx, peer->node))
		return 0;
	STAILQ_CONCAT(&mtl_pm.done, &peer->gathered);
	return 1;
}

void mtl_pm_drop_gathered(struct mtl_pm_peer *peer)
{
	struct mtl_pm_request *req;

	STAILQ_FOREACH(req, &peer->gathered, done)
	req->super.ompi_req->req_status.MPI_ERROR = MPI_ERR_OTHER;
	STAILQ_CONCAT(&mtl_pm.done, &peer->gathered);
}
