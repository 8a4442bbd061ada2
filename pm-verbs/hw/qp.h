/* SPDX-License-Identifier: BSD-3-Clause */
/* qp - the life of a queue pair. */
#ifndef PM_VERBS_HW_QP_H
#define PM_VERBS_HW_QP_H

#include "pm-verbs/hw/link.h"

/* One side's end of a queue pair, as it tells the other side. */
struct pmv_qp_start {
	uint32_t number, psn;
};

/*
 * A queue pair with rail, peer, lane, completions and kind of receives of @want; it counts as a
 * place. 0 or -errno.
 */
int pmv_qp_make(struct pmv_link *link, const struct pmv_qp *want, struct pmv_qp **ret_qp);
int pmv_qp_to_init(struct pmv_link *link, struct pmv_qp *qp);
/* Connects it to the queue pair @theirs at @end: it may send from then on. */
int pmv_qp_connect(struct pmv_link *link, struct pmv_qp *qp, const struct pmv_end *end,
		   uint32_t psn, const struct pmv_qp_start *theirs);
/* Posts @slot to receive into; false: the queue pair has failed. */
bool pmv_qp_post_receive(struct pmv_link *link, struct pmv_qp *qp, struct pmv_slot *slot);
/* Puts the queue pair into error, so that all that was posted to it comes back. */
int pmv_qp_fail(struct pmv_link *link, struct pmv_qp *qp);
/* Something posted to @qp has come back. */
void pmv_qp_returned(struct pmv_link *link, struct pmv_qp *qp);
void pmv_qp_destroy(struct pmv_link *link, struct pmv_qp *qp);
uint32_t pmv_qp_depth(const struct pmv_link *link);
/* Completions of one that may come at once. */
uint32_t pmv_qp_completions(const struct pmv_link *link, bool is_shared);

#endif
