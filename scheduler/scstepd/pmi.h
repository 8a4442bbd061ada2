/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi - PMI-1 for the ranks of this host: joins the protocol of pmi1.h with the job's tree.
 */
#ifndef SCHEDULER_SCSTEPD_PMI_H
#define SCHEDULER_SCSTEPD_PMI_H

#include "scheduler/scstepd/step.h"

/*
 * A socket for a rank about to be forked: *@ret is its end, close-on-exec, -1 = PMI-1 is not
 * offered. 0 or -errno.
 */
int pmi_join(struct step *step, struct world *world, uint32_t rank, int *ret);
/* Ranks of a job that is debugged may leave PMI_Init. */
void pmi_release(void);
void pmi_close(void);

#endif
