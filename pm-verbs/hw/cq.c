// SPDX-License-Identifier: BSD-3-Clause
/*
 * cq - the room in a rail's completion queue. It never overflows: what may complete is counted
 * before it is posted.
 */
#include "pm-verbs/hw/cq.h"

#include <errno.h>

int pmv_cq_reserve(struct pmv_link *link, struct pmv_rail *rail, uint32_t n)
{
	uint32_t want = rail->cq_used + n;
	int err = 0;

	/* fewer connections are an answer to this, as to a lack of memory */
	if (rail->max_cqe && want > rail->max_cqe)
		return -ENOMEM;
	if (want > (uint32_t)rail->cq->cqe)
		err = link->v->resize_cq(
			rail->cq, (int)(want > PMV_CQ_FIRST * 2 ? want * 2 : PMV_CQ_FIRST * 2));
	/* near the device's limit the half more is too much */
	if (err && want > PMV_CQ_FIRST * 2)
		err = link->v->resize_cq(rail->cq, (int)want);
	if (err)
		return -err;
	rail->cq_used = want;
	return 0;
}
