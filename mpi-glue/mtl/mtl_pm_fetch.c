// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_fetch - the receiving side of long messages, once the receive is known. Memory in one
 * piece on both sides: one pmRead straight into it. Else: the sender streams, we unpack as it
 * comes, or we read in pieces (mtl_pm_stage).
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_parts.h"
#include "mpi-glue/mtl/mtl_pm_stage.h"

#include <errno.h>

/*
 * Messages of bursts in a row that may be fetched alone: the first of a burst to many receives is
 * alone too.
 */
#define ALONE_MOST 8

/* The rest has come, or never will: tells the sender. */
static void end(struct mtl_pm_receive *r, int error)
{
	mtl_pm_note_control(r->peer, ENVELOPE_FIN, r->remote, error);
	mtl_pm_receive_rest_done(r, error);
}

static void wait_for_room(struct mtl_pm_receive *r)
{
	struct mtl_pm_peer *peer = r->peer;

	if (TAILQ_EMPTY(&peer->waiting))
		TAILQ_INSERT_TAIL(&mtl_pm.waiters, peer, waiter);
	TAILQ_INSERT_TAIL(&peer->waiting, r, link);
	r->is_waiting = true;
}

static void stop_waiting(struct mtl_pm_receive *r)
{
	struct mtl_pm_peer *peer = r->peer;

	if (!r->is_waiting)
		return;
	r->is_waiting = false;
	TAILQ_REMOVE(&peer->waiting, r, link);
	if (TAILQ_EMPTY(&peer->waiting))
		TAILQ_REMOVE(&mtl_pm.waiters, peer, waiter);
}

/* 0: the read runs, or has failed and the receive is ended. ENOBUFS: not now, nothing changed. */
static int start_read(struct mtl_pm_receive *r)
{
	struct mtl_pm_peer *peer = r->peer;
	int rc;

	/*
	 * for each peer: one that computes serves none, and must not keep those of others from
	 * running
	 */
	if (peer->n_reads >= (size_t)mtl_pm.read_limit)
		return ENOBUFS;
	rc = pmRead(mtl_pm.ctx, peer->node, &r->handle, r->read_from, r->data + r->read_from,
		    r->wanted - r->read_from, &r->read);
	if (rc == ENOBUFS)
		return rc;
	stop_waiting(r);
	if (rc) {
		end(r, rc);
		return 0;
	}
	/* from the memory of a process of this host mostly at once */
	if (peer->ways && (rc = pmIsReadDone(mtl_pm.ctx, r->read)) != ENOBUFS) {
		end(r, rc);
		return 0;
	}
	peer->n_reads++;
	if (TAILQ_EMPTY(&peer->reads))
		TAILQ_INSERT_TAIL(&mtl_pm.readers, peer, reader);
	TAILQ_INSERT_TAIL(&peer->reads, r, link);
	return 0;
}

static void pull(struct mtl_pm_receive *r)
{
	struct envelope_pull m = {.base = {.kind = ENVELOPE_PULL, .id = r->remote},
				  .wanted = r->wanted};

	/* nobody would hear the word, and its numbered operations were ended when it died */
	if (r->peer->is_dead) {
		end(r, EPIPE);
		return;
	}
	r->is_pulled = true;
	r->id = ids_add(&mtl_pm.ids, mtl_pm_request_of_receive(r));
	if (!r->id) {
		end(r, ENOMEM);
		return;
	}
	m.reply = r->id;
	mtl_pm_note(r->peer, &m, sizeof(m));
}

static bool is_readable(const pmHandle *h)
{
	return h->word[0] || h->word[1] || h->word[2] || h->word[3];
}

/*
 * A program that receives the messages of a burst one after the other waits for the answer to each
 * read. So the data are asked for in place of read, and the sender announces no more for a while:
 * data that come unasked are here when they are received. Called for each message that is
 * announced.
 */
