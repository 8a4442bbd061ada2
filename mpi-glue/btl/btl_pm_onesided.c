// SPDX-License-Identifier: BSD-3-Clause
/*
 * btl_pm_onesided - put, get and atomic operations of ours. Puts and gets whose data fit into a
 * datagram are messages that the other process carries out. Longer ones PM reads or writes, or the
 * other process reads them. PM reads and writes short ones, too, where it needs no process for
 * that. Atomic operations are all PM's.
 */
#include "mpi-glue/btl/btl_pm.h"
#include "mpi-glue/common/job.h"

#include "opal/util/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct btl_pm_operation *take(void)
{
	struct btl_pm_operation *o = STAILQ_FIRST(&btl_pm.free_operations);

	if (o)
		STAILQ_REMOVE_HEAD(&btl_pm.free_operations, link);
	else
		o = malloc(sizeof(*o));
	return o;
}

static void free_all(struct btl_pm_operations *list)
{
	while (!STAILQ_EMPTY(list)) {
		struct btl_pm_operation *o = STAILQ_FIRST(list);

		STAILQ_REMOVE_HEAD(list, link);
		free(o);
	}
}

/* The context is closed, so nothing touches the memory of those that PM carried out. */
void btl_pm_operations_free(void)
{
	while (!TAILQ_EMPTY(&btl_pm.running)) {
		struct btl_pm_operation *o = TAILQ_FIRST(&btl_pm.running);

		TAILQ_REMOVE(&btl_pm.running, o, run);
		free(o);
	}
	free_all(&btl_pm.ended);
	free_all(&btl_pm.free_operations);
	btl_pm_batches_free();
}

static void ended(struct btl_pm_operation *o, int status)
{
	mtl_pm.is_client_due = true;
	if (o->is_exposed) {
		pmMUnlock(mtl_pm.ctx, &o->source);
		o->endpoint->n_exposed--;
	}
	if (o->kind == ACTIVE_PUTS) {
		btl_pm_batch_ended(o->batch, status);
		return;
	}
	o->status = status;
	STAILQ_INSERT_TAIL(&btl_pm.ended, o, link);
}

/* ---- to PM ---- */

static size_t length_in_datagram(const struct btl_pm_operation *o)
{
	if (o->kind == ACTIVE_PUTS)
		return o->batch->used;
	if (o->is_pulled)
		return sizeof(struct active_pull);
	return sizeof(struct active_request) + o->length;
}

static void write_puts(const struct btl_pm_operation *o, void *buf)
{
	const struct btl_pm_batch *b = o->batch;
	struct active_puts *m = buf;

	*m = (struct active_puts){.head = {.kind = ACTIVE_PUTS, .length = b->n}, .id = o->id};
	memcpy(m + 1, b->bytes + sizeof(*m), b->used - sizeof(*m));
}

static void write_request(const struct btl_pm_operation *o, void *buf)
{
	struct active_request *m = buf;

	*m = (struct active_request){
		.head = {.kind = o->kind,
			 .length = o->kind == ACTIVE_GET ? (uint32_t)o->length : 0},
		.id = o->id,
		.region = o->target.region,
		.address = o->remote,
	};
	if (o->kind == ACTIVE_PUT)
		memcpy(m + 1, o->local, o->length);
}

static void write_pull(const struct btl_pm_operation *o, void *buf)
{
	struct active_pull *m = buf;

	m->request = (struct active_request){.head = {.kind = ACTIVE_PULL},
					     .id = o->id,
					     .region = o->target.region,
					     .address = o->remote};
	m->length = o->length;
	memcpy(m->handle, o->source.word, sizeof(m->handle));
}

static int ask(struct btl_pm_operation *o)
{
	size_t length = o->kind == ACTIVE_GET ? sizeof(struct active_request)
					      : length_in_datagram(o);
	void *buf;
	pmDesc desc;
	int rc = pmGetSendBuffer(mtl_pm.ctx, o->endpoint->node, length, &buf, &desc);

	if (rc)
		return rc;
	/* not earlier: nobody can answer what was not sent */
	o->id = ids_add(&btl_pm.operations, o);
	if (!o->id) {
		pmDiscardSendBuffer(mtl_pm.ctx, desc);
		return ENOMEM;
	}
	o->endpoint->n_asked++;
	if (o->kind == ACTIVE_PUTS)
		write_puts(o, buf);
	else if (o->is_pulled)
		write_pull(o, buf);
	else
		write_request(o, buf);
	return pmSend(mtl_pm.ctx, desc);
}

