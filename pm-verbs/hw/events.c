// SPDX-License-Identifier: BSD-3-Clause
/*
 * events - what the devices say besides completions: a port fails or comes back, a queue pair takes
 * no more receives.
 */
#include "pm-verbs/hw/events.h"

#include "pm-verbs/hw/shared.h"

static void take_event(struct pmv_link *link, struct pmv_rail *rail,
		       const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_DEVICE_FATAL:
		rail->is_down = true;
		link->from_hw->port_changed(link, rail);
		break;
	case IBV_EVENT_PORT_ACTIVE:
		rail->is_down = false;
		link->from_hw->port_changed(link, rail);
		break;
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		pmv_shared_last(link, rail, event->element.qp->qp_num);
		break;
	case IBV_EVENT_SRQ_ERR:
		pmv_shared_failed(link, rail);
		break;
	default:
		/* of a queue pair: its completions or its last receive say the same */
		break;
	}
}

void pmv_events(struct pmv_link *link)
{
	for (uint32_t r = 0; r < link->n_rails; r++) {
		struct pmv_rail *rail = &link->rails[r];
		struct ibv_async_event event;

		while (!link->v->get_async_event(rail->context, &event)) {
			take_event(link, rail, &event);
			link->v->ack_async_event(&event);
		}
	}
}