static bool is_one_by_one(struct mtl_pm_peer *peer, size_t size)
{
	/*
	 * Shorter ones are announced only if they are synchronous, which is not seen here; longer
	 * ones always.
	 */
	if (!peer->burst_limit || size <= peer->burst_limit || (ssize_t)size > peer->middle_limit)
		return false;
	if (mtl_pm.n_fetches)
		peer->n_alone = 0;
	else if (peer->n_alone < ALONE_MOST)
		peer->n_alone++;
	return peer->n_alone == ALONE_MOST;
}

void mtl_pm_fetch(struct mtl_pm_receive *r, struct mtl_pm_peer *peer, uint64_t remote,
		  const pmHandle *handle, size_t head, size_t size, uint32_t stamp)
{
	bool is_exact = is_readable(handle) || head == size || !head;
	bool is_asked_for = is_one_by_one(peer, size) || !is_readable(handle);

	r->peer = peer;
	r->remote = remote;
	r->read_from = head;
	r->has_rest_due = true;
	mtl_pm.n_fetches++;
	if (r->wanted + (is_exact ? 0 : ENVELOPE_SLACK) <= head) {
		end(r, 0);
		return;
	}
	if (peer->is_dead) {
		end(r, EPIPE);
		return;
	}
	r->handle = *handle;
	if (!is_asked_for && !r->data && mtl_pm_stage_begin(r))
		return;
	if (is_asked_for || !mtl_pm_way_is_read(r, peer, size, stamp)) {
		pull(r);
		return;
	}
	/* First come, first served: nobody overtakes those of the same peer that wait for room. */
	r->is_waiting = false;
	if (!TAILQ_EMPTY(&peer->waiting) || start_read(r))
		wait_for_room(r);
}

void mtl_pm_on_data(const struct envelope_control *m, const void *data, size_t length,
		    const struct mtl_pm_peer *peer)
{
	struct mtl_pm_request *req = ids_get(&mtl_pm.ids, m->id);
	struct mtl_pm_receive *r;

	if (!req || !req->is_receive || req->receive.peer != peer ||
	    length > req->receive.wanted - req->receive.got) {
		mtl_pm.damaged++;
		return;
	}
	r = &req->receive;
	mtl_pm_unpack(r, data, length);
	if (r->got == r->wanted)
		mtl_pm_receive_rest_done(r, 0);
}

/*
 * Ends the reads from one peer that are done. They end in order, or are noticed late: one look a
 * round. The words that several are over share packets.
 */
static int end_reads_of(struct mtl_pm_peer *peer)
{
	struct mtl_pm_receive *r;
	bool is_row = false;
	int n = 0, rc;

	while ((r = TAILQ_FIRST(&peer->reads)) &&
	       (rc = pmIsReadDone(mtl_pm.ctx, r->read)) != ENOBUFS) {
		TAILQ_REMOVE(&peer->reads, r, link);
		peer->n_reads--;
		if (!n++)
			is_row = mtl_pm_begin_row(peer);
		end(r, rc);
	}
	mtl_pm_end_row(is_row);
	if (!r)
		TAILQ_REMOVE(&mtl_pm.readers, peer, reader);
	return n;
}

static int start_reads_of(struct mtl_pm_peer *peer)
{
	struct mtl_pm_receive *r;
	int n = 0;

	while ((r = TAILQ_FIRST(&peer->waiting)) && !start_read(r))
		n++;
	return n;
}

int mtl_pm_progress_reads(void)
{
	struct mtl_pm_peer *peer, *next;
	struct mtl_pm_receive *staged;
	int n = 0, error;

	n += mtl_pm_progress_stage(&staged, &error);
	if (staged)
		end(staged, error);
	for (peer = TAILQ_FIRST(&mtl_pm.readers); peer; peer = next) {
		next = TAILQ_NEXT(peer, reader);
		n += end_reads_of(peer);
	}
	for (peer = TAILQ_FIRST(&mtl_pm.waiters); peer; peer = next) {
		next = TAILQ_NEXT(peer, waiter);
		n += start_reads_of(peer);
	}
	return n;
}
