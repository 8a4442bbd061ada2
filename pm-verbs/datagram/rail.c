// SPDX-License-Identifier: BSD-3-Clause
/*
 * rail - what is opened of one port: context, protection domain, a completion queue for each
 * direction with one channel for both, the registered buffers and the UD queue pair. One in error
 * is reset, which takes all work back from the device at once; completions of before that are told
 * by their run and count for nothing.
 */
#include "pm-verbs/datagram/rail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "pm-verbs/datagram/peer.h"
#include "pm-verbs/datagram/rx.h"
#include "pm-verbs/datagram/trouble.h"
#include "pm-verbs/datagram/tx.h"
#include "pm-verbs/hw/opening.h"

#define INLINE_WANTED 256 /* bytes: acknowledgements, requests and small messages */

static int explain(struct pmvd_dev *d, const struct pmvd_rail *rail, const char *what)
{
	return pmv_explain(&rail->port, what, d->env.why, d->env.why_size);
}

static uint32_t least(uint32_t a, int b)
{
	return b > 0 && (uint32_t)b < a ? (uint32_t)b : a;
}

/* The depth of both queues: what we want, as far as the device allows. */
static int ask_limits(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	struct ibv_device_attr attr;
	uint32_t depth = PMVD_TX_DEPTH;
	int err = d->v->query_device(rail->context, &attr);

	if (err) {
		errno = err;
		return explain(d, rail, "the device cannot be asked");
	}
	while (depth > 1 && least(least(depth, attr.max_qp_wr), attr.max_cqe) < depth)
		depth /= 2;
	/* packets and buffers have been numbered when it is opened again */
	if (rail->rx.memory)
		return 0;
	rail->tx.depth = depth;
	rail->rx.n = least(least(rail->rx.n, attr.max_qp_wr), attr.max_cqe);
	return 0;
}

static int open_queues(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	const struct verbs *v = d->v;

	rail->pd = v->alloc_pd(rail->context);
	if (!rail->pd)
		return explain(d, rail, "no protection domain");
	rail->channel = v->create_comp_channel(rail->context);
	if (!rail->channel)
		return explain(d, rail, "no completion channel");
	rail->send_cq = v->create_cq(rail->context, (int)rail->tx.depth, rail, rail->channel, 0);
	if (!rail->send_cq)
		return explain(d, rail, "no completion queue to send");
	rail->recv_cq = v->create_cq(rail->context, (int)rail->rx.n, rail, rail->channel, 0);
	if (!rail->recv_cq)
		return explain(d, rail, "no completion queue to receive");
	if (pmv_set_nonblocking(rail->channel->fd) || pmv_set_nonblocking(rail->context->async_fd))
		return explain(d, rail, "descriptor");
	return 0;
}

static int register_buffers(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	rail->tx.mr = d->v->reg_mr(rail->pd, d->packet_memory, d->packet_memory_bytes,
				   IBV_ACCESS_LOCAL_WRITE);
	if (!rail->tx.mr)
		return explain(d, rail, "memory for packets to send");
	rail->rx.mr = d->v->reg_mr(rail->pd, rail->rx.memory, (size_t)rail->rx.n * d->stride,
				   IBV_ACCESS_LOCAL_WRITE);
	if (!rail->rx.mr)
		return explain(d, rail, "memory for packets to receive");
	return 0;
}

/* Inline sends are asked for in steps: what a device offers is told by no attribute. */
static int make_queue_pair(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = rail->send_cq,
		.recv_cq = rail->recv_cq,
		.cap = {.max_send_wr = rail->tx.depth,
			.max_recv_wr = rail->rx.n,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_UD,
	};

	for (uint32_t size = INLINE_WANTED; !rail->qp; size /= 2) {
		attr.cap.max_inline_data = size;
		rail->qp = d->v->create_qp(rail->pd, &attr);
		if (!rail->qp && (errno != EINVAL || !size))
			return explain(d, rail, "no queue pair");
		rail->tx.max_inline = size;
	}
	return 0;
}

static int modify(struct pmvd_dev *d, struct pmvd_rail *rail, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = state, .port_num = rail->port.number, .qkey = d->q_key};

	return d->v->modify_qp(rail->qp, &attr, IBV_QP_STATE | mask);
}

