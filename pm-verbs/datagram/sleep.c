// SPDX-License-Identifier: BSD-3-Clause
/*
 * sleep - one epoll descriptor for all: completion channels and asynchronous events. An event is
 * asked for first and the queue looked at then: what comes between the two is seen or wakes.
 */
#include "pm-verbs/datagram/sleep.h"

#include "pm-verbs/datagram/rail.h"
#include "pm-verbs/datagram/rx.h"
#include "pm-verbs/datagram/trouble.h"
#include "pm-verbs/datagram/tx.h"
#include "pmcore/util/clock.h"

#define EVENTS_NS 5000000ull /* between looks at asynchronous events, which cost a system call */

int pmvd_sleep_fds(struct pm_dev *dev, int *fds, int room)
{
	if (room < 1)
		return 0;
	fds[0] = pmvd_of(dev)->epoll_fd;
	return 1;
}

/* ---- completion channels ---- */

/* Events may also have come when nobody slept. */
static void take_requested(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	struct ibv_cq *cq;
	void *arg;

	while ((rail->is_send_requested || rail->is_recv_requested) &&
	       !d->v->get_cq_event(rail->channel, &cq, &arg)) {
		d->v->ack_cq_events(cq, 1);
		if (cq == rail->send_cq)
			rail->is_send_requested = false;
		else
			rail->is_recv_requested = false;
	}
}

/* 0, or 1: none can be asked for, and sleeping would be for ever. */
static int request(struct ibv_cq *cq, bool *ret_is_requested)
{
	*ret_is_requested = true;
	return ibv_req_notify_cq(cq, 0) != 0;
}

/* 1: there is work. */
static int arm_rail(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	bool has_room = pmvd_rx_has_room(d, rail);

	if (rail->qp && rail->is_failed)
		pmvd_rail_restart(d, rail);
	if (!pmvd_rail_is_running(rail))
		return 0;
	take_requested(d, rail);
	/* without room an arrival is no reason to wake: the user has to release something first */
	if (has_room && request(rail->recv_cq, &rail->is_recv_requested))
		return 1;
	if (rail->tx.is_full && request(rail->send_cq, &rail->is_send_requested))
		return 1;
	pmvd_rx_look(d, rail);
	if (has_room && pmvd_rx_is_pending(rail))
		return 1;
	if (!rail->tx.is_full)
		return 0;
	pmvd_tx_reap(d, rail);
	return !rail->tx.is_full;
}

int pmvd_sleep_arm(struct pm_dev *dev)
{
	struct pmvd_dev *d = pmvd_of(dev);
	int is_work = 0;

	pmvd_tx_kick(dev);
	for (uint32_t r = 0; !is_work && r < d->dev.n_rails; r++)
		is_work = arm_rail(d, &d->rails[r]);
	if (is_work)
		pmvd_sleep_disarm(dev);
	return is_work;
}

/* ---- events ---- */

static void take_event(struct pmvd_dev *d, struct pmvd_rail *rail,
		       const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_PORT_ERR:
		rail->is_port_down |= event->element.port_num == rail->port.number;
		break;
	case IBV_EVENT_PORT_ACTIVE:
		rail->is_port_down &= event->element.port_num != rail->port.number;
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		pmvd_rail_fail(d, rail, "its queue pair has failed");
		break;
	case IBV_EVENT_CQ_ERR:
	case IBV_EVENT_DEVICE_FATAL:
		rail->is_broken = true;
		pmvd_rail_fail(d, rail, "the device has failed");
		break;
	default:
		break;
	}
}

static void take_events(struct pmvd_dev *d, struct pmvd_rail *rail)
{
	struct ibv_async_event event;

	while (rail->context && !d->v->get_async_event(rail->context, &event)) {
		take_event(d, rail, &event);
		d->v->ack_async_event(&event);
	}
}

void pmvd_sleep_disarm(struct pm_dev *dev)
{
	struct pmvd_dev *d = pmvd_of(dev);

	for (uint32_t r = 0; r < d->dev.n_rails; r++) {
		take_requested(d, &d->rails[r]);
		take_events(d, &d->rails[r]);
	}
}

enum pm_rail_state pmvd_rail_state(struct pm_dev *dev, uint32_t r)
{
	struct pmvd_dev *d = pmvd_of(dev);
	struct pmvd_rail *rail = &d->rails[r];
	uint64_t now = clock_monotonic_ns();

	if (now >= rail->events_ns || rail->is_failed) {
		rail->events_ns = now + EVENTS_NS;
		take_events(d, rail);
	}
	if (rail->qp && rail->is_failed)
		pmvd_rail_restart(d, rail);
	return pmvd_rail_is_running(rail) && !rail->is_port_down ? PM_RAIL_UP : PM_RAIL_DOWN;
}
