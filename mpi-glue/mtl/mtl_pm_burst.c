// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_burst - bursts of MPI_Isend to one peer: PM may hold their messages until the next poll,
 * so that they share packets and system calls.
 *
 *   quiet --isend--> burst --isend to the same peer--> corked --anything else--> quiet
 *
 * The first message since the program's last poll goes at once: who sends one to each neighbour and
 * then computes delays nothing. A program that sends several to one and then computes is found by
 * the time until its next poll: for a while nothing of it is held. The requests of all others stay
 * incomplete until their messages have left PM, so that whoever waits for them polls: no program is
 * past its MPI_Wait while PM still holds a message of a burst.
 *
 * Where a stream leads to the peer, messages of some KiB in a burst of many bytes are announced.
 * The stream brings them one after the other by a few system calls, and copies them once at each
 * side. Announcements share packets.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_context.h"
#include "pmcore/util/clock.h"

/* Longer messages fill system calls alone, and their announcements are not held. */
#define BURST_LENGTH 131072

/*
 * Bytes of a burst from which on its messages are announced: with fewer, the wait for their
 * requests takes longer.
 */
#define ANNOUNCE_BYTES (256 << 10)
/*
 * A receiver connects when it has something to read. So one in so many bursts is announced to one
 * that has not.
 */
#define TRY_BURSTS 64

/*
 * A burst that takes longer, by so much for each message and one ns for each byte, is followed by
 * work of the program. Where memory is slow, copies and system calls take 0.4 ns for a byte.
 */
#define BURST_NS 50000
#define MESSAGE_NS 4000
#define LATE_MOST 2 /* in a row: once may be chance, as somebody else had the core */
/*
 * Then so many messages to that peer are not held, and neither is the rest of the burst in which
 * their number runs out. In a burst of both kinds, the wait for one that went at once would leave
 * the held ones behind.
 */
#define UNHELD 512
#define LAST_UNHELD 1
/*
 * A receiver that does not read what is announced asks for it: so many messages to it are not
 * announced then, and the most if it does not read the next ones either.
 */
#define UNANNOUNCED 512
#define UNANNOUNCED_MOST 2048

static bool is_short(const struct mtl_pm_peer *peer, size_t length)
{
	return (ssize_t)length <= peer->eager_limit ||
	       (length <= BURST_LENGTH && (ssize_t)length <= peer->middle_limit);
}

/*
 * Messages that complete by an answer, and those of MPI_Bsend that nobody waits for, are not held.
 */
static bool goes_on(const struct mtl_pm_peer *peer, mca_pml_base_send_mode_t mode)
{
	return peer == mtl_pm.burst &&
	       (mode == MCA_PML_BASE_SEND_STANDARD || mode == MCA_PML_BASE_SEND_READY) &&
	       TAILQ_EMPTY(&peer->sends);
}

static void begin(struct mtl_pm_peer *peer, size_t length)
{
	mtl_pm.burst = peer->gathers ? peer : NULL;
	mtl_pm.burst_bytes = length;
	mtl_pm.n_burst = 1;
	mtl_pm.has_held = false;
	mtl_pm.announces = MTL_PM_UNDECIDED;
	if (peer->unheld == LAST_UNHELD)
		peer->unheld = 0;
}

/* From here on the calls of the burst are timed. */
static void start_clock(void)
{
	mtl_pm.has_held = true;
	mtl_pm.n_held = 0;
	mtl_pm.held_bytes = 0;
	mtl_pm.held_ns = clock_monotonic_ns();
}

static void hold(size_t bytes)
{
	if (!mtl_pm.has_held)
		start_clock();
	if (!mtl_pm.is_corked)
		pmCork(mtl_pm.ctx, 1);
	mtl_pm.is_corked = true;
	mtl_pm.n_held++;
	mtl_pm.held_bytes += bytes;
}

static void release(struct mtl_pm_peer *peer)
{
	if (!mtl_pm.is_corked)
		return;
	mtl_pm.is_corked = false;
	pmCork(mtl_pm.ctx, 0);
	if (!mtl_pm_push_gathered(peer) && !STAILQ_EMPTY(&peer->gathered))
		mtl_pm_peer_busy(peer);
}

/* Has the peer a stream, or shall it be given a reason to open one? */
static bool is_stream_likely(struct mtl_pm_peer *peer)
{
	if (!pmIsStreamOpen(mtl_pm.ctx, peer->node))
		return true;
	return peer->unread_bursts++ % TRY_BURSTS == 0;
}

