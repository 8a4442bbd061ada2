// SPDX-License-Identifier: BSD-3-Clause
/*
 * rail - what is opened of one port: context, protection domain, one completion queue with its channel, and the
 * UD queue pair that greetings go by, with their buffers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "pm-verbs/rail.h"
#include "pm-verbs/wireup.h"

#define CQ_FIRST 512 /* completions there is room for at first */
#define DATAGRAMS (PMV_GREETINGS_IN + PMV_GREETINGS_OUT)

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

/* The sentence about a call that failed, and the error that lets the composite go on without us. */
static int explain(struct pmv_link *link, const struct pmv_rail *rail, const char *what)
{
	int err = errno ? errno : EIO;
	char text[96];

	snprintf(text, sizeof(text), "%s:%u: %s", rail->port.device, rail->port.number, what);
	if (err == ENOMEM || err == EAGAIN) {
		struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

		getrlimit(RLIMIT_MEMLOCK, &limit);
		pmv_port_explain_memlock(limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX
									 : limit.rlim_cur,
					 text, link->env.why, link->env.why_size);
		return -EPERM;
	}
	snprintf(link->env.why, link->env.why_size, "verbs: %s: %s", text, strerror(err));
	return -ENODEV;
}

static int open_queues(struct pmv_link *link, struct pmv_rail *rail)
{
	const struct verbs *v = link->v;

	rail->pd = v->alloc_pd(rail->context);
	if (!rail->pd)
		return explain(link, rail, "no protection domain");
	rail->channel = v->create_comp_channel(rail->context);
	if (!rail->channel)
		return explain(link, rail, "no completion channel");
	rail->cq = v->create_cq(rail->context, CQ_FIRST, NULL, rail->channel, 0);
	if (!rail->cq)
		return explain(link, rail, "no completion queue");
	rail->cq_used = DATAGRAMS;
	if (set_nonblocking(rail->channel->fd) || set_nonblocking(rail->context->async_fd))
		return explain(link, rail, "descriptor");
	return 0;
}

/* Datagrams lie in one piece of memory: first those that come in. */
static int make_datagrams(struct pmv_link *link, struct pmv_rail *rail)
{
	rail->datagrams = calloc(DATAGRAMS, sizeof(*rail->datagrams));
	rail->greetings = aligned_alloc(4096, (size_t)DATAGRAMS * PMV_DATAGRAM);
	if (!rail->datagrams || !rail->greetings)
		return -ENOMEM;
	memset(rail->greetings, 0, (size_t)DATAGRAMS * PMV_DATAGRAM);
	rail->greetings_mr = link->v->reg_mr(rail->pd, rail->greetings,
					     (size_t)DATAGRAMS * PMV_DATAGRAM,
					     IBV_ACCESS_LOCAL_WRITE);
	if (!rail->greetings_mr)
		return explain(link, rail, "memory for greetings");
	for (int i = 0; i < DATAGRAMS; i++) {
		struct pmv_datagram *d = &rail->datagrams[i];

		d->rail = rail;
		d->data = rail->greetings + (size_t)i * PMV_DATAGRAM;
		d->work.kind = i < PMV_GREETINGS_IN ? PMV_WORK_GREETING_IN : PMV_WORK_GREETING_OUT;
		if (i < PMV_GREETINGS_IN)
			continue;
		d->next = rail->free_datagrams;
		rail->free_datagrams = d;
	}
	return 0;
}

static int start_greeter(struct pmv_link *link, struct pmv_rail *rail)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = rail->port.number, .qkey = PMV_QKEY};
	int err = link->v->modify_qp(rail->greeter, &attr,
				     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	for (int i = 0; !err && i < PMV_GREETINGS_IN; i++)
		err = pmv_greeting_post(link, &rail->datagrams[i]);
	attr.qp_state = IBV_QPS_RTR;
	if (!err)
		err = link->v->modify_qp(rail->greeter, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (!err)
		err = link->v->modify_qp(rail->greeter, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return err;
}

static int open_greeter(struct pmv_link *link, struct pmv_rail *rail)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = rail->cq,
		.recv_cq = rail->cq,
		.cap = {.max_send_wr = PMV_GREETINGS_OUT,
			.max_recv_wr = PMV_GREETINGS_IN,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_UD,
	};
	int err = make_datagrams(link, rail);

	if (err)
		return err == -ENOMEM ? -ENODEV : err;
	rail->greeter = link->v->create_qp(rail->pd, &attr);
	if (!rail->greeter)
		return explain(link, rail, "no queue pair for greetings");
	err = start_greeter(link, rail);
	if (!err)
		return 0;
	errno = err < 0 ? -err : err;
	return explain(link, rail, "the queue pair for greetings does not start");
}

int pmv_rail_open(struct pmv_link *link, struct pmv_rail *rail, struct ibv_device *device)
{
	struct ibv_device_attr attr;
	int err;

	rail->v = link->v;
	rail->context = link->v->open_device(device);
	if (!rail->context)
		return pmv_port_explain_open(errno, device->name, device->dev_name, link->env.why,
					     link->env.why_size);
	err = link->v->query_device(rail->context, &attr);
	if (err) {
		errno = err;
		err = explain(link, rail, "the device cannot be asked");
	}
	if (!err)
		err = open_queues(link, rail);
	if (!err)
		err = open_greeter(link, rail);
	if (err) {
		pmv_rail_close(link, rail);
		return err;
	}
	rail->max_inline = UINT32_MAX;
	rail->max_reads = attr.max_qp_rd_atom < 16 ? (uint32_t)attr.max_qp_rd_atom : 16;
	if (!rail->max_reads)
		rail->max_reads = 1;
	return 0;
}

void pmv_rail_close(struct pmv_link *link, struct pmv_rail *rail)
{
	const struct verbs *v = link->v;

	if (rail->greeter)
		v->destroy_qp(rail->greeter);
	if (rail->greetings_mr)
		v->dereg_mr(rail->greetings_mr);
	free(rail->greetings);
	free(rail->datagrams);
	pinned_close(rail->pinned);
	if (rail->cq)
		v->destroy_cq(rail->cq);
	if (rail->channel)
		v->destroy_comp_channel(rail->channel);
	if (rail->pd)
		v->dealloc_pd(rail->pd);
	if (rail->context)
		v->close_device(rail->context);
	memset(rail, 0, sizeof(*rail));
}

int pmv_rail_reserve(struct pmv_link *link, struct pmv_rail *rail, uint32_t n)
{
	uint32_t want = rail->cq_used + n;
	int err = 0;

	if (want > (uint32_t)rail->cq->cqe)
		err = link->v->resize_cq(rail->cq,
					 (int)(want > CQ_FIRST * 2 ? want * 2 : CQ_FIRST * 2));
	/* near the device's limit the half more is too much */
	if (err && want > CQ_FIRST * 2)
		err = link->v->resize_cq(rail->cq, (int)want);
	if (err)
		return -err;
	rail->cq_used = want;
	return 0;
}
