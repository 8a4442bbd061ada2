/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps - the jobs of this host: starts a scstepd for each, does for it what needs privilege, and
 * leaves nothing behind when it ends, however that comes about.
 */
#ifndef SCHEDULER_SCNODED_STEPS_H
#define SCHEDULER_SCNODED_STEPS_H

#include "scheduler/scnoded/scnoded.h"

#define EXIT_START 125 /* for scrun, of a job that could not be started */

/*
 * Takes over what an earlier scnoded left: jobs that run, and those that only left things behind.
 */
void steps_open(struct scnoded *d);
/* Jobs that run go on running. */
void steps_close(struct scnoded *d);
struct step *steps_find(const struct scnoded *d, uint64_t id);
/* Ends all, gently first, and runs the loop until nothing is left of them; not for ever. */
void steps_end_all(struct scnoded *d);
/*
 * Starts the job here; takes the order. @round: from that checkpoint, 0 = anew; and then by other
 * @devices if they are not NULL. Errors are reported to scored.
 */
void steps_start(struct scnoded *d, struct order *order, uint64_t round, const char *devices);
/* Ends it: gently first. */
void steps_stop(struct step *step, const char *text);
/* Kills and sweeps; scored is told that it is gone. */
void steps_leave(struct step *step, const char *text);
/* Its scstepd has gone from its link: ends soon, or is killed. */
void steps_await_end(struct step *step);
/* Its scstepd is to come back soon, or is killed. */
void steps_await_return(struct step *step);
/* A connection to its scstepd: @link is the step's from now on. */
void steps_tie(struct step *step, struct link *link);
/* Hands a connection to its job, now or when its scstepd is there. */
void steps_pending(struct scnoded *d, int fd, uint64_t job);
/* Its scstepd is there: it gets the connections that have waited. */
void steps_invite(const struct step *step);
/* Closes connections that have waited too long for their job. */
void steps_show_out_late(struct scnoded *d);
/* Closes those that wait for this job; 0: for any. */
void steps_show_out(struct scnoded *d, uint64_t job);
/* CPU time since the last call and whether that is next to nothing. */
bool steps_is_idle(struct step *step, double now, uint64_t *cpu_ns);

/* Ends jobs of which the kernel has ended a process because of their memory. From time to time. */
void steps_look_at_memory(struct scnoded *d);

#endif
