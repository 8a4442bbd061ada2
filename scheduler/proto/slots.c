// SPDX-License-Identifier: BSD-3-Clause
/* slots - see slots.h. In JSON each job is [id, rows as 16 hexadecimal digits]. */
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/fields.h"
#include "scheduler/proto/slots.h"

#define JOBS_MAX 65536 /* of one host */

static uint64_t all_rows(uint32_t n)
{
	return n >= 64 ? UINT64_MAX : (1ull << n) - 1;
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static void check_ids(struct fields *fields, const struct slots *slots)
{
	uint64_t *ids = calloc(slots->n_jobs, sizeof(*ids));

	if (!ids) {
		fields_no_memory(fields);
		return;
	}
	for (size_t i = 0; i < slots->n_jobs; i++)
		ids[i] = slots->jobs[i].id;
	qsort(ids, slots->n_jobs, sizeof(*ids), compare_ids);
	for (size_t i = 1; i < slots->n_jobs; i++)
		if (ids[i] == ids[i - 1])
			fields_wrong(fields, "job %llu is in it twice", (unsigned long long)ids[i]);
	free(ids);
}

static void decode_job(struct fields *fields, struct slots *slots, struct slots_job *job,
		       const json_t *from)
{
	const json_t *id = json_array_get(from, 0);

	if (json_array_size(from) != 2 || !json_is_integer(id) || json_integer_value(id) < 1) {
		fields_wrong(fields, "jobs must be lists of a job's number and its rows");
		return;
	}
	job->id = (uint64_t)json_integer_value(id);
	job->rows = fields_bits_of(fields, json_array_get(from, 1), "rows of a job");
	if (job->rows & ~all_rows(slots->n_rows))
		fields_wrong(fields, "job %llu is in a row above %u", (unsigned long long)job->id,
			     slots->n_rows);
}

static void decode_jobs(struct fields *fields, struct slots *slots)
{
	const json_t *array = fields_array(fields, "jobs", 0, JOBS_MAX);
	size_t n = json_array_size(array);

	if (fields->err || !n)
		return;
	slots->jobs = calloc(n, sizeof(*slots->jobs));
	if (!slots->jobs) {
		fields_no_memory(fields);
		return;
	}
	slots->n_jobs = n;
	for (size_t i = 0; i < n && !fields->err; i++)
		decode_job(fields, slots, &slots->jobs[i], json_array_get(array, i));
	if (!fields->err)
		check_ids(fields, slots);
}

int slots_decode(struct slots **ret, const json_t *from, char *why, size_t why_size)
{
	struct fields fields = {.from = from, .what = "slots", .why = why, .why_size = why_size};
	struct slots *slots = calloc(1, sizeof(*slots));

	if (!slots) {
		fields_no_memory(&fields);
		return fields.err;
	}
	slots->number = (uint64_t)fields_number(&fields, "number", 0, INT64_MAX);
	slots->begins_ns = (uint64_t)fields_number(&fields, "begins_ns", 0, INT64_MAX);
	slots->quantum_ns = (uint64_t)fields_number(&fields, "quantum_ns", SLOTS_QUANTUM_MIN_NS,
						    SLOTS_QUANTUM_MAX_NS);
	slots->n_rows = (uint32_t)fields_number(&fields, "rows", 1, SLOTS_ROWS_MAX);
	decode_jobs(&fields, slots);
	if (fields.err) {
		slots_free(slots);
		return fields.err;
	}
	*ret = slots;
	return 0;
}

json_t *slots_encode(const struct slots *slots)
{
	json_t *jobs = json_array();

	for (size_t i = 0; jobs && i < slots->n_jobs; i++) {
		const struct slots_job *job = &slots->jobs[i];

		if (json_array_append_new(jobs, json_pack("[I, o]", (json_int_t)job->id,
							  fields_from_bits(job->rows)))) {
			json_decref(jobs);
			return NULL;
		}
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:o}", "number", (json_int_t)slots->number,
			 "begins_ns", (json_int_t)slots->begins_ns, "quantum_ns",
			 (json_int_t)slots->quantum_ns, "rows", (json_int_t)slots->n_rows, "jobs",
			 jobs);
}

void slots_free(struct slots *slots)
{
	if (slots)
		free(slots->jobs);
	free(slots);
}

uint32_t slots_row(const struct slots *slots, uint64_t now_ns, uint64_t *until_ns)
{
	uint64_t quantum, before;

	if (now_ns < slots->begins_ns) {
		before = (slots->begins_ns - now_ns - 1) / slots->quantum_ns;
		*until_ns = slots->begins_ns - before * slots->quantum_ns;
		return (uint32_t)(slots->n_rows - 1 - before % slots->n_rows);
	}
	quantum = (now_ns - slots->begins_ns) / slots->quantum_ns;
	*until_ns = slots->begins_ns + (quantum + 1) * slots->quantum_ns;
	return (uint32_t)(quantum % slots->n_rows);
}

bool slots_runs(const struct slots_job *job, uint32_t row)
{
	return job->rows >> row & 1;
}
