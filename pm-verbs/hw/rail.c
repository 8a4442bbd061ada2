// SPDX-License-Identifier: BSD-3-Clause
/*
 * rail - what is opened of one port: context, protection domain, one completion queue with its
 * channel, and the queue pair that greetings go by.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pm-verbs/hw/cq.h"
#include "pm-verbs/hw/greeter.h"
#include "pm-verbs/hw/opening.h"
#include "pm-verbs/hw/rail.h"
#include "pm-verbs/hw/shared.h"

int pmv_rail_explain(struct pmv_link *link, const struct pmv_rail *rail, const char *what)
{
	return pmv_explain(&rail->port, what, link->env.why, link->env.why_size);
}

static int open_queues(struct pmv_link *link, struct pmv_rail *rail)
{
	const struct verbs *v = link->v;

	rail->pd = v->alloc_pd(rail->context);
	if (!rail->pd)
		return pmv_rail_explain(link, rail, "no protection domain");
	rail->channel = v->create_comp_channel(rail->context);
	if (!rail->channel)
		return pmv_rail_explain(link, rail, "no completion channel");
	rail->cq = v->create_cq(rail->context, PMV_CQ_FIRST, NULL, rail->channel, 0);
	if (!rail->cq)
		return pmv_rail_explain(link, rail, "no completion queue");
	if (pmv_set_nonblocking(rail->channel->fd) || pmv_set_nonblocking(rail->context->async_fd))
		return pmv_rail_explain(link, rail, "descriptor");
	return 0;
}

static int open_greeter(struct pmv_link *link, struct pmv_rail *rail)
{
	const char *what;

	return pmv_greeter_open(link, rail, &what) ? pmv_rail_explain(link, rail, what) : 0;
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
		err = pmv_rail_explain(link, rail, "the device cannot be asked");
	}
	if (!err)
		err = open_queues(link, rail);
	if (!err)
		err = open_greeter(link, rail);
	if (err) {
		pmv_rail_close(link, rail);
		return err;
	}
	pmv_shared_init(link, rail, &attr);
	rail->max_inline = UINT32_MAX;
	rail->max_reads = attr.max_qp_rd_atom < 16 ? (uint32_t)attr.max_qp_rd_atom : 16;
	if (!rail->max_reads)
		rail->max_reads = 1;
	rail->max_qp = (uint32_t)attr.max_qp;
	rail->max_cqe = (uint32_t)attr.max_cqe;
	return 0;
}

void pmv_rail_close(struct pmv_link *link, struct pmv_rail *rail)
{
	const struct verbs *v = link->v;

	pmv_greeter_close(link, rail);
	pinned_close(rail->pinned);
	pmv_shared_fini(link, rail);
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
