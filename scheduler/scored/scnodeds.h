/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scnodeds - the hosts' daemons: each connection is one scnoded, which registers its host and then
 * tells how it and its jobs are. Tells jobs.c what became of jobs there.
 */
#ifndef SCHEDULER_SCORED_SCNODEDS_H
#define SCHEDULER_SCORED_SCNODEDS_H

#include "scheduler/scored/scored.h"

/* A connection was authenticated as "scnoded". */
void scnodeds_enter(struct scored *d, struct link *link);
/* A host that sent nothing for too long is lost. Called every beat; sends a beat to all hosts. */
void scnodeds_beat(struct scored *d, uint64_t now_ns);

#endif
