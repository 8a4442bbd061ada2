// SPDX-License-Identifier: BSD-3-Clause
/*
 * serve - the answering side of one-sided operations: jobs on our exported memory, per peer in
 * turns. The region is looked up again for every chunk.
 */
#include <errno.h>
#include <stdlib.h>

#include "pm-shmem/board.h"
#include "pm-shmem/bulk.h"
#include "pm-shmem/cma.h"
#include "pm-shmem/liveness.h"
#include "pmcore/util/copy.h"
#include "pmcore/util/region.h"

static struct pms_job **place_of(struct pms_bulk *bulk, uint32_t op)
{
	return &bulk->jobs[op % PMS_OPS];
}

static void push_job(struct pms_bulk *bulk, struct pms_job *job)
{
	job->next = NULL;
	*bulk->ready_jobs_tail = job;
	bulk->ready_jobs_tail = &job->next;
}

/* The job whose turn it was leaves the list. */
static void pop_job(struct pms_bulk *bulk)
{
	bulk->ready_jobs = bulk->ready_jobs->next;
	if (!bulk->ready_jobs)
		bulk->ready_jobs_tail = &bulk->ready_jobs;
}

/* Frees a job that is in the list no more. */
static void remove_job(struct pms_link *link, struct pms_bulk *bulk, struct pms_job *job)
{
	*place_of(bulk, job->ask.op) = NULL;
	bulk->n_jobs--;
	link->n_bulk--;
	free(job);
}

/* The job goes on from a state that the peer's data does not move. */
static void advance(struct pms_bulk *bulk, struct pms_job *job, enum pms_job_state state)
{
	if (job->state == PMS_JOB_RECEIVE)
		push_job(bulk, job);
	job->state = state;
}

static void refuse(struct pms_bulk *bulk, struct pms_job *job, int error)
{
	advance(bulk, job, PMS_JOB_REFUSE);
	job->error = error;
}

/* How the job goes on without copies across address spaces. */
static void use_ring(struct pms_link *link, struct pm_link_peer *peer, struct pms_job *job)
{
	job->moved = 0;
	job->state = !job->ask.len ? PMS_JOB_DONE : job->is_write ? PMS_JOB_GRANT : PMS_JOB_DATA;
	if (job->state == PMS_JOB_DATA)
		pms_bulk_fill(link, peer);
}

/* The next @len bytes of our memory that the job is about. */
static int find_memory(struct pms_link *link, const struct pms_job *job, uint64_t len,
		       void **ret_addr)
{
	uint64_t offset = job->ask.roffset + job->moved;

	if (job->is_write)
		return region_find_writable(link->env.regions, job->ask.rkey, offset, len,
					    ret_addr);
	return region_find(link->env.regions, job->ask.rkey, offset, len, ret_addr);
}

int pms_serve_request(struct pms_link *link, struct pm_link_peer *peer,
		      const struct pms_message *message)
{
	struct pms_bulk *bulk;
	struct pms_job *job;
	void *addr;

	if (pms_bulk_get(link, peer, &bulk))
		return -ENOMEM;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	memcpy(&job->ask, message->data, sizeof(job->ask));
	if (*place_of(bulk, job->ask.op)) {
		free(job);
		return -EINVAL;
	}
	*place_of(bulk, job->ask.op) = job;
	bulk->n_jobs++;
	link->n_bulk++;
	job->is_write = message->kind == PMS_KIND_WRITE;
	if (find_memory(link, job, job->ask.len, &addr))
		refuse(bulk, job, -EACCES);
	else if (job->ask.lease < PMS_LEASES && bulk->is_cma_possible)
		job->state = PMS_JOB_CMA;
	else
		use_ring(link, peer, job);
	push_job(bulk, job);
	/* at once: the answer need not wait for the next empty poll */
	if (bulk->ready_jobs == job)
		pms_serve_step(link, peer);
	return 0;
}

/* ---- steps ---- */

