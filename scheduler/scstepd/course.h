/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * course - the scstepd of a job on a host as one state machine:
 *
 *   BOOT --order--> JOIN --PMIx up, ranks forked and adopted--> READY --go--> RUN --stop-->
 *   STOPPING --> KILLING --> over
 *
 * It owns all parts and passes on between them what happens. Worlds that are spawned later pass
 * through fork, adopt, ready and go in the same way.
 */
#ifndef SCHEDULER_SCSTEPD_COURSE_H
#define SCHEDULER_SCSTEPD_COURSE_H

#include <ev.h>
#include <jansson.h>
#include <stdint.h>

#include "scheduler/scstepd/step.h"

#define COURSE_TERM_S 2.0 /* from SIGTERM to SIGKILL */
/* Longest wait for the scnoded's OP_KILLED, and for the children of the tree. */
#define COURSE_KILL_S 5.0
/* scrun takes what is on its way to it within so long, or links are not closed. */
#define COURSE_PART_S 10.0

/* Takes over descriptor @fd to scnoded. 0 or -errno; then run the loop; then course_close(). */
int course_open(struct step *step, struct ev_loop *loop, int fd);
void course_close(struct step *step);

/* Messages that come by the control link. */
void course_order(struct step *step, json_t *head);
void course_adopted(struct step *step, uint32_t world, const char *failure); /* NULL: well */
/* By control_return(); @why: the job can't be written to disk, or NULL. */
void course_returned(struct step *step, const char *why);
struct link;
void course_caller(struct step *step, struct link *link); /* authenticated */

/* After leader_part(): scrun has closed its link. */
void course_front_parted(struct step *step);
/* PMIx's server is up; @failure is a sentence, or NULL. */
void course_served(struct step *step, const char *failure);

/*
 * All ranks here end: SIGTERM, SIGKILL, then the process. Twice is fine. @text: why, for people; ""
 * = it is over anyway.
 */
void course_stop(struct step *step, int code, const char *text);

#endif
