/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cord - the link to the scnoded of this host, and what is done when it breaks: scnoded may be
 * restarted, we may not. For CORD_REJOIN_S its socket is tried, then the job ends.
 */
#ifndef SCHEDULER_SCSTEPD_CORD_H
#define SCHEDULER_SCSTEPD_CORD_H

#include <stdint.h>

#include "scheduler/scstepd/step.h"

#define CORD_REJOIN_S 3.0
#define CORD_RETRY_S 0.2

struct cord;

/* @fd is ours from now on. NULL: no memory. */
struct cord *cord_open(struct step *step, int fd);
/* Messages on their way are sent first. */
void cord_close(struct cord *cord);

/* The ranks of @world that wait: course_adopted() follows. */
void cord_adopt(struct cord *cord, const struct world *world);
void cord_started(struct cord *cord);
void cord_failed(struct cord *cord, int code, const char *text);
/* The leader: how the job ended. */
void cord_ended(struct cord *cord, int code, const char *text);
/* All that is left of the ranks dies: step_killed() follows, unless there is no scnoded: -EPIPE. */
int cord_kill(struct cord *cord);

#endif
