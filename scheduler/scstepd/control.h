/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control - the link to the scnoded of this host, and what is done when it breaks: scnoded may be
 * restarted, we may not. For CONTROL_REJOIN_S its socket is tried, then the job ends.
 */
#ifndef SCHEDULER_SCSTEPD_CONTROL_H
#define SCHEDULER_SCSTEPD_CONTROL_H

#include <stdint.h>

#include "scheduler/scstepd/step.h"

#define CONTROL_REJOIN_S 3.0
#define CONTROL_RETRY_S 0.2

struct control;

/* @fd is ours from now on. NULL: no memory. */
struct control *control_open(struct step *step, int fd);
/* Messages on their way are sent first. */
void control_close(struct control *control);

/* The ranks of @world that wait: course_adopted() follows. */
void control_adopt(struct control *control, const struct world *world);
void control_started(struct control *control);
void control_failed(struct control *control, int code, const char *text);
/* The leader: how the job ended. */
void control_ended(struct control *control, int code, const char *text);
/* The leader: OP_MIGRATE has ended; @text: why the devices are those of before. */
void control_migrated(struct control *control, uint64_t serial, bool is_changed, const char *text,
		      double stood_s);
/*
 * Nobody who calls is let in, until @is_shut is false: callers are back before others have gone,
 * and would stand between them and control_part(). They try again.
 */
void control_shut(struct control *control, bool is_shut);
/* We have no link but this one, and close it: scnoded is told, and wakes us when we may return. */
void control_part(struct control *control);
/* It has. course_returned() follows, or the end of the job. */
void control_return(struct control *control);

/* All that is left of the ranks dies: step_killed() follows, unless there is no scnoded: -EPIPE. */
int control_kill(struct control *control);

#endif
