// SPDX-License-Identifier: BSD-3-Clause
/*
 * fake_shared - receives that queue pairs of the fake provider share, and what devices say
 * asynchronously. The end of a queue pair is as on the two kinds of devices there are. One says
 * when it takes no more, and RESET and destruction throw away completions that nobody has polled.
 * The other says nothing, and RESET throws nothing away.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/pm-verbs/fake_private.h"

/* ---- events ---- */

void fake_event_add(struct ibv_context *context, enum ibv_event_type type, struct ibv_qp *qp)
{
	struct fake_event *e = calloc(1, sizeof(*e)), **at = &fake_world.events;
	uint64_t one = 1;

	e->context = context;
	e->event.event_type = type;
	if (qp)
		e->event.element.qp = qp;
	else
		e->event.element.port_num = 1;
	while (*at)
		at = &(*at)->next;
	*at = e;
	if (write(context->async_fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static void remove_event(struct fake_event **at)
{
	struct fake_event *e = *at;
	uint64_t one;

	*at = e->next;
	if (read(e->context->async_fd, &one, sizeof(one)) != sizeof(one))
		abort();
	free(e);
}

bool fake_event_take(struct ibv_context *context, struct ibv_async_event *ret)
{
	struct fake_event **at = &fake_world.events;

	while (*at && (*at)->context != context)
		at = &(*at)->next;
	if (!*at)
		return false;
	*ret = (*at)->event;
	remove_event(at);
	return true;
}

void fake_event_forget(struct ibv_context *context, const struct ibv_qp *qp)
{
	struct fake_event **at = &fake_world.events;

	while (*at)
		if ((*at)->context == context && (!qp || (*at)->event.element.qp == qp))
			remove_event(at);
		else
			at = &(*at)->next;
}

/* ---- the queue ---- */

struct ibv_srq *fake_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct fake_srq *srq;

	if (fake_fails(FAKE_CREATE_SRQ))
		return NULL;
	if (attr->attr.max_wr > 1024 || attr->attr.max_sge != 1) {
		errno = EINVAL;
		return NULL;
	}
	srq = fake_make(sizeof(*srq));
	srq->base.context = pd->context;
	srq->base.pd = pd;
	srq->room = attr->attr.max_wr;
	srq->tail = &srq->receives;
	return &srq->base;
}

int fake_destroy_srq(struct ibv_srq *base)
{
	struct fake_srq *srq = (struct fake_srq *)base;

	for (const struct fake_qp *qp = fake_world.qps; qp; qp = qp->next)
		if (qp->srq == srq)
			return EBUSY;
	fake_works_free(srq->receives);
	return fake_unmake(srq);
}

int fake_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_srq *srq = (struct fake_srq *)base;

	*bad = wr;
	if (fake_fails(FAKE_POST_SRQ_RECV))
		return errno;
	if (wr->next || wr->num_sge != 1)
		return EINVAL;
	if (srq->n >= srq->room)
		return ENOMEM;
	fake_work_add(wr, &srq->tail);
	srq->n++;
	fake_retry();
	return 0;
}

/* ---- its queue pairs ---- */

void fake_shared_complete(struct fake_qp *qp, const struct ibv_wc *wc)
{
	struct fake_cqe *cqe;

	if (!fake.is_late) {
		fake_complete(qp->recv_cq, wc, 0);
		return;
	}
	cqe = calloc(1, sizeof(*cqe));
	cqe->wc = *wc;
	*qp->late_tail = cqe;
	qp->late_tail = &cqe->next;
}

static void take_late(struct fake_qp *qp, bool is_lost)
{
	while (qp->late) {
		struct fake_cqe *cqe = qp->late;

		qp->late = cqe->next;
		if (!is_lost)
			fake_complete(qp->recv_cq, &cqe->wc, 0);
		free(cqe);
	}
	qp->late_tail = &qp->late;
}

static void tell(struct fake_qp *qp)
{
	take_late(qp, false);
	if (!fake.is_silent)
		fake_event_add(qp->base.context, IBV_EVENT_QP_LAST_WQE_REACHED, &qp->base);
}

void fake_shared_error(struct fake_qp *qp)
{
	struct fake_work *lost = NULL;

	if (fake.lose_shared && fake.lose_shared--)
		lost = fake_work_take(&qp->srq->receives, &qp->srq->tail);
	qp->srq->n -= lost != NULL;
	free(lost);
	if (!qp->late)
		tell(qp);
}

/* Its completions that nobody has polled, in the one queue of both directions. */
static void throw_away(struct fake_qp *qp)
{
	struct fake_cq *cq = qp->recv_cq;
	struct fake_cqe **at = &cq->head;

	while (*at) {
		struct fake_cqe *cqe = *at;

		if (cqe->wc.qp_num != qp->base.qp_num) {
			at = &cqe->next;
			continue;
		}
		*at = cqe->next;
		cq->n--;
		free(cqe);
	}
	cq->tail = at;
}

void fake_shared_reset(struct fake_qp *qp)
{
	if (!qp->srq)
		return;
	take_late(qp, !fake.is_silent);
	if (!fake.is_silent)
		throw_away(qp);
}

void fake_shared_destroy(struct fake_qp *qp)
{
	take_late(qp, true);
	if (qp->srq)
		throw_away(qp);
}

void fake_shared_run(void)
{
	for (struct fake_qp *qp = fake_world.qps; qp; qp = qp->next) {
		if (!qp->srq)
			continue;
		if (qp->base.state == IBV_QPS_ERR)
			tell(qp);
		else
			take_late(qp, false);
	}
}

void fake_break_shared(int device)
{
	for (struct fake_qp *qp = fake_world.qps; qp; qp = qp->next)
		if (qp->srq && fake_port_of(qp->base.context) == &fake.ports[device]) {
			fake_event_add(qp->base.context, IBV_EVENT_SRQ_ERR, NULL);
			return;
		}
}
