/* SPDX-License-Identifier: BSD-3-Clause */
/* ask: two hosts with two cores each; what is answered, and that nothing of it is kept. */
#include "scheduler/scored/ask.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/scored/plan.h"
#include "tests/harness/tap.h"

#define HOSTS 2
#define CORES 2

struct world {
	struct scored d;
	struct node nodes[HOSTS];
	struct node *list[HOSTS];
	struct host hosts[HOSTS];
	char why[512];
};

static char names[HOSTS][3] = {"h0", "h1"};
static char address[] = "10.0.0.1:7711", cpus[] = "4,6";

static void open_world(struct world *w)
{
	*w = (struct world){0};
	TAILQ_INIT(&w->d.jobs);
	w->d.matrix = matrix_new(2);
	w->d.nodes = w->list;
	w->d.n_nodes = HOSTS;
	for (uint32_t h = 0; h < HOSTS; h++) {
		w->hosts[h] = (struct host){.name = names[h], .address = address, .n_cores = CORES};
		w->nodes[h] =
			(struct node){.number = h,
				      .name = names[h],
				      .host = &w->hosts[h],
				      .link = (struct link *)w, /* only looked at for being there */
				      .state = NODE_UP};
		w->list[h] = &w->nodes[h];
		matrix_host(w->d.matrix, h, CORES);
	}
	w->hosts[1].cpus = cpus;
}

static void answers(struct world *w, const struct job *job, const char *want)
{
	json_t *answer = ask_place(&w->d, job, w->why, sizeof(w->why));
	char *text = answer ? json_dumps(answer, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	is_str(text, want);
	free(text);
	json_decref(answer);
}

TAP_TEST(ask_place__as_a_job_would_get_it)
{
	struct world w;
	struct job job = {.ranks = 3, .nodes = 2, .cores = 1};

	open_world(&w);
	answers(&w, &job,
		"{\"cores\":[[0,1],[0]],\"cpus\":[[],[4]],\"hosts\":[\"h0\",\"h1\"],\"op\":\"ok\","
		"\"ranks\":[2,1]}");
	job = (struct job){.ranks = 2, .nodes = 1, .cores = 1, .group = names[1]};
	answers(&w, &job,
		"{\"cores\":[[0,1]],\"cpus\":[[4,6]],\"hosts\":[\"h1\"],\"op\":\"ok\",\"ranks\":[2]"
		"}");
	matrix_free(w.d.matrix);
}

TAP_TEST(ask_place__nothing_is_kept)
{
	struct world w;
	struct job job = {.ranks = 4, .nodes = 2, .cores = 1, .class = JOB_EXCLUSIVE};
	struct plan plan;
	struct matrix *before;

	open_world(&w);
	before = w.d.matrix;
	for (int i = 0; i < 5; i++)
		answers(&w, &job,
			"{\"cores\":[[0,1],[0,1]],\"cpus\":[[],[4,6]],\"hosts\":[\"h0\",\"h1\"],"
			"\"op\":\"ok\",\"ranks\":[2,2]}");
	ok(w.d.matrix == before);
	is_int(matrix_rows_of(w.d.matrix, UINT64_MAX), 0);
	is_int(w.d.next_id, 0);
	if (is_int(plan_place(&w.d, 1, &job, &plan, w.why, sizeof(w.why)), 0))
		plan_fini(&plan);
	matrix_free(w.d.matrix);
}

TAP_TEST(ask_place__not_now_and_never)
{
	struct world w;
	struct job job = {.ranks = 2, .nodes = 2, .cores = 2, .class = JOB_EXCLUSIVE};
	struct queue_item overtaken = {.id = 7, .overtaken = QUEUE_OVERTAKEN_MAX};
	struct plan plan;

	open_world(&w);
	if (is_int(plan_place(&w.d, 1, &job, &plan, w.why, sizeof(w.why)), 0))
		plan_fini(&plan);
	answers(&w, &job, "{\"op\":\"ok\",\"waits\":\"waits for cores\"}");
	job.nodes = job.ranks = 3;
	answers(&w, &job, NULL);
	okf(strstr(w.why, "3 hosts are wanted"), "%s", w.why);
	matrix_remove(w.d.matrix, 1);
	w.d.queue = (struct queue){.items = &overtaken, .n = 1};
	job = (struct job){.ranks = 1, .cores = 1};
	answers(&w, &job,
		"{\"op\":\"ok\",\"waits\":\"waits behind job 7, which was overtaken too often\"}");
	matrix_free(w.d.matrix);
}
