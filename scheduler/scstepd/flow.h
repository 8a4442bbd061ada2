/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow - standard input and output between scrun and the hosts, at host 0: passes both on, and
 * gives each side room for as much as the other has taken. Knows no job's state.
 */
#ifndef SCHEDULER_SCSTEPD_FLOW_H
#define SCHEDULER_SCSTEPD_FLOW_H

#include <jansson.h>
#include <stddef.h>

#include "scheduler/scstepd/front.h"
#include "scheduler/scstepd/step.h"

struct flow;

/* NULL: no memory. @step and @front must outlive it. */
struct flow *flow_open(struct step *step, struct front *front);
void flow_close(struct flow *flow);

/* OP_OUT of host @from. */
void flow_out(struct flow *flow, size_t from, json_t *head, const char *body, size_t size);
/* scrun takes output again, or is gone. */
void flow_drained(struct flow *flow);
/* OP_IN of scrun. 0, or -EPROTO: more than it had room for. */
int flow_in(struct flow *flow, const char *body, size_t size);
/* OP_IN_ROOM of host @from. */
void flow_in_room(struct flow *flow, size_t from, const json_t *head);

#endif
