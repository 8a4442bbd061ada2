// SPDX-License-Identifier: BSD-3-Clause
/*
 * The matrix after each of many random changes: nobody is on a core twice, everybody gets a turn.
 */
#include "scheduler/gang/matrix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/gang/queue.h"
#include "tests/harness/tap.h"

#define HOSTS 4
#define CORES 3
#define JOBS 24

static struct matrix *matrix_of(uint32_t rows, uint32_t hosts, uint32_t cores)
{
	struct matrix *m = matrix_new(rows);

	for (uint32_t h = 0; h < hosts; h++)
		matrix_host(m, h, cores);
	return m;
}

static const uint32_t every_host[] = {0, 1, 2, 3};

static int add(struct matrix *m, uint64_t id, uint32_t hosts, uint32_t cores, bool is_exclusive)
{
	uint32_t each[HOSTS] = {cores, cores, cores, cores};
	struct matrix_host place[HOSTS];
	struct matrix_request request = {.hosts = every_host,
					 .n_hosts = HOSTS,
					 .n_wanted = hosts,
					 .cores = each,
					 .is_exclusive = is_exclusive};
	int err = matrix_add(m, id, &request, place);

	if (!err)
		matrix_place_fini(place, hosts);
	return err;
}

TAP_TEST(matrix__one_job_runs_always)
{
	struct matrix *m = matrix_of(8, HOSTS, CORES);

	is_int(matrix_rows(m), 1);
	is_int(add(m, 1, 4, 3, false), 0);
	is_int(matrix_rows(m), 1);
	is_int(matrix_rows_of(m, 1), 1);
	is_int(add(m, 1, 1, 1, false), -EEXIST);
	is_int(matrix_remove(m, 1), 0);
	is_int(matrix_remove(m, 1), -ENOENT);
	is_int(matrix_rows(m), 1);
	matrix_free(m);
}

TAP_TEST(matrix__two_whole_jobs_take_turns)
{
	struct matrix *m = matrix_of(8, HOSTS, CORES);

	is_int(add(m, 1, 4, 3, false), 0);
	is_int(add(m, 2, 4, 3, false), 0);
	is_int(matrix_rows(m), 2);
	is_int(matrix_rows_of(m, 1), 1);
	is_int(matrix_rows_of(m, 2), 2);
	is_int(matrix_at(m, 1, 3, 2), 2);
	is_int(matrix_remove(m, 1), 0);
	is_int(matrix_rows(m), 1);
	is_int(matrix_rows_of(m, 2), 1);
	matrix_free(m);
}

TAP_TEST(matrix__a_small_job_visits_other_rows)
{
	struct matrix *m = matrix_of(8, HOSTS, CORES);

	is_int(add(m, 1, 4, 3, false), 0);
	is_int(add(m, 2, 2, 3, false), 0);
	is_int(add(m, 3, 2, 3, false), 0);
	is_int(matrix_rows(m), 2);
	is_int(add(m, 4, 4, 3, false), 0);
	is_int(matrix_rows(m), 3);
	is_int(matrix_remove(m, 1), 0);
	is_int(matrix_remove(m, 4), 0);
	is_int(matrix_rows(m), 1);
	is_int(matrix_rows_of(m, 2), 1);
	is_int(matrix_rows_of(m, 3), 1);
	matrix_free(m);
}

TAP_TEST(matrix__exclusive_runs_in_every_row)
{
	struct matrix *m = matrix_of(8, HOSTS, CORES);

	is_int(add(m, 1, 2, 3, true), 0);
	is_int(matrix_rows(m), 1);
	is_int(add(m, 2, 2, 3, false), 0);
	is_int(add(m, 3, 2, 3, false), 0);
	is_int(matrix_rows(m), 2);
	is_int(matrix_rows_of(m, 1), 3);
	is_int(add(m, 4, 3, 1, false), -EBUSY);
	is_int(add(m, 5, 3, 1, true), -EBUSY);
	is_int(add(m, 6, 4, 4, false), -ENOSPC);
	matrix_free(m);
}

