// SPDX-License-Identifier: BSD-3-Clause
/*
 * flow - counters per host. Small pieces of room are saved up.
 */
#include "scheduler/scstepd/flow.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "scheduler/proto/link.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scstepd/output.h"

struct flow {
	struct step *step;
	struct front *front;
	int64_t *owed;   /* [host] room to be given for output */
	uint64_t *taken; /* [host] bytes of input */
	uint64_t passed; /* bytes of input that scrun got room for */
	int64_t in_room; /* bytes scrun may send */
};

static void give_room(struct flow *flow, size_t host, bool is_all)
{
	int64_t bytes = flow->owed[host];

	if (!bytes || (!is_all && bytes < output_window(flow->step->order->n_hosts) / 4))
		return;
	flow->owed[host] = 0;
	step_send(flow->step, (int64_t)host,
		  json_pack("{s:s, s:I}", "op", OP_OUT_ROOM, "bytes", (json_int_t)bytes), NULL, 0);
}

void flow_out(struct flow *flow, size_t from, json_t *head, const char *body, size_t size)
{
	front_send(flow->front, json_incref(head), body, size);
	flow->owed[from] += (int64_t)size;
	if (!front_is_full(flow->front))
		give_room(flow, from, false);
}

void flow_drained(struct flow *flow)
{
	for (size_t i = 0; i < flow->step->order->n_hosts; i++)
		give_room(flow, i, true);
}

static void give_input_room(struct flow *flow, uint64_t bytes)
{
	flow->in_room += (int64_t)bytes;
	flow->passed += bytes;
	if (bytes)
		front_send(flow->front,
			   json_pack("{s:s, s:I}", "op", OP_IN_ROOM, "bytes", (json_int_t)bytes),
			   NULL, 0);
}

/* With several hosts the slowest counts. */
void flow_in_room(struct flow *flow, size_t from, const json_t *head)
{
	const struct order *order = flow->step->order;
	json_int_t bytes = json_integer_value(json_object_get(head, "bytes"));
	uint64_t least;

	if (bytes <= 0 || bytes > (json_int_t)LINK_FULL)
		return;
	flow->taken[from] += (uint64_t)bytes;
	least = flow->taken[from];
	for (size_t i = 0; order->job->stdin_rank == JOB_STDIN_ALL && i < order->n_hosts; i++)
		if (flow->taken[i] < least)
			least = flow->taken[i];
	if (least > flow->passed)
		give_input_room(flow, least - flow->passed);
}

int flow_in(struct flow *flow, const char *body, size_t size)
{
	struct step *step = flow->step;
	int64_t rank = step->order->job->stdin_rank, to = TREE_ALL;

	flow->in_room -= (int64_t)size;
	if (flow->in_room < 0)
		return -EPROTO;
	if (rank == JOB_STDIN_NONE) {
		give_input_room(flow, size);
		return 0;
	}
	if (rank >= 0)
		to = (int64_t)world_host_of(worlds_get(&step->worlds, 0), (uint32_t)rank);
	step_send(step, to, json_pack("{s:s}", "op", OP_IN), body, size);
	return 0;
}

struct flow *flow_open(struct step *step, struct front *front)
{
	struct flow *flow = calloc(1, sizeof(*flow));
	size_t n = step->order->n_hosts;

	if (!flow)
		return NULL;
	*flow = (struct flow){.step = step,
			      .front = front,
			      .owed = calloc(n, sizeof(*flow->owed)),
			      .taken = calloc(n, sizeof(*flow->taken)),
			      .in_room = LINK_FULL};
	if (flow->owed && flow->taken)
		return flow;
	flow_close(flow);
	return NULL;
}

void flow_close(struct flow *flow)
{
	if (!flow)
		return;
	free(flow->owed);
	free(flow->taken);
	free(flow);
}