static int start_by_pm(struct btl_pm_operation *o)
{
	const pmHandle *memory = &o->target.memory;
	uint64_t offset = o->remote - o->target.base;
	pmNode node = o->endpoint->node;
	int rc;

	if (o->kind == ACTIVE_PUT)
		rc = pmWrite(mtl_pm.ctx, node, memory, offset, o->local, o->length, &o->desc);
	else if (o->kind == ACTIVE_GET)
		rc = pmRead(mtl_pm.ctx, node, memory, offset, o->local, o->length, &o->desc);
	else
		rc = pmAtomic(mtl_pm.ctx, node, memory, offset, &o->atomic, &o->desc);
	if (rc)
		return rc;
	TAILQ_INSERT_TAIL(&btl_pm.running, o, run);
	mtl_pm.has_client_work = true;
	return 0;
}

/* Without room for another region PM writes. */
static void expose(struct btl_pm_operation *o)
{
	o->is_exposed = !pmMLock(mtl_pm.ctx, o->local, o->length, &o->source);
	o->is_pulled = o->is_exposed;
	o->endpoint->n_exposed += o->is_exposed;
	o->is_by_pm = !o->is_exposed;
}

static int start(struct btl_pm_operation *o)
{
	if (o->endpoint->is_dead)
		return EPIPE;
	if (!o->is_by_pm && o->endpoint->n_asked >= ACTIVE_ASKED_MAX)
		return ENOBUFS;
	if (o->is_pulled && !o->is_exposed && o->endpoint->n_exposed >= ACTIVE_PULLS_MAX)
		return ENOBUFS;
	if (o->is_pulled && !o->is_exposed)
		expose(o);
	return o->is_by_pm ? start_by_pm(o) : ask(o);
}

/* It waits for no answer any more. */
static void forget(struct btl_pm_operation *o)
{
	ids_take(&btl_pm.operations, o->id);
	o->endpoint->n_asked--;
}

/* It fails: its process is not reached. */
static void drop(struct btl_pm_operation *o)
{
	if (o->id)
		forget(o);
	ended(o, OPAL_ERR_UNREACH);
}

/* PM does not take it: EINVAL, the address is in no memory of the handle. */
static void refused(struct btl_pm_operation *o, int rc)
{
	if (rc == EINVAL)
		ended(o, OPAL_ERR_BAD_PARAM);
	else
		drop(o);
}

static void submit(struct btl_pm_operation *o)
{
	struct mca_btl_base_endpoint_t *e = o->endpoint;
	int rc = STAILQ_EMPTY(&e->waiting) ? start(o) : ENOBUFS;

	if (rc == ENOBUFS) {
		STAILQ_INSERT_TAIL(&e->waiting, o, link);
		btl_pm_endpoint_busy(e);
	} else if (rc) {
		refused(o, rc);
	}
}

bool btl_pm_push_operations(struct mca_btl_base_endpoint_t *e)
{
	struct btl_pm_operation *o = btl_pm_batch_close(e);

	if (o)
		submit(o);
	while ((o = STAILQ_FIRST(&e->waiting))) {
		int rc = start(o);

		if (rc == ENOBUFS)
			return false;
		STAILQ_REMOVE_HEAD(&e->waiting, link);
		if (rc)
			refused(o, rc);
	}
	return true;
}

void btl_pm_drop_operations(struct mca_btl_base_endpoint_t *e)
{
	struct btl_pm_operation *puts = btl_pm_batch_close(e);

	if (puts)
		drop(puts);
	while (!STAILQ_EMPTY(&e->waiting)) {
		struct btl_pm_operation *o = STAILQ_FIRST(&e->waiting);

		STAILQ_REMOVE_HEAD(&e->waiting, link);
		drop(o);
	}
	for (uint32_t i = 0; i < btl_pm.operations.size; i++) {
		struct btl_pm_operation *o = btl_pm.operations.slots[i].object;

		if (o && o->endpoint == e)
			drop(o);
	}
}

/* ---- from Open MPI ---- */

/* The value before an atomic operation. */
static void put_value(const struct btl_pm_operation *o, uint64_t old)
{
	uint32_t narrow = (uint32_t)old;

	if (o->local)
		memcpy(o->local, o->length == sizeof(narrow) ? (void *)&narrow : (void *)&old,
		       o->length);
}

/*
 * osc/rdma gives no handle for memory of another process of this host that it has mapped: the
 * address is one of ours then.
 */
static void do_here(const struct btl_pm_operation *o)
{
	void *at = (void *)(uintptr_t)o->remote;
	uint64_t before;

	if (o->kind == ACTIVE_PUT)
		memmove(at, o->local, o->length);
	else if (o->kind == ACTIVE_GET)
		memmove(o->local, at, o->length);
	else if (!pmAtomicHere(&o->atomic, at, &before))
		put_value(o, before);
}

/*
 * True: it waits for the next poll, with others. False: it is to be started. One leaves at once if
 * no other is without an answer: held back, put and flush of 8 bytes took twice as long by raw
 * frames. Those behind it share datagrams, or packets if they are long.
 */
