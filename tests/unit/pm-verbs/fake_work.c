// SPDX-License-Identifier: BSD-3-Clause
/*
 * fake_work - what becomes of work requests in the fake provider: sends, one-sided operations,
 * completions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/pm-verbs/fake_private.h"

void fake_works_free(struct fake_work *work)
{
	while (work) {
		struct fake_work *next = work->next;

		free(work);
		work = next;
	}
}

/* @n_sends: see struct fake_cqe. */
void fake_complete(struct fake_cq *cq, const struct ibv_wc *wc, uint32_t n_sends)
{
	struct fake_cqe *cqe;
	uint64_t one = 1;

	if (cq->n >= cq->base.cqe) {
		fake.overflows++;
		return;
	}
	cqe = calloc(1, sizeof(*cqe));
	cqe->wc = *wc;
	cqe->n_sends = n_sends;
	*cq->tail = cqe;
	cq->tail = &cqe->next;
	cq->n++;
	if (!cq->is_armed)
		return;
	cq->is_armed = false;
	cq->is_event = true;
	if (write(cq->base.channel->fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static void complete_send(struct fake_qp *qp, const struct fake_work *work,
			  enum ibv_wc_status status)
{
	const struct ibv_wc wc = {.wr_id = work->wr.wr_id,
				  .status = status,
				  .qp_num = qp->base.qp_num,
				  .opcode = work->wr.opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ
					    : work->wr.opcode == IBV_WR_RDMA_WRITE
						    ? IBV_WC_RDMA_WRITE
						    : IBV_WC_SEND};

	/* a successful one is told of if that was asked for, and then for those before it too */
	if (!status && !(work->wr.send_flags & IBV_SEND_SIGNALED)) {
		qp->n_silent++;
		return;
	}
	fake_complete(qp->send_cq, &wc, qp->n_silent + 1);
	qp->n_silent = 0;
}

struct fake_work *fake_work_take(struct fake_work **head, struct fake_work ***tail)
{
	struct fake_work *work = *head;

	if (!work)
		return NULL;
	*head = work->next;
	if (!*head)
		*tail = head;
	return work;
}

static void flush_sends(struct fake_qp *qp)
{
	struct fake_work *work;

	while ((work = fake_work_take(&qp->sends, &qp->sends_tail))) {
		complete_send(qp, work, IBV_WC_WR_FLUSH_ERR);
		free(work);
	}
}

bool fake_qp_is_used(const struct fake_qp *qp)
{
	const struct fake_cqe *cqe = qp->recv_cq->head;

	while (cqe && cqe->wc.qp_num != qp->base.qp_num)
		cqe = cqe->next;
	return cqe || qp->sends || qp->receives;
}

void fake_qp_error(struct fake_qp *qp)
{
	struct fake_work *work;

	if (qp->srq && qp->base.state != IBV_QPS_ERR)
		fake_shared_error(qp);
	qp->base.state = IBV_QPS_ERR;
	flush_sends(qp);
	while ((work = fake_work_take(&qp->receives, &qp->receives_tail))) {
		const struct ibv_wc wc = {.wr_id = work->wr.wr_id,
					  .status = IBV_WC_WR_FLUSH_ERR,
					  .opcode = IBV_WC_RECV,
					  .qp_num = qp->base.qp_num};

		qp->n_receives--;
		fake_complete(qp->recv_cq, &wc, 0);
		free(work);
	}
	/* who waits for its receives learns that there are none */
	if (qp->srq)
		fake_retry();
}

void fake_qp_reset(struct fake_qp *qp)
{
	fake_works_free(qp->sends);
	fake_works_free(qp->receives);
	qp->sends = qp->receives = NULL;
	qp->sends_tail = &qp->sends;
	qp->receives_tail = &qp->receives;
	qp->n_sends = qp->n_receives = qp->n_silent = 0;
	/* completions that are not polled yet stay, and give nothing back */
	for (struct fake_cqe *cqe = qp->send_cq->head; cqe; cqe = cqe->next)
		if (cqe->wc.qp_num == qp->base.qp_num)
			cqe->n_sends = 0;
}

static struct fake_qp *find_qp(uint32_t number)
{
	for (struct fake_qp *qp = fake_world.qps; qp; qp = qp->next)
		if (qp->base.qp_num == number)
			return qp;
	return NULL;
}

static bool is_within(const struct fake_mr *mr, uint64_t addr, uint64_t len)
{
	uint64_t start = (uintptr_t)mr->base.addr;

	return addr >= start && len <= mr->base.length && addr - start <= mr->base.length - len;
}

static const struct fake_mr *find_mr(uint32_t key)
{
	const struct fake_mr *mr = fake_world.mrs;

	while (mr && mr->base.lkey != key)
		mr = mr->next;
	return mr;
}

/* Whether @key gives @access to the bytes. */
static bool may(const struct ibv_pd *pd, uint32_t key, uint64_t addr, uint64_t len, int access)
{
	const struct fake_mr *mr = find_mr(key);

	if (!len)
		return true;
	return mr && mr->base.pd == pd && is_within(mr, addr, len) &&
	       (mr->access & access) == access;
}

static bool is_cut(struct ibv_context *context)
{
	const struct fake_context *own = (struct fake_context *)context;

	return own->is_cut || own->is_down || fake_port_of(context)->is_cut;
}

static bool is_down(const struct fake_qp *qp)
{
	return ((struct fake_context *)qp->base.context)->is_down;
}

/* The queue pair at the other end, if a packet comes through. */
static struct fake_qp *other_end(struct fake_qp *qp, const union ibv_gid *gid, uint32_t number)
{
	struct fake_qp *to = find_qp(number);
	const struct fake_port *port;

	if (!to || is_cut(qp->base.context) || is_cut(to->base.context))
		return NULL;
	port = fake_port_of(to->base.context);
	for (int i = 0; i < port->n_gids; i++)
		if (!memcmp(&port->gids[i].gid, gid, sizeof(*gid)))
			return to;
	return NULL;
}

/* Into the next receive of @to; false when it has none. @skip bytes are left out at its start. */
static bool deliver(struct fake_qp *to, struct fake_qp *from, const void *data, uint32_t len,
		    uint32_t skip)
{
	struct fake_srq *srq = to->srq;
	struct fake_work *receive = srq ? fake_work_take(&srq->receives, &srq->tail)
					: fake_work_take(&to->receives, &to->receives_tail);
	struct ibv_wc wc = {.opcode = IBV_WC_RECV, .qp_num = to->base.qp_num};

	if (!receive)
		return false;
	if (srq)
		srq->n--;
	else
		to->n_receives--;
	wc.wr_id = receive->wr.wr_id;
	wc.src_qp = from->base.qp_num;
	wc.byte_len = len + skip;
	if (len + skip > receive->sge.length) {
		wc.status = IBV_WC_LOC_LEN_ERR;
	} else if (!may(to->base.pd, receive->sge.lkey, receive->sge.addr, len + skip,
			IBV_ACCESS_LOCAL_WRITE)) {
		wc.status = IBV_WC_LOC_PROT_ERR;
	} else {
		memcpy((uint8_t *)(uintptr_t)receive->sge.addr + skip, data, len);
	}
	if (srq)
		fake_shared_complete(to, &wc);
	else
		fake_complete(to->recv_cq, &wc, 0);
	if (wc.status)
		fake_qp_error(to);
	free(receive);
	return true;
}

static enum ibv_wc_status send(struct fake_qp *qp, struct fake_qp *to, const void *data,
			       uint32_t len)
{
	fake.resent++;
	if (!deliver(to, qp, data, len, 0)) {
		fake.not_ready++;
		return IBV_WC_RNR_RETRY_EXC_ERR;
	}
	if (fake.lose_acks && fake.lose_acks--)
		return IBV_WC_RETRY_EXC_ERR;
	return IBV_WC_SUCCESS;
}

/*
 * Pages that the program has given back take what is read, and hold what was written to them long
 * ago.
 */
static void move(const struct fake_work *work, bool is_read, void *local, void *remote)
{
	uint32_t len = work->sge.length;

	if (len && find_mr(work->sge.lkey)->is_stale) {
		fake.stale++;
		if (!is_read)
			memset(remote, 0xee, len);
		return;
	}
	/* of nothing there may be no address */
	if (len)
		memcpy(is_read ? local : remote, is_read ? remote : local, len);
}

static enum ibv_wc_status access_remote(struct fake_qp *to, struct fake_work *work)
{
	bool is_read = work->wr.opcode == IBV_WR_RDMA_READ;
	void *remote = (void *)(uintptr_t)work->wr.wr.rdma.remote_addr;
	void *local = (void *)(uintptr_t)work->sge.addr;

	if (may(to->base.pd, work->wr.wr.rdma.rkey, work->wr.wr.rdma.remote_addr, work->sge.length,
		is_read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE)) {
		move(work, is_read, local, remote);
		return IBV_WC_SUCCESS;
	}
	fake_qp_error(to);
	fake_event_add(to->base.context, IBV_EVENT_QP_ACCESS_ERR, &to->base);
	return IBV_WC_REM_ACCESS_ERR;
}

static enum ibv_wc_status carry_out(struct fake_qp *qp, struct fake_work *work)
{
	struct fake_qp *to = other_end(qp, &qp->dgid, qp->peer);
	int access = work->wr.opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_LOCAL_WRITE : 0;
	const void *data = work->is_inline ? work->copy : (void *)(uintptr_t)work->sge.addr;

	if (fake.spoil) {
		enum ibv_wc_status status = fake.spoil;

		fake.spoil = IBV_WC_SUCCESS;
		return status;
	}
	if (!work->is_inline &&
	    !may(qp->base.pd, work->sge.lkey, work->sge.addr, work->sge.length, access))
		return IBV_WC_LOC_PROT_ERR;
	if (!to || to->peer != qp->base.qp_num ||
	    (to->base.state != IBV_QPS_RTR && to->base.state != IBV_QPS_RTS))
		return IBV_WC_RETRY_EXC_ERR;
	if (work->wr.opcode == IBV_WR_SEND)
		return send(qp, to, data, work->sge.length);
	return access_remote(to, work);
}

static enum ibv_wc_status send_datagram(struct fake_qp *qp, const struct fake_work *work)
{
	const struct fake_ah *ah = (struct fake_ah *)work->wr.wr.ud.ah;
	struct fake_qp *to = other_end(qp, &ah->dgid, work->wr.wr.ud.remote_qpn);
	const void *data = work->is_inline ? work->copy : (void *)(uintptr_t)work->sge.addr;

	fake.datagrams++;
	fake.unsignalled += !(work->wr.send_flags & IBV_SEND_SIGNALED);
	if (!work->is_inline &&
	    !may(qp->base.pd, work->sge.lkey, work->sge.addr, work->sge.length, 0))
		return IBV_WC_LOC_PROT_ERR;
	if ((fake.drop_ud && fake.drop_ud--) ||
	    (fake.drop_every && fake.datagrams % fake.drop_every == 0))
		return IBV_WC_SUCCESS;
	if (to && to->base.qp_type == IBV_QPT_UD && to->base.state >= IBV_QPS_RTR &&
	    to->base.state <= IBV_QPS_RTS && to->q_key == work->wr.wr.ud.remote_qkey)
		deliver(to, qp, data, work->sge.length, 40);
	return IBV_WC_SUCCESS;
}

/* The other side's device has no shared receive, and says "later". */
static bool must_wait(struct fake_qp *qp)
{
	const struct fake_qp *to = other_end(qp, &qp->dgid, qp->peer);

	if (qp->base.qp_type != IBV_QPT_RC || !qp->sends || qp->sends->wr.opcode != IBV_WR_SEND ||
	    !to || !to->srq || to->peer != qp->base.qp_num || to->srq->receives ||
	    (to->base.state != IBV_QPS_RTR && to->base.state != IBV_QPS_RTS))
		return false;
	fake.waits++;
	qp->is_waiting = true;
	return true;
}

void fake_qp_run(struct fake_qp *qp)
{
	struct fake_work *work;

	qp->is_stuck |= qp->base.qp_type == IBV_QPT_RC && qp->sends && is_down(qp);
	while (qp->base.state == IBV_QPS_RTS && !qp->is_stuck && !must_wait(qp) &&
	       (work = fake_work_take(&qp->sends, &qp->sends_tail))) {
		enum ibv_wc_status status;
		bool is_ud = qp->base.qp_type == IBV_QPT_UD;

		if (is_ud && (is_down(qp) || (fake.refuse_ud && fake.refuse_ud--)))
			status = IBV_WC_LOC_QP_OP_ERR;
		else if (is_ud)
			status = send_datagram(qp, work);
		else
			status = carry_out(qp, work);
		complete_send(qp, work, status);
		free(work);
		if (status && is_ud) {
			/* it goes on receiving */
			qp->base.state = IBV_QPS_SQE;
			flush_sends(qp);
		} else if (status) {
			fake_qp_error(qp);
		}
	}
}

void fake_retry(void)
{
	for (struct fake_qp *qp = fake_world.qps; qp && !fake.is_held; qp = qp->next)
		if (qp->is_waiting) {
			qp->is_waiting = false;
			fake_qp_run(qp);
		}
}

void fake_run(void)
{
	fake_shared_run();
	for (struct fake_qp *qp = fake_world.qps; qp; qp = qp->next)
		fake_qp_run(qp);
}

static int post_one_send(struct ibv_qp *base, struct ibv_send_wr *wr)
{
	struct fake_qp *qp = (struct fake_qp *)base;
	bool is_ud = base->qp_type == IBV_QPT_UD;
	struct fake_work *work;

	if (fake_fails(FAKE_POST_SEND))
		return errno;
	if (wr->num_sge > 1 || (!is_ud && (wr->next || !(wr->send_flags & IBV_SEND_SIGNALED))) ||
	    (base->state != IBV_QPS_RTS && base->state != IBV_QPS_SQE &&
	     base->state != IBV_QPS_ERR))
		return EINVAL;
	if (qp->n_sends >= qp->cap.max_send_wr)
		return ENOMEM;
	work = calloc(1, sizeof(*work));
	work->wr = *wr;
	if (wr->num_sge)
		work->sge = *wr->sg_list;
	work->is_inline = wr->send_flags & IBV_SEND_INLINE;
	if (work->is_inline) {
		if (work->sge.length > qp->cap.max_inline_data || work->sge.length > FAKE_INLINE)
			abort();
		memcpy(work->copy, (void *)(uintptr_t)work->sge.addr, work->sge.length);
		fake.inlined++;
	}
	qp->n_sends++;
	*qp->sends_tail = work;
	qp->sends_tail = &work->next;
	if (base->state == IBV_QPS_ERR)
		fake_qp_error(qp);
	else if (base->state == IBV_QPS_SQE)
		flush_sends(qp);
	else if (!fake.is_held)
		fake_qp_run(qp);
	return 0;
}

int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int err = 0;

	for (; !err && wr; wr = wr->next) {
		*bad = wr;
		err = post_one_send(qp, wr);
	}
	return err;
}

void fake_work_add(const struct ibv_recv_wr *wr, struct fake_work ***tail)
{
	struct fake_work *work = calloc(1, sizeof(*work));

	work->wr.wr_id = wr->wr_id;
	work->sge = *wr->sg_list;
	**tail = work;
	*tail = &work->next;
}

static int post_one_recv(struct ibv_qp *base, struct ibv_recv_wr *wr)
{
	struct fake_qp *qp = (struct fake_qp *)base;

	if (fake_fails(FAKE_POST_RECV))
		return errno;
	if (wr->num_sge != 1 || base->state == IBV_QPS_RESET || qp->srq)
		return EINVAL;
	if (qp->n_receives >= qp->cap.max_recv_wr)
		return ENOMEM;
	fake_work_add(wr, &qp->receives_tail);
	qp->n_receives++;
	if (base->state == IBV_QPS_ERR)
		fake_qp_error(qp);
	return 0;
}

int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int err = 0;

	for (; !err && wr; wr = wr->next) {
		*bad = wr;
		err = post_one_recv(qp, wr);
	}
	return err;
}

int fake_poll_cq(struct ibv_cq *base, int n, struct ibv_wc *wc)
{
	struct fake_cq *cq = (struct fake_cq *)base;
	int got = 0;

	while (got < n && cq->head) {
		struct fake_cqe *cqe = cq->head;
		struct fake_qp *qp = find_qp(cqe->wc.qp_num);

		cq->head = cqe->next;
		if (!cq->head)
			cq->tail = &cq->head;
		cq->n--;
		if (qp)
			qp->n_sends -= cqe->n_sends;
		wc[got++] = cqe->wc;
		free(cqe);
	}
	return got;
}

int fake_req_notify_cq(struct ibv_cq *base, int solicited_only)
{
	if (fake_fails(FAKE_REQ_NOTIFY_CQ))
		return errno;
	((struct fake_cq *)base)->is_armed = true;
	return 0;
}
