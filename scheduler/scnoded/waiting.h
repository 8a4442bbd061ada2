/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waiting - whether the ranks of a job do nothing but wait for messages: from the counters that each PM context
 * shows (pmcore/util/stats.h). A rank waits when it has looked for messages since the last time, and none has come or
 * gone.
 */
#ifndef SCHEDULER_SCNODED_WAITING_H
#define SCHEDULER_SCNODED_WAITING_H

#include "scheduler/scnoded/scnoded.h"

struct waiting;

/* NULL: no memory. */
struct waiting *waiting_open(void);
void waiting_close(struct waiting *waiting);
/* Reads all counters of this host; they are compared with those of the call before. */
void waiting_look(struct waiting *waiting);
/* Whether the job has as many contexts as ranks here, and all of them waited between the last two looks. */
bool waiting_is(const struct waiting *waiting, const struct step *step);

#endif