TAP_TEST(matrix__who_rests_gives_its_row_away)
{
	struct matrix *m = matrix_of(8, HOSTS, CORES);

	add(m, 1, 4, 3, false);
	add(m, 2, 4, 3, false);
	is_int(matrix_rest(m, 1, true), 0);
	is_int(matrix_rows(m), 1);
	is_int(matrix_rows_of(m, 1), 0);
	is_int(matrix_rows_of(m, 2), 1);
	is_int(matrix_rest(m, 1, false), 0);
	is_int(matrix_rows(m), 2);
	is_int(matrix_rest(m, 9, true), -ENOENT);
	matrix_free(m);
}

TAP_TEST(matrix__rows_are_limited)
{
	struct matrix *m = matrix_of(2, HOSTS, CORES);

	is_int(add(m, 1, 4, 3, false), 0);
	is_int(add(m, 2, 4, 3, false), 0);
	is_int(add(m, 3, 4, 3, false), -EBUSY);
	matrix_free(m);
}

TAP_TEST(matrix__restored_on_the_same_cores)
{
	uint32_t cores[] = {1, 2}, beyond[] = {3};
	struct matrix_host place[] = {{.host = 2, .cores = cores, .n_cores = 2}};
	struct matrix_host wrong[] = {{.host = 2, .cores = beyond, .n_cores = 1}};
	struct matrix *m = matrix_of(8, HOSTS, CORES);

	is_int(matrix_restore(m, 1, place, 1, true), 0);
	is_int(matrix_at(m, 0, 2, 0), 0);
	is_int(matrix_at(m, 0, 2, 1), 1);
	is_int(matrix_restore(m, 2, place, 1, false), -EBUSY);
	is_int(matrix_restore(m, 3, wrong, 1, false), -ENOSPC);
	is_int(matrix_host(m, 1, 0), 0);
	is_int(matrix_at(m, 0, 1, 0), 0);
	matrix_free(m);
}

/* ---- properties ---- */

struct known {
	bool is_in, is_resting, is_exclusive;
	uint32_t cores; /* that its request adds up to */
};

static void check(struct matrix *m, const struct known *known, int step)
{
	uint32_t rows = matrix_rows(m);

	okf(rows >= 1 && rows <= 8, "step %d: %u rows", step, rows);
	for (uint64_t id = 1; id <= JOBS; id++) {
		const struct known *job = &known[id - 1];
		uint64_t bits = matrix_rows_of(m, id);

		okf((bits != 0) == (job->is_in && !job->is_resting),
		    "step %d: job %d has turns %#llx", step, (int)id, (unsigned long long)bits);
		okf(!(bits >> rows), "step %d: job %d beyond the last row", step, (int)id);
		if (job->is_in && !job->is_resting && job->is_exclusive)
			okf(bits == (1ull << rows) - 1, "step %d: exclusive job %d lacks a row",
			    step, (int)id);
		/*
		 * A core has one owner by construction of matrix_at(); nobody may have too few of
		 * them.
		 */
		for (uint32_t row = 0; row < rows; row++) {
			uint32_t n = 0;

			for (uint32_t h = 0; h < HOSTS; h++)
				for (uint32_t c = 0; c < CORES; c++)
					n += matrix_at(m, row, h, c) == id;
			okf(n == ((bits >> row & 1) ? job->cores : 0),
			    "step %d: job %d has %u cores in row %u", step, (int)id, n, row);
		}
	}
}

