// SPDX-License-Identifier: BSD-3-Clause
/*
 * qp - RC queue pairs: making, connecting, stopping and destroying them. A queue pair that was
 * stopped stays until all that was posted to it has come back. Then link->from_hw tells its owner,
 * who knows what the queue pair was for.
 */
#include "pm-verbs/hw/qp.h"

#include <errno.h>
#include <stdlib.h>

#include "pm-verbs/hw/cq.h"
#include "pm-verbs/hw/greeter.h"
#include "pm-verbs/hw/link.h"
#include "pm-verbs/hw/shared.h"
#include "pm-verbs/hw/watch.h"

#define INLINE_WANTED 128 /* bytes; a device that has less is used without */
#define READS 4           /* RDMA reads under way: every device answers as many */

uint32_t pmv_qp_depth(const struct pmv_link *link)
{
	return link->n_credits + PMV_PIECES + 1;
}

uint32_t pmv_qp_completions(const struct pmv_link *link, bool is_shared)
{
	return pmv_qp_depth(link) + (is_shared ? 0 : link->n_credits);
}

static struct ibv_qp *create(struct pmv_link *link, const struct pmv_qp *want)
{
	struct pmv_rail *rail = want->rail;
	struct ibv_qp_init_attr attr = {
		.send_cq = rail->cq,
		.recv_cq = rail->cq,
		.srq = want->is_shared ? rail->shared.srq : NULL,
		.cap = {.max_send_wr = want->lane ? PMV_PIECES : pmv_qp_depth(link),
			.max_recv_wr = want->is_shared ? 0 : link->n_credits,
			.max_send_sge = 1,
			.max_recv_sge = want->is_shared ? 0 : 1,
			.max_inline_data = rail->max_inline},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp;

	/* nobody sends to a lane, but none is what not every device takes for an answer */
	if (want->lane)
		attr.cap.max_recv_wr = 1;

	if (rail->max_inline == UINT32_MAX)
		attr.cap.max_inline_data = INLINE_WANTED;
	qp = link->v->create_qp(rail->pd, &attr);
	if (!qp && rail->max_inline == UINT32_MAX) {
		attr.cap.max_inline_data = 0;
		qp = link->v->create_qp(rail->pd, &attr);
	}
	if (qp)
		rail->max_inline = attr.cap.max_inline_data;
	return qp;
}

int pmv_qp_to_init(struct pmv_link *link, struct pmv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = qp->rail->port.number,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};

	return -link->v->modify_qp(qp->qp, &attr,
				   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					   IBV_QP_ACCESS_FLAGS);
}

int pmv_qp_make(struct pmv_link *link, const struct pmv_qp *want, struct pmv_qp **ret_qp)
{
	struct pmv_qp *qp = malloc(sizeof(*qp));
	int err = qp ? pmv_cq_reserve(link, want->rail, want->completions) : -ENOMEM;

	if (err) {
		free(qp);
		return err;
	}
	*qp = *want;
	errno = 0;
	qp->qp = create(link, want);
	if (!qp->qp) {
		want->rail->cq_used -= want->completions;
		free(qp);
		return errno ? -errno : -EIO;
	}
	qp->probe.kind = PMV_WORK_PROBE;
	qp->probe.qp = qp;
	qp->next = link->qps;
	link->qps = qp;
	link->n_qps++;
	*ret_qp = qp;
	return 0;
}

static enum ibv_mtu mtu_of(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && 128u << mtu < bytes)
		mtu++;
	return mtu;
}

static int to_receive(struct pmv_link *link, struct pmv_qp *qp, const struct pmv_end *end,
		      const struct pmv_qp_start *theirs)
{
	const struct pmv_rail *rail = qp->rail;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_of(end->mtu),
		.dest_qp_num = theirs->number,
		.rq_psn = theirs->psn,
		.max_dest_rd_atomic = (uint8_t)rail->max_reads,
		.min_rnr_timer = 12,
	};

	pmv_path_to(rail, end, &attr.ah_attr);
	return -link->v->modify_qp(qp->qp, &attr,
				   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					   IBV_QP_MIN_RNR_TIMER);
}

static int to_send(struct pmv_link *link, struct pmv_qp *qp, uint32_t psn)
{
	uint32_t reads = qp->rail->max_reads;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 16, /* 4.096 us << 16: 0.27 s */
		.retry_cnt =
			6, /* the 7 that other fields have for ever means so here too to rdma_rxe */
		.rnr_retry = 7, /* for ever: credits see to it that there are receives */
		.sq_psn = psn,
		.max_rd_atomic = (uint8_t)(reads < READS ? reads : READS),
	};

	return -link->v->modify_qp(qp->qp, &attr,
				   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC);
}

int pmv_qp_connect(struct pmv_link *link, struct pmv_qp *qp, const struct pmv_end *end,
		   uint32_t psn, const struct pmv_qp_start *theirs)
{
	int err = to_receive(link, qp, end, theirs);

	if (!err)
		err = to_send(link, qp, psn);
	qp->is_connected = !err;
	return err;
}

bool pmv_qp_post_receive(struct pmv_link *link, struct pmv_qp *qp, struct pmv_slot *slot)
{
	struct ibv_sge sge = {.addr = (uintptr_t)slot->data,
			      .length = link->buffer_bytes,
			      .lkey = slot->chunk->mr[qp->rail->index]->lkey};
	struct ibv_recv_wr wr = {.wr_id = (uintptr_t)&slot->work, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	slot->work.kind = PMV_WORK_RECEIVE;
	slot->work.qp = qp;
	slot->peer = NULL;
	if (ibv_post_recv(qp->qp, &wr, &bad)) {
		slot->work.qp = NULL;
		return false;
	}
	qp->n_receives++;
	return true;
}

/* ---- the end of one ---- */

int pmv_qp_fail(struct pmv_link *link, struct pmv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	int err;

	if (qp->is_failed)
		return 0;
	qp->is_failed = true;
	pmv_watch_end(link, qp);
	err = -link->v->modify_qp(qp->qp, &attr, IBV_QP_STATE);
	qp->is_stuck = err != 0;
	return err;
}

void pmv_qp_returned(struct pmv_link *link, struct pmv_qp *qp)
{
	if (!qp->is_failed || qp->n_sends || qp->n_receives)
		return;
	/* before it was connected nobody knew that it may send to it */
	if (qp->is_shared && qp->is_connected)
		pmv_shared_end(link, qp);
	else
		link->from_hw->qp_ended(link, qp);
}

void pmv_qp_destroy(struct pmv_link *link, struct pmv_qp *qp)
{
	struct pmv_qp **at = &link->qps;
	int err;
	uint32_t number;

	while (*at != qp)
		at = &(*at)->next;
	*at = qp->next;
	link->n_qps--;
	pmv_watch_end(link, qp);
	qp->rail->cq_used -= qp->completions;
	link->is_crowded = true;
	number = qp->qp->qp_num;
	err = link->v->destroy_qp(qp->qp);
	if (err)
		pmv_note_refusal(link, "a queue pair is not destroyed", err);
	if (qp->is_shared)
		pmv_shared_leave(link, qp->rail, number);
	free(qp);
}