/* From RESET to where it sends; a positive error. */
static int start(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	int err = modify(d, rail, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	if (!err)
		err = pmvd_rx_start(d, rail);
	if (!err)
		err = modify(d, rail, IBV_QPS_RTR, 0);
	if (!err)
		err = modify(d, rail, IBV_QPS_RTS, IBV_QP_SQ_PSN);
	return err;
}

static int open_queue_pair(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	int err = make_queue_pair(d, rail);

	if (err)
		return err;
	rail->run++;
	errno = start(d, rail);
	return errno ? explain(d, rail, "the queue pair does not start") : 0;
}

int pmvd_rail_take(struct pmvd_dev *d, struct pmvd_rail *rail, const struct pmv_port *port, int gid,
		   struct ibv_device *device)
{
	if (port->mtu < PMVD_MTU_MIN) {
		snprintf(
			d->env.why, d->env.why_size,
			"verbs: port %s:%u has an MTU of %u bytes, datagrams need %u: raise it, or "
			"set verbs.path=connected",
			port->device, port->number, port->mtu, PMVD_MTU_MIN);
		return -ENODEV;
	}
	rail->port = *port;
	rail->gid = gid;
	rail->is_failed = rail->is_broken = rail->is_port_down = false;
	rail->is_send_requested = rail->is_recv_requested = false;
	rail->context = d->v->open_device(device);
	if (!rail->context)
		return pmv_port_explain_open(errno, device->name, device->dev_name, d->env.why,
					     d->env.why_size);
	return 0;
}

/* ---- descriptors that wake ---- */

static int control(const struct pmvd_dev *d, int op, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(d->epoll_fd, op, fd, &event) ? -errno : 0;
}

static int watch(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	int err = control(d, EPOLL_CTL_ADD, rail->channel->fd);

	return err ? err : control(d, EPOLL_CTL_ADD, rail->context->async_fd);
}

static void unwatch(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	/* it may not have got that far */
	if (rail->channel)
		control(d, EPOLL_CTL_DEL, rail->channel->fd);
	control(d, EPOLL_CTL_DEL, rail->context->async_fd);
}

/* ---- open and close ---- */

int pmvd_rail_open(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	int err = ask_limits(d, rail);

	if (!err && !rail->rx.memory)
		err = pmvd_rx_make(d, rail);
	if (!err)
		err = open_queues(d, rail);
	if (!err)
		err = register_buffers(d, rail);
	if (!err)
		err = open_queue_pair(d, rail);
	if (!err && watch(d, rail))
		err = explain(d, rail, "its descriptors cannot be watched");
	return err;
}

static void close_queue_pair(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	if (rail->qp)
		pmvd_note_end(d, "a queue pair is not destroyed", d->v->destroy_qp(rail->qp));
	rail->qp = NULL;
}

static void unregister_buffers(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	static const char *const what = "memory for packets is not deregistered";

	if (rail->tx.mr)
		pmvd_note_end(d, what, d->v->dereg_mr(rail->tx.mr));
	if (rail->rx.mr)
		pmvd_note_end(d, what, d->v->dereg_mr(rail->rx.mr));
	rail->tx.mr = rail->rx.mr = NULL;
}

static void close_queues(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	static const char *const what = "a completion queue is not destroyed";
	const struct verbs *v = d->v;

	if (rail->send_cq)
		pmvd_note_end(d, what, v->destroy_cq(rail->send_cq));
	if (rail->recv_cq)
		pmvd_note_end(d, what, v->destroy_cq(rail->recv_cq));
	if (rail->channel)
		pmvd_note_end(d, "a completion channel is not destroyed",
			      v->destroy_comp_channel(rail->channel));
	if (rail->pd)
		pmvd_note_end(d, "a protection domain is not freed", v->dealloc_pd(rail->pd));
	rail->send_cq = rail->recv_cq = NULL;
	rail->channel = NULL;
	rail->pd = NULL;
}

void pmvd_rail_close(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	if (!rail->context)
		return;
	close_queue_pair(d, rail);
	pmvd_tx_drop(d, rail);
	pmvd_rx_stop(rail);
	pmvd_peers_leave(d, rail);
	unwatch(d, rail);
	unregister_buffers(d, rail);
	close_queues(d, rail);
	pmvd_note_end(d, "a device is not closed", d->v->close_device(rail->context));
	rail->context = NULL;
}

void pmvd_rail_restart(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	int err = rail->is_broken ? EIO : modify(d, rail, IBV_QPS_RESET, 0);

	if (err)
		return;
	pmvd_tx_drop(d, rail);
	pmvd_rx_stop(rail);
	rail->run++;
	err = start(d, rail);
	if (err) {
		/* tried again at the next look */
		snprintf(rail->trouble, sizeof(rail->trouble), "it does not start again: %s",
			 strerror(err));
		return;
	}
	rail->is_failed = false;
	rail->restarts++;
}
