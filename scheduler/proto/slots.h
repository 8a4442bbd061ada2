/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slots - the slot table: who runs when, in absolute time, so that no message is needed at a
 * switch. scored sends a new table to all hosts ahead of the time it begins; until then the old one
 * holds. Pure.
 *
 * From begins_ns on, time is cut into quanta of quantum_ns; quantum number q (counted from
 * begins_ns) belongs to row q mod n_rows. In a row a host may run several jobs side by side on
 * different cores. A job that stands in no row of its host is frozen; one in every row is never
 * frozen. Jobs that are not named in any table of a host are none of the switch's business.
 */
#ifndef SCHEDULER_PROTO_SLOTS_H
#define SCHEDULER_PROTO_SLOTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOTS_ROWS_MAX 64
#define SLOTS_QUANTUM_MIN_NS 10000000ull
#define SLOTS_QUANTUM_MAX_NS 10000000000ull
#define SLOTS_QUANTUM_NS 200000000ull /* default */

/* A job on this host: bit r of rows = it runs in row r. */
struct slots_job {
	uint64_t id;
	uint64_t rows;
};

struct slots {
	uint64_t number;    /* of the table: grows with each */
	uint64_t begins_ns; /* CLOCK_REALTIME */
	uint64_t quantum_ns;
	uint32_t n_rows; /* 1..SLOTS_ROWS_MAX */
	struct slots_job *jobs;
	size_t n_jobs;
};

int slots_decode(struct slots **ret, const json_t *from, char *why, size_t why_size);
json_t *slots_encode(const struct slots *slots);
void slots_free(struct slots *slots);

/* The row at @now_ns, and when it ends; before begins_ns the rows go round as they do after it. */
uint32_t slots_row(const struct slots *slots, uint64_t now_ns, uint64_t *until_ns);
bool slots_runs(const struct slots_job *job, uint32_t row);

#endif
