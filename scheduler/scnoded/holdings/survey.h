/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * survey - looks at all processes of a job's part on this host, while they run, and writes down
 * what they hold. It stops nobody and takes nothing from them; a process that ends meanwhile has
 * held nothing. It reads files of file systems that may hang, and may take seconds: for a thread or
 * a child of scnoded, not for its loop. Needs root's rights.
 */
#ifndef SCHEDULER_SCNODED_HOLDINGS_SURVEY_H
#define SCHEDULER_SCNODED_HOLDINGS_SURVEY_H

#include "scheduler/scnoded/holdings/holdings.h"

struct survey_rank {
	pid_t pid;
	uint32_t rank;
};

struct survey_order {
	pid_t root; /* what CRIU will be given: an init of a pid namespace, or scstepd */
	const struct survey_rank *ranks;
	size_t n_ranks;
	const pid_t *members; /* the job's processes by its control groups; may be NULL */
	size_t n_members;
	uint64_t limit_ms; /* it gives up then, and says so in "trouble" */
};

/* Fills a zeroed @ret; holdings_free() it in any case. 0; -ESRCH: there is no such root. */
int survey_job(const struct survey_order *order, struct holdings *ret);

#endif
