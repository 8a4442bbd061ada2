// SPDX-License-Identifier: BSD-3-Clause
/* ask: two hosts with two cores each; what is answered, and that nothing of it is kept. */
#include "scheduler/scored/ask.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/scored/plan.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scored/fake_cluster.h"

#define HOSTS 2
#define CORES 2

static char h1[] = "h1", cpus[] = "4,6";

static void open_cluster(struct fake_cluster *f)
{
	fake_cluster_open(f, HOSTS, CORES, 2);
	f->hosts[1].cpus = cpus;
}

static void answers(struct fake_cluster *f, const struct job *job, const char *want)
{
	json_t *answer = ask_place(&f->d, job, f->why, sizeof(f->why));
	char *text = answer ? json_dumps(answer, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	is_str(text, want);
	free(text);
	json_decref(answer);
}

TAP_TEST(ask_place__as_a_job_would_get_it)
{
	struct fake_cluster f;
	struct job job = {.ranks = 3, .nodes = 2, .cores = 1};

	open_cluster(&f);
	answers(&f, &job,
		"{\"cores\":[[0,1],[0]],\"cpus\":[[],[4]],\"hosts\":[\"h0\",\"h1\"],\"op\":\"ok\","
		"\"ranks\":[2,1]}");
	job = (struct job){.ranks = 2, .nodes = 1, .cores = 1, .group = h1};
	answers(&f, &job,
		"{\"cores\":[[0,1]],\"cpus\":[[4,6]],\"hosts\":[\"h1\"],\"op\":\"ok\",\"ranks\":[2]"
		"}");
	fake_cluster_close(&f);
}

TAP_TEST(ask_place__nothing_is_kept)
{
	struct fake_cluster f;
	struct job job = {.ranks = 4, .nodes = 2, .cores = 1, .class = JOB_EXCLUSIVE};
	struct plan plan;
	struct matrix *before;

	open_cluster(&f);
	before = f.d.matrix;
	for (int i = 0; i < 5; i++)
		answers(&f, &job,
			"{\"cores\":[[0,1],[0,1]],\"cpus\":[[],[4,6]],\"hosts\":[\"h0\",\"h1\"],"
			"\"op\":\"ok\",\"ranks\":[2,2]}");
	ok(f.d.matrix == before);
	is_int(matrix_rows_of(f.d.matrix, UINT64_MAX), 0);
	is_int(f.d.next_id, 0);
	if (is_int(plan_place(&f.d, 1, &job, &plan, f.why, sizeof(f.why)), 0))
		plan_fini(&plan);
	fake_cluster_close(&f);
}

TAP_TEST(ask_place__not_now_and_never)
{
	struct fake_cluster f;
	struct job job = {.ranks = 2, .nodes = 2, .cores = 2, .class = JOB_EXCLUSIVE};
	struct queue_item overtaken = {.id = 7, .overtaken = QUEUE_OVERTAKEN_MAX};
	struct plan plan;

	open_cluster(&f);
	if (is_int(plan_place(&f.d, 1, &job, &plan, f.why, sizeof(f.why)), 0))
		plan_fini(&plan);
	answers(&f, &job, "{\"op\":\"ok\",\"waits\":\"waits for cores\"}");
	job.nodes = job.ranks = 3;
	answers(&f, &job, NULL);
	okf(strstr(f.why, "3 hosts are wanted"), "%s", f.why);
	matrix_remove(f.d.matrix, 1);
	f.d.queue = (struct queue){.items = &overtaken, .n = 1};
	job = (struct job){.ranks = 1, .cores = 1};
	answers(&f, &job,
		"{\"op\":\"ok\",\"waits\":\"waits behind job 7, which was overtaken too often\"}");
	fake_cluster_close(&f);
}