static bool send_answer(struct pms_bulk *bulk, const struct pms_job *job, uint32_t kind)
{
	const struct pms_chunk chunk = {.op = job->ask.op, .kind = kind, .error = job->error};

	if (!pms_chunk_has_room(&bulk->tx))
		return false;
	pms_chunk_put(&bulk->tx, &chunk);
	return true;
}

static bool send_data(struct pms_link *link, struct pms_bulk *bulk, struct pms_job *job)
{
	struct pms_chunk chunk = {.op = job->ask.op, .kind = PMS_CHUNK_DATA, .offset = job->moved};
	void *from;

	if (!pms_chunk_has_room(&bulk->tx))
		return false;
	chunk.len = pms_bulk_step(bulk, job->ask.len, job->ask.len - job->moved);
	if (find_memory(link, job, chunk.len, &from)) {
		refuse(bulk, job, -EACCES);
		return true;
	}
	copy_bytes(pms_chunk_data(&bulk->tx), from, chunk.len);
	pms_chunk_put(&bulk->tx, &chunk);
	job->moved += chunk.len;
	return true;
}

/* Copies one piece; 0, or -errno with nothing certain about the memory copied to. */
static int copy_piece(struct pms_link *link, struct pm_link_peer *peer, struct pms_job *job)
{
	uint64_t left = job->ask.len - job->moved;
	size_t len = left < PMS_CMA_PIECE ? (size_t)left : PMS_CMA_PIECE;
	uint32_t pid = link->seg.slots[peer->index].pid;
	uint64_t local = job->ask.local + job->moved;
	void *ours;
	int err = find_memory(link, job, len, &ours);

	/* the pid of a process that has ended may be another's now */
	if (!err && !pms_slot_is_held(link->seg.dir.file, peer->index))
		err = -EPIPE;
	if (!err)
		err = job->is_write ? pms_cma_read(pid, local, ours, len)
				    : pms_cma_write(pid, local, ours, len);
	if (!err)
		job->moved += len;
	return err;
}

/* One piece across address spaces, while we hold the initiator's lease. */
static bool step_cma(struct pms_link *link, struct pm_link_peer *peer, struct pms_job *job)
{
	_Atomic uint64_t *lease = &peer->bulk->rx.head->leases[job->ask.lease];
	uint64_t given = (uint64_t)job->ask.op << 8 | PMS_LEASE_GIVEN, held = given;
	int err;

	/* taken back: a CANCEL is on its way */
	if (!atomic_compare_exchange_strong(lease, &held,
					    given - PMS_LEASE_GIVEN + PMS_LEASE_IN_USE))
		return false;
	err = copy_piece(link, peer, job);
	atomic_store_explicit(lease, given, memory_order_release);
	if (!err && job->moved == job->ask.len) {
		job->state = PMS_JOB_DONE;
	} else if (err == -EPERM || err == -ENOSYS || err == -ESRCH || err == -EACCES) {
		/* forbidden for this pair of processes, now and for ever */
		if (err != -EACCES)
			peer->bulk->is_cma_possible = false;
		use_ring(link, peer, job);
	} else if (err) {
		refuse(peer->bulk, job, err);
	}
	return true;
}

static bool step(struct pms_link *link, struct pm_link_peer *peer, struct pms_job *job)
{
	struct pms_bulk *bulk = peer->bulk;

	switch (job->state) {
	case PMS_JOB_DATA:
		return send_data(link, bulk, job);
	case PMS_JOB_CMA:
		return step_cma(link, peer, job);
	case PMS_JOB_GRANT:
		if (!send_answer(bulk, job, PMS_CHUNK_GRANT))
			return false;
		job->state = PMS_JOB_RECEIVE;
		return true;
	case PMS_JOB_DONE:
		return send_answer(bulk, job, PMS_CHUNK_DONE);
	case PMS_JOB_REFUSE:
		return send_answer(bulk, job, PMS_CHUNK_REFUSE);
	default:
		return false;
	}
}