TAP_TEST(matrix__holds_after_any_change)
{
	struct matrix *m = matrix_of(8, HOSTS, CORES);
	struct known known[JOBS] = {0};
	unsigned int seed = 7;

	for (int step = 0; step < 4000; step++) {
		uint64_t id = 1 + (uint64_t)rand_r(&seed) % JOBS;
		struct known *job = &known[id - 1];

		if (!job->is_in) {
			uint32_t hosts = 1 + (uint32_t)rand_r(&seed) % HOSTS,
				 cores = 1 + (uint32_t)rand_r(&seed) % CORES;
			bool is_exclusive = rand_r(&seed) % 6 == 0;
			int err = add(m, id, hosts, cores, is_exclusive);

			okf(err == 0 || err == -EBUSY, "step %d: %d", step, err);
			if (!err)
				*job = (struct known){.is_in = true,
						      .is_exclusive = is_exclusive,
						      .cores = hosts * cores};
		} else if (rand_r(&seed) % 3) {
			is_int(matrix_remove(m, id), 0);
			*job = (struct known){0};
		} else {
			job->is_resting = !job->is_resting;
			is_int(matrix_rest(m, id, job->is_resting), 0);
		}
		check(m, known, step);
	}
	matrix_free(m);
}

/*
 * Jobs of any size come for ever, each runs 20 steps: everybody starts within a bound that only the
 * queue's rule can give.
 */
TAP_TEST(matrix__nobody_starves_with_the_queue)
{
	enum { STEPS = 6000, BOUND = 20 * (QUEUE_OVERTAKEN_MAX + 8 * JOBS) };
	struct matrix *m = matrix_of(2, HOSTS, CORES);
	struct queue queue = {0};
	static struct {
		uint32_t hosts, cores;
		int born, ends;
	} jobs[STEPS + 1];
	unsigned int seed = 3;
	uint64_t next = 1;

	for (int now = 0; now < STEPS; now++) {
		if (queue.n < JOBS && next < STEPS) {
			bool is_big = rand_r(&seed) % 8 == 0;

			jobs[next].hosts = is_big ? HOSTS : 1;
			jobs[next].cores = is_big ? CORES : 1;
			jobs[next].born = now;
			is_int(queue_push(&queue, next, is_big ? -5 : rand_r(&seed) % 3), 0);
			next++;
		}
		for (uint64_t id = 1; id < next; id++)
			if (jobs[id].ends && jobs[id].ends == now)
				is_int(matrix_remove(m, id), 0);
		for (size_t i = 0; i < queue_open(&queue);) {
			uint64_t id = queue.items[i].id;

			if (add(m, id, jobs[id].hosts, jobs[id].cores, id % 5 == 0)) {
				i++;
				continue;
			}
			jobs[id].ends = now + 20;
			okf(now - jobs[id].born < BOUND, "job %d waited %d steps", (int)id,
			    now - jobs[id].born);
			is_int(queue_start(&queue, id), 0);
			i = 0;
		}
		for (size_t i = 0; i < queue.n; i++)
			okf(now - jobs[queue.items[i].id].born < BOUND, "job %d waits for ever",
			    (int)queue.items[i].id);
	}
	queue_fini(&queue);
	matrix_free(m);
}

TAP_TEST(matrix_copy__goes_its_own_way)
{
	struct matrix *m = matrix_new(4), *copy;

	for (uint32_t h = 0; h < HOSTS; h++)
		is_int(matrix_host(m, h, CORES), 0);
	is_int(add(m, 1, HOSTS, CORES, false), 0);
	is_int(add(m, 2, 1, CORES, false), 0);
	copy = matrix_copy(m);
	if (ok(copy != NULL)) {
		is_int(matrix_rows(copy), matrix_rows(m));
		for (uint64_t id = 1; id <= 2; id++)
			is_int(matrix_rows_of(copy, id), matrix_rows_of(m, id));
		is_int(add(copy, 3, 1, 1, false), 0);
		is_int(matrix_remove(copy, 1), 0);
		ok(matrix_rows_of(m, 1) && matrix_rows_of(m, 2));
		is_int(matrix_rows_of(m, 3), 0);
		is_int(matrix_at(m, 0, 0, 0), 1);
	}
	matrix_free(copy);
	matrix_free(m);
}
