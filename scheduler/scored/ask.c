// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/proto/ops.h"
#include "scheduler/scored/plan.h"

/* The machine's numbers of some of the cores of a host, [] if it tells none. */
static json_t *cpus_of(const struct host *host, const struct matrix_host *place)
{
	json_t *cpus = json_array();
	const char *at = host->cpus ? host->cpus : "";
	uint32_t core = 0, i = 0;
	char *end;

	/* Both are ascending. */
	for (; *at && i < place->n_cores; core++) {
		unsigned long cpu = strtoul(at, &end, 10);

		if (end == at)
			break;
		if (core == place->cores[i]) {
			json_array_append_new(cpus, json_integer((json_int_t)cpu));
			i++;
		}
		at = *end == ',' ? end + 1 : end;
	}
	if (i < place->n_cores)
		json_array_clear(cpus);
	return cpus;
}

static json_t *tell(const struct scored *d, const struct plan *plan)
{
	json_t *hosts = json_array(), *ranks = json_array(), *cores = json_array(),
	       *cpus = json_array();

	for (size_t k = 0; k < plan->n; k++) {
		const struct matrix_host *place = &plan->place[k];
		const struct node *node = d->nodes[place->host];
		json_t *list = json_array();

		for (uint32_t c = 0; c < place->n_cores; c++)
			json_array_append_new(list, json_integer(place->cores[c]));
		json_array_append_new(hosts, json_string(node->name));
		json_array_append_new(ranks, json_integer(plan->ranks[k]));
		json_array_append_new(cores, list);
		json_array_append_new(cpus, cpus_of(node->host, place));
	}
	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "op", OP_OK, "hosts", hosts, "ranks", ranks,
			 "cores", cores, "cpus", cpus);
}

static json_t *tell_waiting(const char *why)
{
	return json_pack("{s:s, s:s}", "op", OP_OK, "waits", why);
}

/* One that was overtaken too often lets nobody pass. */
static bool is_blocked(const struct queue *queue, char *why, size_t why_size)
{
	if (!queue->n || queue->items[0].overtaken < QUEUE_OVERTAKEN_MAX)
		return false;
	snprintf(why, why_size, "waits behind job %llu, which was overtaken too often",
		 (unsigned long long)queue->items[0].id);
	return true;
}

json_t *ask_place(struct scored *d, const struct job *job, char *why, size_t why_size)
{
	struct matrix *kept = d->matrix;
	struct plan plan = {0};
	json_t *answer = NULL;
	int err;

	if (plan_check(d, job, why, why_size))
		return NULL;
	if (is_blocked(&d->queue, why, why_size))
		return tell_waiting(why);
	d->matrix = matrix_copy(kept);
	if (d->matrix) {
		/* No job has that number. */
		err = plan_place(d, UINT64_MAX, job, &plan, why, why_size);
		answer = !err ? tell(d, &plan) : err == -EBUSY ? tell_waiting(why) : NULL;
		if (err == -ENOMEM)
			snprintf(why, why_size, "scored has no memory");
		plan_fini(&plan);
		matrix_free(d->matrix);
	} else {
		snprintf(why, why_size, "scored has no memory");
	}
	d->matrix = kept;
	return answer;
}
