/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_burst - bursts of MPI_Isend to one peer: PM may hold their messages until the next poll, so that
 * they share packets and system calls.
 *
 *   quiet --isend--> burst --isend to the same peer--> corked --anything else--> quiet
 *
 * The first message since the last poll goes at once: who sends one to each neighbour and then computes
 * delays nothing. The requests of all others stay incomplete until their messages have left PM, so that
 * whoever waits for them polls: no program is past its MPI_Wait while PM still holds a message of a burst.
 */
#include "mpi-glue/mtl/mtl_pm.h"

/* Longer messages fill a system call alone. */
#define BURST_LENGTH 32768

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

void mtl_pm_join_burst(struct mtl_pm_peer *peer, size_t length, mca_pml_base_send_mode_t mode)
{
	if (!goes_on(peer, length, mode)) {
		mtl_pm_let_go();
		mtl_pm.burst = peer->gathers ? peer : NULL;
	} else if (!mtl_pm.is_corked) {
		mtl_pm.is_corked = true;
		pmCork(mtl_pm.ctx, 1);
	}
}

void mtl_pm_end_burst(void)
{
	struct mtl_pm_peer *peer = mtl_pm.burst;

	mtl_pm.burst = NULL;
	if (!mtl_pm.is_corked)
		return;
	mtl_pm.is_corked = false;
	pmCork(mtl_pm.ctx, 0);
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
