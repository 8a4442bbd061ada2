/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leader - host 0's part: lets worlds begin when all hosts are ready, decides when and how the job
 * ends, and is what scrun talks to.
 */
#ifndef SCHEDULER_SCSTEPD_LEADER_H
#define SCHEDULER_SCSTEPD_LEADER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "scheduler/scstepd/step.h"

#define LEADER_READY_S 30.0 /* all ranks are forked by then */

struct link;
struct leader;

struct leader *leader_open(struct step *step);
void leader_close(struct leader *leader);
/* scrun, authenticated. */
void leader_enter(struct leader *leader, struct link *link);
/* A message to host 0. false: not one of the leader's. */
bool leader_told(struct leader *leader, const char *op, size_t from, const json_t *head,
		 const char *body, size_t size);
/* To all ranks. */
void leader_signal(struct leader *leader, int signo);
/* The job ends with this code; the first cause wins. All hosts are told. */
void leader_end(struct leader *leader, int code, const char *text);
/*
 * scrun closes its link and comes again. True: there is none. Else course_front_parted() follows,
 * or the end of the job.
 */
bool leader_part(struct leader *leader);
/* scrun has not come yet, and there is something for it. */
bool leader_is_awaited(const struct leader *leader);
/* Ranks have met at a fence. */
void leader_met(struct leader *leader);
/* Nothing is left of the job on this host: scrun and scnoded are told. */
void leader_over(struct leader *leader);

#endif
