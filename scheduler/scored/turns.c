// SPDX-License-Identifier: BSD-3-Clause
/*
 * Quanta lie on a grid of absolute time, and the rows go on turning over a change of the table. A
 * table that begins at quantum q starts with row q mod rows, or frequent changes would let the
 * first row run for ever.
 */
#include "scheduler/scored/turns.h"

#include <stdlib.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scored/nodes.h"

static uint64_t rotate(uint64_t bits, uint32_t first, uint32_t n)
{
	uint64_t mask = n == 64 ? UINT64_MAX : (1ull << n) - 1;

	return first ? (bits >> first | bits << (n - first)) & mask : bits & mask;
}

static bool is_on(const struct sjob *job, const struct node *node)
{
	for (size_t h = 0; h < job->n_hosts; h++)
		if (job->hosts[h].node == node)
			return !job->hosts[h].is_gone;
	return false;
}

/* An idle job keeps running: that costs nothing, and only a running job can be seen to wake. */
static uint64_t rows_of(const struct scored *d, const struct sjob *job, uint32_t first, uint32_t n)
{
	if (job->is_suspended || job->is_parked)
		return 0;
	if (job->is_resting)
		return rotate(UINT64_MAX, 0, n);
	return rotate(matrix_rows_of(d->matrix, job->id), first, n);
}

static void fill(const struct scored *d, const struct node *node, uint32_t first,
		 struct slots *slots)
{
	const struct sjob *job;

	TAILQ_FOREACH(job, &d->placed, placed)
		if (job->place && is_on(job, node))
			slots->jobs[slots->n_jobs++] = (struct slots_job){
				.id = job->id, .rows = rows_of(d, job, first, slots->n_rows)};
}

static size_t count_jobs(const struct scored *d)
{
	const struct sjob *job;
	size_t n = 0;

	TAILQ_FOREACH(job, &d->placed, placed)
		n++;
	return n;
}

static void send(struct scored *d, struct node *node, uint64_t begins_ns, uint32_t n_rows)
{
	struct slots slots = {.number = d->table,
			      .begins_ns = begins_ns,
			      .quantum_ns = d->options.quantum_ns,
			      .n_rows = n_rows,
			      .jobs = calloc(count_jobs(d) + 1, sizeof(struct slots_job))};
	json_t *table;

	if (!slots.jobs)
		return;
	fill(d, node, (uint32_t)(begins_ns / d->options.quantum_ns % n_rows), &slots);
	/* Where nobody runs, and nobody did, it is nobody's business. */
	if (!slots.n_jobs && !node->table_jobs) {
		free(slots.jobs);
		return;
	}
	table = slots_encode(&slots);
	free(slots.jobs);
	if (table)
		nodes_send(node, json_pack("{s:s, s:o}", "op", OP_SLOTS, "table", table));
	node->table_jobs = slots.n_jobs;
}

/* The next quantum that the news can reach in time; when nobody takes turns any more, at once. */
static uint64_t begin(const struct scored *d, uint32_t n_rows)
{
	uint64_t soon = clock_realtime_ns() + TURNS_LEAD_NS, quantum = d->options.quantum_ns;

	return n_rows == 1 ? soon / quantum * quantum : (soon / quantum + 1) * quantum;
}

void turns_publish(struct scored *d)
{
	uint32_t n_rows = matrix_rows(d->matrix);
	uint64_t begins = begin(d, n_rows);

	d->table++;
	for (size_t i = 0; i < d->n_nodes; i++)
		if (d->nodes[i]->link)
			send(d, d->nodes[i], begins, n_rows);
}

void turns_send(struct scored *d, struct node *node)
{
	uint32_t n_rows = matrix_rows(d->matrix);

	send(d, node, begin(d, n_rows), n_rows);
}