bool pms_serve_step(struct pms_link *link, struct pm_link_peer *peer)
{
	struct pms_bulk *bulk = peer->bulk;
	struct pms_job *job = bulk->ready_jobs;
	enum pms_job_state state;

	if (!job)
		return false;
	state = job->state;
	if (!step(link, peer, job))
		return false;
	if (state == PMS_JOB_DONE || state == PMS_JOB_REFUSE ||
	    (state == PMS_JOB_DATA && job->state == state && job->moved == job->ask.len)) {
		pop_job(bulk);
		remove_job(link, bulk, job);
	} else if (job->state == PMS_JOB_RECEIVE) {
		pop_job(bulk);
	} else if (job->moved % PMS_TURN == 0) {
		pop_job(bulk);
		push_job(bulk, job);
	}
	pms_wake_peer(link, peer);
	return true;
}

/* ---- chunks ---- */

static struct pms_job *find_job(struct pms_bulk *bulk, uint32_t op)
{
	struct pms_job *job = *place_of(bulk, op);

	return job && job->ask.op == op ? job : NULL;
}

static void receive_data(struct pms_link *link, struct pms_bulk *bulk, struct pms_job *job,
			 const struct pms_chunk *chunk, const uint8_t *data)
{
	void *to;

	/* behind a refusal data may still come in */
	if (job->state != PMS_JOB_RECEIVE)
		return;
	if (!job->is_write || chunk->offset != job->moved ||
	    chunk->len > job->ask.len - job->moved || find_memory(link, job, chunk->len, &to)) {
		refuse(bulk, job, -EACCES);
		return;
	}
	copy_bytes(to, data, chunk->len);
	job->moved += chunk->len;
	if (job->moved == job->ask.len)
		advance(bulk, job, PMS_JOB_DONE);
}

bool pms_serve_chunk(struct pms_link *link, struct pm_link_peer *peer,
		     const struct pms_chunk *chunk, const uint8_t *data)
{
	struct pms_bulk *bulk = peer->bulk;
	struct pms_job *job = find_job(bulk, chunk->op);

	if (chunk->kind == PMS_CHUNK_PUT) {
		if (job)
			receive_data(link, bulk, job, chunk, data);
		return true;
	}
	if (job) {
		refuse(bulk, job, -ECANCELED);
		return true;
	}
	/* it may be in the message ring still; if not, its end has been told already */
	return !peer->is_inbound || !pms_ring_poll(&peer->rx);
}

/* ---- the end ---- */

void pms_serve_abort(struct pms_link *link, struct pm_link_peer *peer)
{
	struct pms_bulk *bulk = peer->bulk;

	bulk->ready_jobs = NULL;
	bulk->ready_jobs_tail = &bulk->ready_jobs;
	for (uint32_t i = 0; i < PMS_OPS; i++)
		if (bulk->jobs[i])
			remove_job(link, bulk, bulk->jobs[i]);
}

static struct pms_board *own_board(struct pms_link *link)
{
	return &link->seg.boards[link->seg.index];
}

void pms_exported(struct pm_link *base, uint64_t rkey, void *addr, uint64_t len)
{
	pms_board_add(own_board(pms_of(base)), rkey, addr, len);
}

void pms_unexport(struct pm_link *base, uint64_t rkey, void *addr, uint64_t len)
{
	struct pms_link *link = pms_of(base);

	pms_board_remove(own_board(link), rkey);
	/*
	 * nothing runs beside this thread; jobs that would look the region up again must not find
	 * it
	 */
	for (uint32_t i = 0; i < link->n_bulk_peers; i++) {
		struct pms_bulk *bulk = link->bulk_peers[i]->bulk;

		for (uint32_t op = 0; op < PMS_OPS && bulk->n_jobs; op++) {
			struct pms_job *job = bulk->jobs[op];

			if (job && job->ask.rkey == rkey && job->state != PMS_JOB_DONE)
				refuse(bulk, job, -EACCES);
		}
	}
}