static bool waits_for_others(struct btl_pm_operation *o)
{
	struct mca_btl_base_endpoint_t *e = o->endpoint;

	bool is_first = !btl_pm.operations.used &&
			(o->kind != BTL_PM_ATOMIC || TAILQ_EMPTY(&btl_pm.running));

	if (!e->batch && is_first) {
		mtl_pm_let_go();
		return false;
	}
	mtl_pm_begin_requests();
	if (!btl_pm_batch_takes(o) || e->is_dead)
		return false;
	if (btl_pm_batch_is_full(e, o->length))
		submit(btl_pm_batch_close(e));
	return btl_pm_batch_add(o);
}

/* An operation to be filled in, for go(), which gives the lock back; NULL: there is no memory. */
static struct btl_pm_operation *begin(void)
{
	mtl_pm_enter();
	return take();
}

static int go(struct btl_pm_operation *o, const mca_btl_base_registration_handle_t *remote_handle)
{
	if (o && (!remote_handle || !o->length)) {
		do_here(o);
		ended(o, OPAL_SUCCESS);
	} else if (o) {
		uint64_t pull_from = o->endpoint->pull_from;

		o->target = *remote_handle;
		o->is_pulled = o->kind == ACTIVE_PUT && pull_from && o->length >= pull_from;
		o->is_by_pm = o->kind == BTL_PM_ATOMIC || o->endpoint->is_direct ||
			      length_in_datagram(o) > o->endpoint->mtu;
		if (!waits_for_others(o))
			submit(o);
	}
	mtl_pm_leave();
	return o ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

int btl_pm_put(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *local,
	       uint64_t remote, mca_btl_base_registration_handle_t *local_handle,
	       mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
	       mca_btl_base_rdma_completion_fn_t call, void *context, void *data)
{
	struct btl_pm_operation *o = begin();

	if (o)
		*o = (struct btl_pm_operation){.endpoint = endpoint,
					       .kind = ACTIVE_PUT,
					       .local = local,
					       .length = size,
					       .remote = remote,
					       .local_handle = local_handle,
					       .call = call,
					       .context = context,
					       .data = data};
	return go(o, remote_handle);
}

int btl_pm_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *local,
	       uint64_t remote, mca_btl_base_registration_handle_t *local_handle,
	       mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
	       mca_btl_base_rdma_completion_fn_t call, void *context, void *data)
{
	struct btl_pm_operation *o = begin();

	if (o)
		*o = (struct btl_pm_operation){.endpoint = endpoint,
					       .kind = ACTIVE_GET,
					       .local = local,
					       .length = size,
					       .remote = remote,
					       .local_handle = local_handle,
					       .call = call,
					       .context = context,
					       .data = data};
	return go(o, remote_handle);
}

/* 0: not one of ours. Of minimum and maximum Open MPI does not say whether numbers have signs. */
static uint32_t our_op(mca_btl_base_atomic_op_t op)
{
	switch (op) {
	case MCA_BTL_ATOMIC_ADD:
		return PM_ATOMIC_ADD;
	case MCA_BTL_ATOMIC_AND:
		return PM_ATOMIC_AND;
	case MCA_BTL_ATOMIC_OR:
		return PM_ATOMIC_OR;
	case MCA_BTL_ATOMIC_XOR:
		return PM_ATOMIC_XOR;
	case MCA_BTL_ATOMIC_SWAP:
		return PM_ATOMIC_SWAP;
	default:
		return 0;
	}
}

/* osc/rdma does an operation in another way only where the error is that it is not supported. */
static int begin_atomic(const struct btl_pm_operation *what,
			const mca_btl_base_registration_handle_t *remote_handle, int flags)
{
	size_t length = flags & MCA_BTL_ATOMIC_FLAG_32BIT ? sizeof(uint32_t) : sizeof(uint64_t);
	struct btl_pm_operation *o;

	if (!what->atomic.kind || flags & MCA_BTL_ATOMIC_FLAG_FLOAT || what->remote % length)
		return OPAL_ERR_NOT_SUPPORTED;
	o = begin();
	if (o) {
		*o = *what;
		o->kind = BTL_PM_ATOMIC;
		o->length = length;
		o->atomic.width = (uint32_t)length;
	}
	return go(o, remote_handle);
}

int btl_pm_atomic_op(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
		     uint64_t remote, mca_btl_base_registration_handle_t *remote_handle,
		     mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
		     mca_btl_base_rdma_completion_fn_t call, void *context, void *data)
{
	return begin_atomic(
		&(struct btl_pm_operation){.endpoint = endpoint,
					   .atomic = {.kind = our_op(op), .operand = operand},
					   .remote = remote,
					   .call = call,
					   .context = context,
					   .data = data},
		remote_handle, flags);
}