/* Is such a message of this burst to be announced, so that it is read? */
static bool is_to_announce(struct mtl_pm_peer *peer, size_t length, bool is_in_one_piece)
{
	if (!peer->burst_limit || length <= peer->burst_limit || !is_in_one_piece)
		return false;
	if (peer->burst_bytes < ANNOUNCE_BYTES && mtl_pm.burst_bytes < ANNOUNCE_BYTES)
		return false;
	if (peer->unannounced) {
		peer->unannounced--;
		return false;
	}
	if (mtl_pm.announces == MTL_PM_UNDECIDED)
		mtl_pm.announces = is_stream_likely(peer) ? MTL_PM_YES : MTL_PM_NO;
	return mtl_pm.announces == MTL_PM_YES;
}

bool mtl_pm_join_burst(struct mtl_pm_peer *peer, size_t length, bool is_in_one_piece,
		       mca_pml_base_send_mode_t mode)
{
	bool is_announced;

	if (!goes_on(peer, mode)) {
		mtl_pm_let_go();
		begin(peer, length);
		return false;
	}
	mtl_pm.burst_bytes += length;
	mtl_pm.n_burst++;
	if (OPAL_UNLIKELY(peer->unheld)) {
		release(peer);
		if (peer->unheld > LAST_UNHELD)
			peer->unheld--;
		return false;
	}
	is_announced = is_to_announce(peer, length, is_in_one_piece);
	if (is_announced ? length <= BURST_LENGTH : is_short(peer, length))
		hold(is_announced ? 0 : length);
	else
		release(peer);
	return is_announced;
}

/* Longest time of the calls of the burst by themselves, ns. */
static uint64_t own_time(void)
{
	return BURST_NS + mtl_pm.n_held * MESSAGE_NS + mtl_pm.held_bytes;
}

/*
 * A program that works between its sends, or between them and its wait, has nothing held for a
 * while.
 */
static void judge(struct mtl_pm_peer *peer)
{
	if (!mtl_pm.has_held)
		return;
	peer->n_late = clock_monotonic_ns() - mtl_pm.held_ns > own_time() ? peer->n_late + 1 : 0;
	if (OPAL_UNLIKELY(peer->n_late >= LATE_MOST))
		peer->unheld = UNHELD;
}

/* Bursts of one kind follow each other, and now and then there is another one among them. */
static void remember(struct mtl_pm_peer *peer)
{
	if (mtl_pm.n_burst < 2)
		return;
	if (mtl_pm.burst_bytes > peer->burst_bytes)
		peer->burst_bytes = mtl_pm.burst_bytes;
	else
		peer->burst_bytes -= (peer->burst_bytes - mtl_pm.burst_bytes) / 4;
}

void mtl_pm_end_burst(void)
{
	struct mtl_pm_peer *peer = mtl_pm.burst;

	judge(peer);
	release(peer);
	mtl_pm.burst = NULL;
	mtl_pm.has_held = false;
	remember(peer);
}

void mtl_pm_begin_requests(void)
{
	/* of no peer, so that each send of a message ends it */
	static struct mtl_pm_peer nobody = {.gathered = STAILQ_HEAD_INITIALIZER(nobody.gathered)};

	if (mtl_pm.burst == &nobody && mtl_pm.is_corked)
		return;
	mtl_pm_let_go();
	mtl_pm.burst = &nobody;
	mtl_pm.n_burst = 0;
	mtl_pm.has_held = false;
	mtl_pm.is_corked = true;
	pmCork(mtl_pm.ctx, 1);
}

struct mtl_pm_peer *mtl_pm_pause_burst(void)
{
	struct mtl_pm_peer *peer = mtl_pm.burst;

	if (peer) {
		judge(peer);
		release(peer);
	}
	mtl_pm.burst = NULL;
	return peer;
}

void mtl_pm_resume_burst(struct mtl_pm_peer *peer)
{
	mtl_pm.burst = peer;
	if (mtl_pm.has_held)
		start_clock();
}

void mtl_pm_on_read(struct mtl_pm_peer *peer)
{
	peer->is_unread = false;
	if (peer->unannounced > UNANNOUNCED)
		peer->unannounced = UNANNOUNCED;
}

void mtl_pm_on_unread(struct mtl_pm_peer *peer)
{
	if (peer->unannounced)
		return;
	peer->unannounced = peer->is_unread ? UNANNOUNCED_MOST : UNANNOUNCED;
	peer->is_unread = true;
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
