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
 *
 * Where a stream leads to the peer, messages of some KiB in a burst of many bytes are announced: the stream brings them
 * one after the other by a few system calls, and copies them once at each side. Announcements share packets.
 */
#include "mpi-glue/mtl/mtl_pm.h"

/* Longer messages fill system calls alone. */
#define BURST_LENGTH 131072

/* Bytes of a burst from which on its messages are announced: with fewer, the wait for their requests takes longer. */
#define ANNOUNCE_BYTES (256 << 10)
/* A receiver connects when it has something to read. So one in so many bursts is announced to one that has not. */
#define TRY_BURSTS 64

/*
 * A burst that takes longer, by so much for each message and one ns for each byte, is followed by work of the program. Where
 * memory is slow, copies and system calls take 0.4 ns for a byte.
 */
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

/* In a burst, it is announced. */
static bool is_read(const struct mtl_pm_peer *peer, size_t length)
{
	return peer->burst_limit && length > peer->burst_limit;
}

/* Messages that complete by an answer, and those of MPI_Bsend that nobody waits for, are not held. */
static bool goes_on(const struct mtl_pm_peer *peer, size_t length, mca_pml_base_send_mode_t mode)
{
	return peer == mtl_pm.burst && (is_short(peer, length) || is_read(peer, length)) &&
	       (mode == MCA_PML_BASE_SEND_STANDARD || mode == MCA_PML_BASE_SEND_READY) &&
	       TAILQ_EMPTY(&peer->sends);
}

static void begin_holding(void)
{
	mtl_pm.is_corked = true;
	mtl_pm.n_held = 0;
	mtl_pm.held_bytes = 0;
	mtl_pm.held_ns = mtl_pm_now_ns();
	pmCork(mtl_pm.ctx, 1);
}

/* May messages of this burst be announced? Decided once, at the first one. */
static bool announces(struct mtl_pm_peer *peer)
{
	if (peer->burst_bytes < ANNOUNCE_BYTES && mtl_pm.burst_bytes < ANNOUNCE_BYTES)
		return false;
	if (mtl_pm.announces == MTL_PM_UNDECIDED)
		mtl_pm.announces = !pmIsStreamOpen(mtl_pm.ctx, peer->node) ||
						   peer->unread_bursts++ % TRY_BURSTS == 0
					   ? MTL_PM_YES
					   : MTL_PM_NO;
	return mtl_pm.announces == MTL_PM_YES;
}

bool mtl_pm_join_burst(struct mtl_pm_peer *peer, size_t length, mca_pml_base_send_mode_t mode)
{
	bool is_announced;

	if (!goes_on(peer, length, mode)) {
		mtl_pm_let_go();
		mtl_pm.burst = peer->gathers ? peer : NULL;
		mtl_pm.burst_bytes = length;
		mtl_pm.announces = MTL_PM_UNDECIDED;
		if (peer->unheld == LAST_UNHELD)
			peer->unheld = 0;
		return false;
	}
	mtl_pm.burst_bytes += length;
	if (OPAL_UNLIKELY(peer->unheld)) {
		if (peer->unheld > LAST_UNHELD)
			peer->unheld--;
		return false;
	}
	is_announced = is_read(peer, length) && announces(peer);
	if (!mtl_pm.is_corked)
		begin_holding();
	mtl_pm.n_held++;
	mtl_pm.held_bytes += is_announced ? 0 : length;
	return is_announced;
}

/* What the calls of a burst may take by themselves, ns. */
static uint64_t own_time(void)
{
	return BURST_NS + mtl_pm.n_held * MESSAGE_NS + mtl_pm.held_bytes;
}

/* Bursts of one kind follow each other, and now and then there is another one among them. */
static void remember(struct mtl_pm_peer *peer)
{
	if (mtl_pm.burst_bytes > peer->burst_bytes)
		peer->burst_bytes = mtl_pm.burst_bytes;
	else
		peer->burst_bytes -= (peer->burst_bytes - mtl_pm.burst_bytes) / 4;
}

void mtl_pm_end_burst(void)
{
	struct mtl_pm_peer *peer = mtl_pm.burst;

	mtl_pm.burst = NULL;
	remember(peer);
	if (!mtl_pm.is_corked)
		return;
	mtl_pm.is_corked = false;
	pmCork(mtl_pm.ctx, 0);
	if (OPAL_UNLIKELY(mtl_pm_now_ns() - mtl_pm.held_ns > own_time()))
		peer->unheld = UNHELD;
	if (!mtl_pm_push_gathered(peer) && !STAILQ_EMPTY(&peer->gathered))
		mtl_pm_peer_busy(peer);
}

void mtl_pm_poll_in_burst(void)
{
	struct mtl_pm_peer *peer = mtl_pm.burst;

	mtl_pm_poll();
	mtl_pm.burst = peer;
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
