/* SPDX-License-Identifier: BSD-3-Clause */
#include "scheduler/scored/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/tap.h"

#define HOSTS 4
#define CORES 2

/* A cluster of four hosts that are up, without any daemon. */
struct world {
	struct scored d;
	struct node nodes[HOSTS];
	struct node *list[HOSTS];
	struct host hosts[HOSTS];
	char why[512];
};

static char names[HOSTS][3] = {"h0", "h1", "h2", "h3"};
static char address[] = "10.0.0.1:7711";

static struct world *new_world(void)
{
	struct world *w = calloc(1, sizeof(*w));

	TAILQ_INIT(&w->d.jobs);
	w->d.matrix = matrix_new(8);
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
	return w;
}

static void end_world(struct world *w)
{
	matrix_free(w->d.matrix);
	free(w);
}

static int place(struct world *w, uint64_t id, struct job *job, struct plan *plan)
{
	if (!job->cores)
		job->cores = 1;
	return plan_place(&w->d, id, job, plan, w->why, sizeof(w->why));
}

/* Hosts and ranks of what was found, as a text: "h0:2 h1:2". */
static const char *shape(struct world *w, const struct plan *plan)
{
	static char text[256];
	char *at = text;

	*at = 0;
	for (size_t i = 0; i < plan->n; i++)
		at += sprintf(at, "%s%s:%u", i ? " " : "", w->list[plan->place[i].host]->name,
			      plan->ranks[i]);
	return text;
}

TAP_TEST(plan__shapes)
{
	static const struct {
		struct job job;
		const char *want;
	} table[] = {
		{{.ranks = 8, .nodes = 4, .per_node = 2}, "h0:2 h1:2 h2:2 h3:2"},
		{{.ranks = 4, .nodes = 4}, "h0:1 h1:1 h2:1 h3:1"},
		{{.ranks = 5, .nodes = 3}, "h0:2 h1:2 h2:1"},
		{{.ranks = 3}, "h0:2 h1:1"},
		{{.ranks = 4, .per_node = 1}, "h0:1 h1:1 h2:1 h3:1"},
		{{.ranks = 1}, "h0:1"},
		{{.ranks = 2, .cores = 2}, "h0:1 h1:1"},
		{{.ranks = 16, .nodes = 2, .per_node = 8, .may_oversubscribe = true}, "h0:8 h1:8"},
		{{.ranks = 11, .may_oversubscribe = true}, "h0:3 h1:3 h2:3 h3:2"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct world *w = new_world();
		struct job job = table[i].job;
		struct plan plan;

		if (is_int(place(w, 1, &job, &plan), 0)) {
			is_str(shape(w, &plan), table[i].want);
			plan_fini(&plan);
		}
		end_world(w);
	}
}

TAP_TEST(plan__chosen_hosts)
{
	struct world *w = new_world();
	char group[] = "h[2-3]", nobody[] = "h9", broken[] = "h[2";
	struct job job = {.ranks = 2, .nodes = 2, .cores = 1, .group = group};
	struct plan plan;

	if (is_int(place(w, 1, &job, &plan), 0)) {
		is_str(shape(w, &plan), "h2:1 h3:1");
		plan_fini(&plan);
	}
	job.group = nobody;
	is_int(plan_check(&w->d, &job, w->why, sizeof(w->why)), -EINVAL);
	okf(strstr(w->why, "h9 is not in the cluster"), "%s", w->why);
	job.group = broken;
	is_int(plan_check(&w->d, &job, w->why, sizeof(w->why)), -EINVAL);
	okf(strstr(w->why, "h[2"), "%s", w->why);
	end_world(w);
}

TAP_TEST(plan__hosts_that_are_not_up_are_left_out)
{
	struct world *w = new_world();
	struct job job = {.ranks = 3, .nodes = 3};
	struct plan plan;

	w->nodes[0].state = NODE_DRAINED;
	if (is_int(place(w, 1, &job, &plan), 0)) {
		is_str(shape(w, &plan), "h1:1 h2:1 h3:1");
		plan_fini(&plan);
	}
	w->nodes[1].link = NULL;
	is_int(place(w, 2, &job, &plan), -EBUSY);
	okf(strstr(w->why, "down or drained"), "%s", w->why);
	is_int(plan_check(&w->d, &job, w->why, sizeof(w->why)), 0);
	end_world(w);
}

TAP_TEST(plan__what_can_never_be)
{
	struct world *w = new_world();
	struct job hosts = {.ranks = 9, .nodes = 9, .cores = 1}, ranks = {.ranks = 9, .cores = 1},
		   cores = {.ranks = 12, .nodes = 4, .cores = 1};

	is_int(plan_check(&w->d, &hosts, w->why, sizeof(w->why)), -EINVAL);
	okf(strstr(w->why, "9 hosts are wanted") && strstr(w->why, "4"), "%s", w->why);
	is_int(plan_check(&w->d, &ranks, w->why, sizeof(w->why)), -EINVAL);
	okf(strstr(w->why, "9 ranks want 5 hosts") && strstr(w->why, "has 4"), "%s", w->why);
	is_int(plan_check(&w->d, &cores, w->why, sizeof(w->why)), -EINVAL);
	okf(strstr(w->why, "3 cores") && strstr(w->why, "--oversubscribe"), "%s", w->why);
	cores.may_oversubscribe = true;
	is_int(plan_check(&w->d, &cores, w->why, sizeof(w->why)), 0);
	/* A host of cluster.json that never came may have any number of cores. */
	w->nodes[3].host = NULL;
	is_int(plan_check(&w->d, &hosts, w->why, sizeof(w->why)), 0);
	end_world(w);
}

TAP_TEST(plan__shared_jobs_take_turns_and_exclusive_ones_wait)
{
	struct world *w = new_world();
	struct job whole = {.ranks = 8, .nodes = 4, .per_node = 2},
		   alone = {.ranks = 8, .nodes = 4, .per_node = 2, .class = JOB_EXCLUSIVE};
	struct plan plan;

	for (uint64_t id = 1; id <= 2; id++)
		if (is_int(place(w, id, &whole, &plan), 0))
			plan_fini(&plan);
	is_int(matrix_rows(w->d.matrix), 2);
	is_int(place(w, 3, &alone, &plan), -EBUSY);
	okf(strstr(w->why, "waits for cores"), "%s", w->why);
	end_world(w);
}

TAP_TEST(plan__order)
{
	struct world *w = new_world();
	struct job *job = calloc(1, sizeof(*job));
	struct plan plan;
	struct order *order;

	job->ranks = 5;
	job->nodes = 3;
	must(!place(w, 1, job, &plan));
	order = plan_order(&w->d, 1, 1000, 100, job, &plan);
	must(order);
	is_int(order->n_hosts, 3);
	is_int(order->hosts[0].first, 0);
	is_int(order->hosts[1].first, 2);
	is_int(order->hosts[2].first, 4);
	is_int(order->hosts[2].ranks, 1);
	is_int(order->hosts[1].n_cores, 2);
	is_str(order->hosts[1].name, "h1");
	ok(order->key != 0);
	order_free(order);
	plan_fini(&plan);
	end_world(w);
}