int btl_pm_atomic_fop(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
		      void *local, uint64_t remote,
		      mca_btl_base_registration_handle_t *local_handle,
		      mca_btl_base_registration_handle_t *remote_handle,
		      mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
		      mca_btl_base_rdma_completion_fn_t call, void *context, void *data)
{
	return begin_atomic(
		&(struct btl_pm_operation){.endpoint = endpoint,
					   .atomic = {.kind = our_op(op), .operand = operand},
					   .local = local,
					   .remote = remote,
					   .local_handle = local_handle,
					   .call = call,
					   .context = context,
					   .data = data},
		remote_handle, flags);
}

int btl_pm_atomic_cswap(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
			void *local, uint64_t remote,
			mca_btl_base_registration_handle_t *local_handle,
			mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
			uint64_t value, int flags, int order,
			mca_btl_base_rdma_completion_fn_t call, void *context, void *data)
{
	return begin_atomic(&(struct btl_pm_operation){.endpoint = endpoint,
						       .atomic = {.kind = PM_ATOMIC_COMPARE_SWAP,
								  .operand = value,
								  .compare = compare},
						       .local = local,
						       .remote = remote,
						       .local_handle = local_handle,
						       .call = call,
						       .context = context,
						       .data = data},
			    remote_handle, flags);
}

/* ---- answers ---- */

/* Open MPI does not tell its program of each of them. Lock not held. */
void btl_pm_say_failed(const struct btl_pm_operation *o)
{
	opal_output(0, "btl/pm: %s: rank %u %s %zu bytes at %#" PRIx64 "%s",
		    ompi_process_info.nodename, job_node_rank(o->endpoint->node),
		    o->status == OPAL_ERR_BAD_PARAM ? "refused" : "failed to read or write",
		    o->length, o->remote,
		    o->status == OPAL_ERR_BAD_PARAM
			    ? ": they are in no memory that it has registered"
			    : "");
}

/* One of ours that this process was asked for, taken out; else NULL. */
static struct btl_pm_operation *answered(uint64_t id, const struct mca_btl_base_endpoint_t *from)
{
	struct btl_pm_operation *o = ids_get(&btl_pm.operations, id);

	if (!o || o->endpoint != from) {
		btl_pm.damaged++;
		return NULL;
	}
	forget(o);
	return o;
}

void btl_pm_on_result(const struct active_result *m, const void *data, size_t length,
		      struct mca_btl_base_endpoint_t *from)
{
	struct btl_pm_operation *o = answered(m->id, from);

	if (!o)
		return;
	if (m->head.length || o->kind == ACTIVE_PUT || o->kind == ACTIVE_PUTS ||
	    length != o->length) {
		ended(o,
		      m->head.length && m->head.length != EACCES ? OPAL_ERROR : OPAL_ERR_BAD_PARAM);
		return;
	}
	if (o->local)
		memcpy(o->local, data, length);
	ended(o, OPAL_SUCCESS);
}

void btl_pm_on_done(const uint64_t *ids, uint32_t n, struct mca_btl_base_endpoint_t *from)
{
	for (uint32_t i = 0; i < n; i++) {
		struct btl_pm_operation *o = answered(ids[i], from);

		if (o && (o->kind == ACTIVE_PUT || o->kind == ACTIVE_PUTS))
			ended(o, OPAL_SUCCESS);
		else if (o)
			ended(o, OPAL_ERR_BAD_PARAM);
	}
}

/* As pmIsReadDone, also of writes and atomic operations. */
static int is_done(const struct btl_pm_operation *o)
{
	uint64_t before;
	int rc;

	if (o->kind == ACTIVE_PUT)
		return pmIsWriteDone(mtl_pm.ctx, o->desc);
	if (o->kind == ACTIVE_GET)
		return pmIsReadDone(mtl_pm.ctx, o->desc);
	rc = pmIsAtomicDone(mtl_pm.ctx, o->desc, &before);
	if (!rc)
		put_value(o, before);
	return rc;
}

/* Each look is a poll of PM, and atomic operations of one process are done in their order. */
int btl_pm_poll_running(void)
{
	struct btl_pm_operation *o, *next;
	uint32_t round = ++btl_pm.rounds;
	int n = 0;

	for (o = TAILQ_FIRST(&btl_pm.running); o; o = next) {
		bool is_atomic = o->kind == BTL_PM_ATOMIC;
		int rc = is_atomic && o->endpoint->waits_in == round ? ENOBUFS : is_done(o);

		next = TAILQ_NEXT(o, run);
		if (rc == ENOBUFS) {
			if (is_atomic)
				o->endpoint->waits_in = round;
			continue;
		}
		TAILQ_REMOVE(&btl_pm.running, o, run);
		if (rc == EACCES)
			ended(o, OPAL_ERR_BAD_PARAM);
		else
			ended(o, rc ? OPAL_ERR_UNREACH : OPAL_SUCCESS);
		n++;
	}
	return n;
}
